// y = A x by others than tulle, on the same arrays and as many threads: MKL's inspector-executor, Eigen and SciPy's
// loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tulle/formats/views.hpp>
#include <vector>

namespace tulle::bench {

struct spmv_peer {
  std::string name;
  std::function<void()> apply;
};

/// MKL where the environment variable TULLE_MKL names its library (libmkl_rt.so; the folder has to be in
/// LD_LIBRARY_PATH), planned for many calls: `mkl` may keep a copy in a format of its own, `mkl.in_place` may not.
/// Eigen where its headers are. SciPy's loop (one thread), as the compiler makes it for any x86-64, without what Python
/// adds to a call. All arrays are borrowed.
template <scalar T>
std::vector<spmv_peer> spmv_peers(csr_view<T, std::int32_t> a, const T* x, T* y, int threads);

}  // namespace tulle::bench
