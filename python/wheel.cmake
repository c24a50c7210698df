# What goes into a wheel: the modules, the command line, and the shared libraries that they need and that another machine may
# not have, beside them. RPATH (not RUNPATH) holds for what these libraries need in turn.
function(tulle_into_wheel target rpath)
  install(TARGETS ${target} RUNTIME_DEPENDENCY_SET tulle_libraries COMPONENT python ${ARGN})
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH ${rpath} INSTALL_RPATH_USE_LINK_PATH OFF)
endfunction()

tulle_into_wheel(tulle_python_cpu $ORIGIN/_libs LIBRARY DESTINATION tulle)
if(TARGET tulle_python_cuda)
  tulle_into_wheel(tulle_python_cuda $ORIGIN/../_libs LIBRARY DESTINATION tulle/_cuda)
endif()
if(TARGET tulle_cli)
  tulle_into_wheel(tulle_cli $ORIGIN/../_libs RUNTIME DESTINATION tulle/_bin)
endif()
if(library_type STREQUAL "SHARED_LIBRARY")
  set_target_properties(tulle PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})  # one file: a wheel has no links
  tulle_into_wheel(tulle $ORIGIN LIBRARY DESTINATION tulle/_libs NAMELINK_SKIP)
endif()
install(FILES ${package}/_tulle.pyi DESTINATION tulle COMPONENT python)
install(FILES _tulle_command.py DESTINATION . COMPONENT python)

set(system "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so" "^ld-linux" "^libcuda\\.so" "^libpython")
install(RUNTIME_DEPENDENCY_SET tulle_libraries COMPONENT python
  PRE_EXCLUDE_REGEXES ${system} "^libtulle" LIBRARY DESTINATION tulle/_libs)
# A link would become a second copy: each library stands under the name that it is asked for by.
install(CODE [[
  file(GLOB libraries "${CMAKE_INSTALL_PREFIX}/tulle/_libs/*.so*")
  foreach(library ${libraries})
    if(IS_SYMLINK ${library})
      file(REAL_PATH ${library} file)
      file(RENAME ${file} ${library})
    endif()
  endforeach()]] COMPONENT python)
