# Install rules: the library, its headers, find_package(tulle) and pkg-config, the command line with its completions and
# manual pages, and the documents.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tulle)
set_target_properties(tulle PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)  # what it links to may be off the loader's path
install(TARGETS tulle EXPORT tulleTargets)
if(TARGET tulle_cli)
  file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(tulle_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS tulle_cli)
endif()
if(TARGET tulle_manual)
  get_target_property(completions tulle_manual COMPLETIONS)
  get_target_property(manual tulle_manual MANUAL)
  install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completions}/tulle DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_tulle DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  if(EXISTS /etc/debian_version)  # where packages of Debian and Ubuntu have theirs
    install(FILES ${completions}/_tulle DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  endif()
  install(FILES ${completions}/tulle.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tulle ${PROJECT_BINARY_DIR}/include/tulle
  TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# find_package(tulle). A static library passes on what it links to; a shared one needs nothing more.
get_target_property(tulle_type tulle TYPE)
if(tulle_type STREQUAL "STATIC_LIBRARY")
  set(TULLE_IS_STATIC ON)
else()
  set(TULLE_IS_STATIC OFF)
endif()
install(EXPORT tulleTargets NAMESPACE tulle:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tulleConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/tulleConfig.cmake INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/tulleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tulleConfig.cmake ${PROJECT_BINARY_DIR}/cmake/tulleConfigVersion.cmake
  DESTINATION ${config_dir})

# pkg-config. There is one kind of library an install, so a static one names its needs without asking for --static.
set(pc_requires "")
set(pc_libs "")
if(TULLE_IS_STATIC)
  set(pc_requires "fmt, zlib, libzstd")
  if(TULLE_HAS_XZ)
    string(APPEND pc_requires ", liblzma")
  endif()
  set(pc_libs "${OpenMP_CXX_FLAGS} -lstdc++ -lm")
  foreach(library ${TULLE_ORDERING_LIBRARIES})
    string(APPEND pc_libs " -l${library}")
  endforeach()
  if(TULLE_HAS_CUDA)
    string(APPEND pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
  endif()
endif()
# A relative libdir keeps the file right wherever the tree is installed to.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tulle.pc.in ${PROJECT_BINARY_DIR}/cmake/tulle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tulle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
