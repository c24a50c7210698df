# Where nobody will run device code, optimising it is most of what compiling it takes (docs/notes/0028-build-time.md).
# Every file is still compiled for every architecture, by the same front end, down to PTX and machine code.
option(TULLE_QUICK_CUDA "Compile device code to see whether it compiles: correct, but far slower on a GPU; two files of the CPU's at -O2" OFF)
set(TULLE_CUDA_IS_QUICK OFF)
if(TULLE_QUICK_CUDA)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --help OUTPUT_VARIABLE nvcc_help ERROR_QUIET)
  if(nvcc_help MATCHES "--Ofast-compile")
    set(TULLE_CUDA_IS_QUICK ON)
    add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
    string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")  # launches, on the host
    message(STATUS "tulle: device code is hardly optimised (TULLE_QUICK_CUDA): not for measuring")
  else()
    message(STATUS "tulle: this nvcc has no --Ofast-compile: TULLE_QUICK_CUDA changes nothing")
  endif()
endif()
