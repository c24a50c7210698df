// The contract between y = A x and the backends: what a kernel is given, what it returns, and how it is listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/core/status.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/ops/kernels.hpp>
#include <tulle/ops/linear_operator.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <tulle/ops/stored_values.hpp>

#include "kernels/types.hpp"

namespace tulle {

/// `count` vectors with their types erased: element i of vector j is at data[i * row_stride + j * vector_stride], so
/// that (ld, 1) is row-major and (1, ld) column-major.
struct strided_vectors {
  void* data = nullptr;  // of x: not written
  index_t count = 0;
  std::int64_t row_stride = 1;
  std::int64_t vector_stride = 0;
};

/// What is done to alpha A X + beta Y before it is stored: each vector gets a number added, and what is below 0 becomes 0.
struct many_finish {
  const void* bias = nullptr;  // of the vectors' type, in their memory, an element a vector; null: none
  bool relu = false;
};

/// Whether what is stored of values may be less than what they are.
inline bool may_lose_bits(const spmv_options& o) { return o.values.tolerance > 0 || o.value_rule.has_value(); }

/// What a kernel needs to run: made once by `spmv_kernel::make`, then applied many times.
class spmv_operator {
 public:
  spmv_operator() = default;
  spmv_operator(const spmv_operator&) = delete;
  spmv_operator& operator=(const spmv_operator&) = delete;
  virtual ~spmv_operator() = default;

  /// y = alpha A x + beta y. Pointers are of the vectors' type, in the backend's memory; alpha and beta are exact in
  /// double for every type. No allocation, no synchronisation.
  virtual void apply(double alpha, const void* x, double beta, void* y, stream_view stream) = 0;
  /// Y = alpha A X + beta Y for several right-hand sides at once. These four are called only where the kernel's entry
  /// says that it has them.
  virtual void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                          stream_view stream);
  virtual void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                               const many_finish& finish, stream_view stream);
  /// y = alpha A x + beta y, and what a solver needs next from the same pass: dots[0] = w . y, dots[1] = y . y (in
  /// the backend's memory, of y's type or f64), summed in an order that depends on the plan alone.
  virtual void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, const vector_ref& dots,
                          stream_view stream);
  /// One step of the weighted Jacobi method: y = x + omega D^-1 (b - A x), with the inverse diagonal given.
  virtual void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                            stream_view stream);
  /// From the next call on row r is element order[r] of whatever has an element per row: y, w, b and the inverse diagonal,
  /// and with `x_too` the x that a Jacobi step adds to, which is in the order of the columns either way. Null: element r.
  /// False, and nothing changes, where the kernel cannot; several right-hand sides never are in an order.
  virtual bool store_in_order(const index_t* /*order*/, bool /*x_too*/) { return false; }
  /// y = A' x with the high words of A's values alone, by the same copy (spmv_options::high_words): `apply`,
  /// `apply_dots` and `apply_jacobi`, rows in the order that this one stores them in. Null where values are not stored
  /// as words.
  [[nodiscard]] virtual spmv_operator* high_words() noexcept { return nullptr; }
  /// The same pattern with other values; `a` may be borrowed from now on, as in make.
  virtual void update_values(const matrix_ref& a) = 0;
  /// Bytes that the operator owns.
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// Bytes that one application reads of the matrix (values, indices, offsets, workspace), for the bench.
  [[nodiscard]] virtual std::size_t matrix_bytes() const noexcept = 0;
  /// Whether values take fewer bytes than they have.
  [[nodiscard]] virtual bool narrows_values() const noexcept { return false; }
  /// How values are stored; no shares: as they are.
  [[nodiscard]] virtual stored_values stored() const { return {}; }
  /// The parameters in force: "block_size=256 lanes=8". Empty when there is none.
  [[nodiscard]] virtual std::string parameters() const { return {}; }
};

/// Whether a kernel can take a matrix, and why not.
struct support {
  bool ok = true;
  std::string reason = {};
};

inline support always_supported(const csr_stats&, type_key, const device_info&) { return {}; }

/// One line of the kernel table: all that is true of a kernel. `a` (and its arrays) may be borrowed by the operator
/// until it is destroyed.
struct spmv_kernel {
  /// What a kernel has beside `apply`.
  struct passes {
    bool many = false;
    bool dots = false;
    bool jacobi = false;
    bool finish = false;  // apply_many_with
  };
  /// The members of spmv_options that it listens to.
  struct tunables {
    bool block_size = false;
    bool lanes = false;
    bool sigma = false;
    bool block = false;
    bool values = false;  // stores values in fewer bits than they have
    bool high_words = false;
  };

  std::string_view name;
  std::string_view summary;
  backend_kind backend = backend_kind::cpu;
  type_set types = type_set::floating;  // of kernels/types.hpp
  kernel_role role = kernel_role::production;
  bool needs_set_up = true;  // has to see the statistics; converts or stages the matrix. Else it reads the CSR in place
  bool takes_bsr = false;    // reads a BSR in place; every kernel takes CSR
  bool takes_bin_bsr = false; // reads a bin_bsr, in place or as a BSR
  bool deterministic = true;  // the same bits on every run
  passes has = {};
  tunables listens_to = {};
  support (*supports)(const csr_stats&, type_key, const device_info&) = always_supported;
  /// Whether it stores A's values in so many fewer bytes, with all of their bits, that it is faster than kernels of blocks
  /// are. Waits for the stream. Null: never.
  bool (*narrows)(const context&, const matrix_ref& a) = nullptr;
  std::unique_ptr<spmv_operator> (*make)(const context&, const matrix_ref& a, const csr_stats&,
                                         const spmv_options&) = nullptr;
};

/// Whether a kernel has a pass for vectors of a type: dot products and Jacobi steps are for floating-point numbers.
constexpr bool has_pass(const spmv_kernel& kernel, operation what, scalar_type vectors) {
  const bool floating = is_floating(vectors);
  switch (what) {
    case operation::apply:
      return true;
    case operation::apply_many:
      return kernel.has.many;
    case operation::apply_dots:
      return kernel.has.dots && floating;
    case operation::jacobi:
      return kernel.has.jacobi && floating;
    case operation::many_epilogue:
      return kernel.has.many && kernel.has.finish && floating;
  }
  return false;
}

/// The types of y = A x, as asked for.
inline operation_types types_of(const matrix_ref& a, const spmv_options& options) {
  return {a.types, options.vector_type.value_or(a.types.value)};
}

/// A make that builds Operator<T, O>(ctx, view, stats, options) for the types of a CSR.
template <template <class, class> class Operator, type_set Set>
std::unique_ptr<spmv_operator> make_operator(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                             const spmv_options& options) {
  return dispatch<Set>(a.types, [&]<class T, class O>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<Operator<T, O>>(ctx, a.as<T, O>(), stats, options);
  });
}

/// The same for Operator<T, V, O>: values of T, vectors of V.
template <template <class, class, class> class Operator, type_set Set>
std::unique_ptr<spmv_operator> make_operator(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                             const spmv_options& options) {
  return dispatch_operation<Set>(types_of(a, options), [&]<class T, class V, class O>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<Operator<T, V, O>>(ctx, a.as<T, O>(), stats, options);
  });
}

}  // namespace tulle
