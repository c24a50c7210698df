# Installs BUILD into WORK, then builds and runs EXAMPLES/consumer through find_package and EXAMPLES/spmv.c through
# pkg-config against what was installed.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(run_and_expect program expected)
  execute_process(COMMAND ${program} OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "${expected}")
    message(FATAL_ERROR "${program} said '${said}', not '${expected}'")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(libraries ${prefix}/${LIBDIR})
set(ENV{LD_LIBRARY_PATH} "${libraries}:$ENV{LD_LIBRARY_PATH}")  # for a shared library

run(${CMAKE_COMMAND} -S ${EXAMPLES}/consumer -B ${WORK}/consumer -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run_and_expect(${WORK}/consumer/consumer "^tulle [0-9.]+: 210 300\n$")

set(ENV{PKG_CONFIG_PATH} ${libraries}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs tulle OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${C} -std=c99 ${EXAMPLES}/spmv.c -o ${WORK}/spmv_c ${flags} ${FLAGS})
run_and_expect(${WORK}/spmv_c "\n7\n0\n25\n$")
