#include "cuda/spmv/cusparse_calls.hpp"

#include <dlfcn.h>

#include <span>
#include <string>
#include <tulle/core/status.hpp>

namespace tulle::cuda {

void* open_library(std::span<const char* const> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw error(status::unsupported,
              std::string(names.front()) + " was not found: install cuSPARSE, or name its folder in LD_LIBRARY_PATH");
}

void* find_function(void* library, const char* name) {
  if (void* function = dlsym(library, name)) return function;
  throw error(status::unsupported, std::string("this cuSPARSE is too old: it has no ") + name);
}

void check_cusparse(void* library, cusparseStatus_t s, const char* name) {
  if (s == CUSPARSE_STATUS_SUCCESS) return;
  const status code = s == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES || s == CUSPARSE_STATUS_ALLOC_FAILED
                          ? status::device_out_of_memory
                      : s == CUSPARSE_STATUS_NOT_SUPPORTED ? status::unsupported
                                                           : status::kernel_launch;
  const auto text = [&](const char* function) {
    return reinterpret_cast<decltype(&cusparseGetErrorName)>(find_function(library, function))(s);
  };
  throw error(code,
              std::string(name) + ": " + text("cusparseGetErrorName") + " (" + text("cusparseGetErrorString") + ")");
}

const cusparse_functions& cusparse() {
  static const cusparse_functions functions = [] {
    const std::string name = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
    const std::string built_with = std::string(TULLE_CUDA_LIBRARIES) + "/" + name;
    const char* const names[] = {name.c_str(), built_with.c_str()};
    return cusparse_functions{open_library(names)};
  }();
  return functions;
}

}  // namespace tulle::cuda
