# A project that takes tulle in by FetchContent finds nothing but what the library itself needs, and its program is linked
# and right. To build the library once more would take minutes: LIBRARY is put where the project would have built its own,
# and `make consumer/fast` builds the program alone.
# Needs EXAMPLES, WORK, LIBRARY, SHARED (ON or OFF; with SONAME), CXX, C, FLAGS, CUDA (ON or OFF), NVCC.
file(REMOVE_RECURSE ${WORK})
set(arguments -DBUILD_SHARED_LIBS=${SHARED})
if(CUDA AND NOT SHARED)  # what a shared library needs is linked into it
  list(APPEND arguments -DTULLE_CUDA=ON -DCMAKE_CUDA_COMPILER=${NVCC})
else()
  list(APPEND arguments -DTULLE_CUDA=OFF)
endif()
foreach(package CLI11 nlohmann_json PNG GTest benchmark Eigen3 Python3)
  list(APPEND arguments -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${code}\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} -S ${EXAMPLES}/fetch_content -B ${WORK} -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${C} -DCMAKE_CXX_FLAGS=${FLAGS} ${arguments})
if(SHARED)
  file(STRINGS ${WORK}/CMakeFiles/consumer.dir/link.txt line REGEX "libtulle\\.so")
  string(REGEX MATCH "[^ ]*libtulle\\.so[^ ]*" place "${line}")
  file(COPY_FILE ${LIBRARY} ${WORK}/_deps/tulle-build/src/${SONAME})  # what the program asks for at its start
else()
  set(place _deps/tulle-build/src/libtulle.a)
endif()
file(COPY_FILE ${LIBRARY} ${WORK}/${place})
run(${CMAKE_COMMAND} --build ${WORK} --target consumer/fast)
run(${WORK}/consumer)
if(NOT said MATCHES "^tulle [0-9.]+: 210 300\n$")
  message(FATAL_ERROR "the program said '${said}'")
endif()
run(${CMAKE_COMMAND} --build ${WORK} --target help)
if(said MATCHES "tulle_cli|tulle_test|tulle_example")
  message(FATAL_ERROR "more than the library is built:\n${said}")
endif()
