// A plan whose rows and columns are in another order than the caller's: x is gathered into it once for an application,
// and rows are stored where the caller has them, by the kernel itself where it can.
#pragma once

#include <cstddef>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/ops/permutation.hpp>

#include "kernels/spmv.hpp"

namespace tulle::detail {

/// Orders of rows and of columns; those of a square matrix are the same.
struct matrix_orders {
  permutation rows;
  std::optional<permutation> own_columns = {};
  [[nodiscard]] const permutation& columns() const noexcept { return own_columns ? *own_columns : rows; }
};

/// Applies the operator of a matrix in another order to vectors in the caller's. Neither allocates nor waits.
class reordering {
 public:
  /// For vectors of a type. `orders.rows` is that of y. `cache_bytes`: of vectors that may be read at random.
  reordering(const context& ctx, matrix_orders orders, scalar_type type, std::size_t cache_bytes);

  [[nodiscard]] const permutation& rows() const noexcept { return orders_.rows; }
  [[nodiscard]] const permutation& columns() const noexcept { return orders_.columns(); }

  /// Makes room for what applications of `a` will need; `fused`: dot products or Jacobi steps among them.
  void make_room(spmv_operator& a, double mean_row, bool fused);

  void apply(spmv_operator& a, double alpha, const void* x, double beta, void* y, stream_view stream) const;
  void apply_many(spmv_operator& a, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) const;
  void apply_dots(spmv_operator& a, double alpha, const void* x, double beta, void* y, const void* w,
                  const vector_ref& dots, stream_view stream) const;
  void apply_jacobi(spmv_operator& a, double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                    stream_view stream) const;

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  /// An order in two steps, each of which reads no more of its input at once than a cache holds. Between them elements
  /// are sorted by ranges of the caller's order, otherwise in the plan's.
  struct two_steps {
    buffer<index_t> source;  // first[p] = caller's[source[p]]
    buffer<index_t> place;   // plan's[i] = first[place[i]]
    buffer<index_t> back;    // caller's[j] = first[back[j]]
  };
  void take_two_steps();
  /// Room for vector number i between the steps.
  [[nodiscard]] void* between(int i) const;

  void move(const buffer<index_t>& from, const void* x, double beta, void* y, stream_view stream) const;
  void move(const buffer<index_t>& from, const strided_vectors& x, double beta, const strided_vectors& y,
            stream_view stream) const;
  const void* gathered(const void* x, stream_view stream) const;

  context ctx_;
  scalar_type type_;
  std::size_t cache_bytes_;
  matrix_orders orders_;
  bool by_kernel_ = false;
  std::optional<two_steps> steps_;  // where vectors are larger than a cache, and the kernel stores rows by the second
  mutable buffer<std::byte> x_;     // in the plan's order, as all of these
  mutable buffer<std::byte> y_;
  mutable buffer<std::byte> of_rows_[2];  // w, or b and the inverse diagonal
};

}  // namespace tulle::detail
