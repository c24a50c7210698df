# What the library itself is linked to. GLOBAL: a project that has tulle in a subdirectory links these, too.
find_package(OpenMP REQUIRED GLOBAL)
find_package(fmt REQUIRED GLOBAL)
find_package(ZLIB REQUIRED GLOBAL)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd)

# What is not found is left out, and reading and writing such files says so.
option(TULLE_XZ "Read and write .xz files where liblzma is found" ON)
set(TULLE_HAS_XZ OFF)
if(TULLE_XZ)
  pkg_check_modules(lzma QUIET IMPORTED_TARGET GLOBAL liblzma)
  if(lzma_FOUND)
    set(TULLE_HAS_XZ ON)
  else()
    message(STATUS "tulle: no liblzma: .xz files are left out")
  endif()
endif()
