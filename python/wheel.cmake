# What goes into a wheel: the modules, the command line, and the shared libraries that they need and that another machine may
# not have, beside them. RPATH (not RUNPATH) holds for what these libraries need in turn.
set(system "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so" "^ld-linux" "^libcuda\\.so" "^libpython")
install(TARGETS tulle_python_cpu RUNTIME_DEPENDENCY_SET tulle_libraries LIBRARY DESTINATION tulle COMPONENT python)
set_target_properties(tulle_python_cpu PROPERTIES INSTALL_RPATH "$ORIGIN/_libs")
if(TARGET tulle_python_cuda)
  install(TARGETS tulle_python_cuda RUNTIME_DEPENDENCY_SET tulle_libraries LIBRARY DESTINATION tulle/_cuda COMPONENT python)
  set_target_properties(tulle_python_cuda PROPERTIES INSTALL_RPATH "$ORIGIN/../_libs")
endif()
if(TARGET tulle_cli)
  install(TARGETS tulle_cli RUNTIME_DEPENDENCY_SET tulle_libraries RUNTIME DESTINATION tulle/_bin COMPONENT python)
  set_target_properties(tulle_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../_libs" INSTALL_RPATH_USE_LINK_PATH OFF)
  target_link_options(tulle_cli PRIVATE LINKER:--disable-new-dtags)
endif()
install(FILES _tulle_command.py DESTINATION . COMPONENT python)
install(RUNTIME_DEPENDENCY_SET tulle_libraries COMPONENT python
  PRE_EXCLUDE_REGEXES ${system} LIBRARY DESTINATION tulle/_libs)
