#include "spmv_peers.hpp"

#include <cstdlib>
#include <memory>

#include "mkl_library.hpp"
#if __has_include(<eigen3/Eigen/Sparse>)
#include <eigen3/Eigen/Sparse>
#define TULLE_BENCH_EIGEN 1
#endif

namespace tulle::bench {
namespace {

/// As csr_matvec of scipy/sparse/sparsetools/csr.h computes it: row after row, the products of a row one after the
/// other. It adds to y, as there.
template <scalar T>
#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target("arch=x86-64"), gnu::noinline]]
#endif
void scipy_loop(csr_view<T, std::int32_t> a, const T* x, T* y) {
  for (index_t row = 0; row < a.rows; ++row) {
    T sum = y[row];
    for (std::int32_t k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) sum += a.values[k] * x[a.colind[k]];
    y[row] = sum;
  }
}

template <scalar T>
spmv_peer mkl_peer(const mkl_library& mkl, csr_view<T, std::int32_t> a, const T* x, T* y, bool in_place) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int no_transpose = 10, copies = 81, none = 80;
  const mkl_library::descriptor general;
  void* handle = nullptr;
  auto* rowptr = const_cast<std::int32_t*>(a.rowptr);
  check(mkl.get<int(void**, int, int, int, int*, int*, int*, T*)>(wide ? "mkl_sparse_d_create_csr"
                                                                       : "mkl_sparse_s_create_csr")(
      &handle, 0, a.rows, a.cols, rowptr, rowptr + 1, const_cast<index_t*>(a.colind), const_cast<T*>(a.values)));
  check(mkl.get<int(void*, int, mkl_library::descriptor, int)>("mkl_sparse_set_mv_hint")(handle, no_transpose, general,
                                                                                         10000));
  check(mkl.get<int(void*, int)>("mkl_sparse_set_memory_hint")(handle, in_place ? none : copies));
  check(mkl.get<int(void*)>("mkl_sparse_optimize")(handle));
  auto* const mv = mkl.get<int(int, T, void*, mkl_library::descriptor, const T*, T, T*)>(wide ? "mkl_sparse_d_mv"
                                                                                              : "mkl_sparse_s_mv");
  const std::shared_ptr<void> owned(handle,
                                    [destroy = mkl.get<int(void*)>("mkl_sparse_destroy")](void* h) { destroy(h); });
  return {in_place ? "mkl.in_place" : "mkl", [=] { check(mv(no_transpose, T{1}, owned.get(), general, x, T{0}, y)); }};
}

}  // namespace

template <scalar T>
std::vector<spmv_peer> spmv_peers(csr_view<T, std::int32_t> a, const T* x, T* y, int threads) {
  std::vector<spmv_peer> all;
  if (const char* file = std::getenv("TULLE_MKL"); file != nullptr) {
    setenv("MKL_THREADING_LAYER", "GNU", 0);
    static const mkl_library mkl(file);
    mkl.get<void(int)>("MKL_Set_Num_Threads")(threads);
    all.push_back(mkl_peer(mkl, a, x, y, false));
    all.push_back(mkl_peer(mkl, a, x, y, true));
  }
#ifdef TULLE_BENCH_EIGEN
  Eigen::setNbThreads(threads);
  all.push_back({"eigen", [=] {
                   using matrix = Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>>;
                   using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
                   const matrix mapped(a.rows, a.cols, a.nnz, a.rowptr, a.colind, a.values);
                   Eigen::Map<vector>(y, a.rows).noalias() = mapped * Eigen::Map<const vector>(x, a.cols);
                 }});
#endif
  all.push_back({"scipy", [=] { scipy_loop(a, x, y); }});
  return all;
}

template std::vector<spmv_peer> spmv_peers(csr_view<float, std::int32_t>, const float*, float*, int);
template std::vector<spmv_peer> spmv_peers(csr_view<double, std::int32_t>, const double*, double*, int);

}  // namespace tulle::bench
