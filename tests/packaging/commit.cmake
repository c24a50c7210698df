# TULLE_COMMIT is a commit of tulle's own repository: with tulle's source inside another's checkout it is "unknown".
# Needs VERSION_CMAKE and WORK.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/around/tulle)
foreach(arguments "init;-q" "-c;user.name=t;-c;user.email=t@t;commit;-q;--allow-empty;-m;one")
  execute_process(COMMAND git ${arguments} WORKING_DIRECTORY ${WORK}/around COMMAND_ERROR_IS_FATAL ANY)
endforeach()

set(PROJECT_BINARY_DIR ${WORK}/build)
function(expect folder pattern)
  set(PROJECT_SOURCE_DIR ${WORK}/${folder})
  include(${VERSION_CMAKE})
  if(NOT TULLE_COMMIT MATCHES "${pattern}")
    message(FATAL_ERROR "in ${folder} the commit is '${TULLE_COMMIT}', not ${pattern}")
  endif()
endfunction()
expect(around "^[0-9a-f]+$")
expect(around/tulle "^unknown$")
