// MKL, loaded when it is asked for, so that what is built needs none.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

/// mkl_spblas.h, as far as it is used (LP64).
class mkl_library {
 public:
  struct descriptor {
    int type = 20, mode = 40, diagonal = 50;  // general
  };
  explicit mkl_library(const char* file) : handle_(dlopen(file, RTLD_NOW | RTLD_GLOBAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  template <class F>
  F* get(const char* name) const {
    void* symbol = dlsym(handle_, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("MKL has no ") + name);
    return reinterpret_cast<F*>(symbol);
  }

 private:
  void* handle_;
};

inline void check(int mkl_status) {
  if (mkl_status != 0) throw std::runtime_error("MKL: status " + std::to_string(mkl_status));
}
