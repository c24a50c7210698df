# include/tulle/version.hpp, and the commit that bench records carry: of tulle's own repository, not of one around it.
set(TULLE_COMMIT unknown)
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --show-prefix
  RESULT_VARIABLE failed OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed EQUAL 0 AND prefix STREQUAL "")
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE TULLE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.hpp.in ${PROJECT_BINARY_DIR}/include/tulle/version.hpp @ONLY)
