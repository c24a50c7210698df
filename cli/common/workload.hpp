// What y = A x multiplies: A or A^T, by one vector or several; the vectors, and the check of the answer.
#pragma once

#include <tulle/formats/views.hpp>
#include <tulle/ops/verify.hpp>

#include "options.hpp"

namespace tulle::cli {

struct workload {
  bool transpose = false;
  index_t rhs = 1;
  std::string order = "row";  // row, column: of several vectors

  [[nodiscard]] bool by_row() const { return order == "row"; }
  /// `rhs` vectors of `rows` elements in contiguous storage.
  template <class T>
  [[nodiscard]] multivector_view<T> view(T* data, index_t rows, memory_space space) const {
    return {rows, rhs,  by_row() ? rhs : rows, by_row() ? vector_order::row_major : vector_order::column_major,
            data, space};
  }
  /// Vector j of them, on the host.
  template <class T>
  [[nodiscard]] std::vector<T> vector_of(const std::vector<T>& all, index_t j) const {
    const std::size_t count = static_cast<std::size_t>(rhs), rows = all.size() / count, k = static_cast<std::size_t>(j);
    std::vector<T> one(rows);
    for (std::size_t i = 0; i < rows; ++i) one[i] = all[by_row() ? i * count + k : k * rows + i];
    return one;
  }
};
void add_workload_options(CLI::App& app, workload& w);  // --transpose --rhs --order

/// Random vector in [-1, 1) (i32: -8..8), the same on every machine.
template <scalar T>
std::vector<T> random_vector(std::size_t n, std::uint64_t seed);

/// What every right-hand side of y = alpha A x + beta y0 must give, in higher precision. A is as it multiplies; y0 may
/// be empty where beta is 0. Host memory.
template <scalar T>
std::vector<spmv_reference> references(const context& host, const workload& work, T alpha, csr_view<T, std::int64_t> a,
                                       const std::vector<T>& x, T beta, const std::vector<T>& y0);
/// The largest error over its bound among all right-hand sides; NaN counts as the largest.
template <scalar T>
double worst_ratio(const std::vector<spmv_reference>& expected, const workload& work, const std::vector<T>& y);

}  // namespace tulle::cli
