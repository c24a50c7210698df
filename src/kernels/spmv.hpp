// The contract between y = A x and the backends: what a kernel is given, what it returns, and how it is listed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/context.hpp>
#include <tulle/core/status.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/views.hpp>
#include <tulle/ops/spmv.hpp>

namespace tulle {

/// A csr_view with its types erased.
struct csr_ref {
  type_key types;
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
  const void* rowptr = nullptr;
  const index_t* colind = nullptr;
  const void* values = nullptr;
  memory_space space = memory_space::host;

  template <scalar T, offset O>
  static csr_ref of(csr_view<T, O> a) {
    return {type_key_of<T, O>, a.rows, a.cols, static_cast<std::int64_t>(a.nnz), a.rowptr, a.colind, a.values, a.space};
  }
  /// The view again; T and O must be those of `types`.
  template <scalar T, offset O>
  [[nodiscard]] csr_view<T, O> as() const {
    return {rows, cols, static_cast<O>(nnz), static_cast<const O*>(rowptr), colind, static_cast<const T*>(values), space};
  }
};

/// `count` vectors with their types erased: element i of vector j is at data[i * row_stride + j * vector_stride], so
/// that (ld, 1) is row-major and (1, ld) column-major.
struct strided_vectors {
  void* data = nullptr;  // of x: not written
  index_t count = 0;
  std::int64_t row_stride = 1;
  std::int64_t vector_stride = 0;
};

/// What a kernel needs to run: made once by `spmv_kernel::make_plan`, then applied many times.
class spmv_operator {
 public:
  spmv_operator() = default;
  spmv_operator(const spmv_operator&) = delete;
  spmv_operator& operator=(const spmv_operator&) = delete;
  virtual ~spmv_operator() = default;

  /// y = alpha A x + beta y. Pointers are of the value type, in the backend's memory; alpha and beta are exact in
  /// double for every value type. No allocation, no synchronisation.
  virtual void apply(double alpha, const void* x, double beta, void* y, stream_view stream) = 0;
  /// Y = alpha A X + beta Y for several right-hand sides at once. These three throw UNSUPPORTED unless the kernel has them;
  /// those that choose_spmv picks do.
  virtual void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view stream);
  /// y = alpha A x + beta y, and what a solver needs next from the same pass: dots[0] = w . y, dots[1] = y . y (two
  /// values of y's type, in the backend's memory), summed in an order that depends on the plan alone.
  virtual void apply_dots(double alpha, const void* x, double beta, void* y, const void* w, void* dots, stream_view stream);
  /// One step of the weighted Jacobi method: y = x + omega D^-1 (b - A x), with the inverse diagonal given.
  virtual void apply_jacobi(double omega, const void* x, const void* b, const void* inverse_diagonal, void* y,
                            stream_view stream);
  /// The same pattern with other values; `a` may be borrowed from now on, as in make_plan.
  virtual void update_values(const csr_ref& a) = 0;
  /// Bytes that the operator owns.
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  /// Bytes that one application reads of the matrix (values, indices, offsets, workspace), for the bench.
  [[nodiscard]] virtual std::size_t matrix_bytes() const noexcept = 0;
  /// The parameters in force: "block_size=256 lanes=8". Empty when there is none.
  [[nodiscard]] virtual std::string parameters() const { return {}; }
};

/// Whether a kernel can take a matrix, and why not.
struct support {
  bool ok = true;
  std::string reason;
};

/// Which of the type combinations a kernel is built for.
enum class type_set : std::uint8_t { floating, all };
constexpr bool contains(type_set set, type_key key) { return set == type_set::all || key.value != scalar_type::i32; }

/// One line of the kernel table. `a` (and its arrays) may be borrowed by the operator until it is destroyed.
struct spmv_kernel {
  std::string_view name;
  std::string_view summary;
  backend_kind backend;
  type_set types;
  bool reference_only;  // a vendor's routine: measured, never chosen silently
  support (*supports)(const csr_stats&, type_key, const device_info&);
  std::unique_ptr<spmv_operator> (*make_plan)(const context&, const csr_ref& a, const csr_stats&, const spmv_options&);
};

/// Calls f.template operator()<T, O>() for the types that `key` names. The one list of supported combinations.
template <type_set Set, class F>
decltype(auto) dispatch(type_key key, F&& f) {
  const bool wide = key.offset == offset_type::i64;
  if (key.value == scalar_type::f64) {
    return wide ? f.template operator()<double, std::int64_t>() : f.template operator()<double, std::int32_t>();
  }
  if constexpr (Set == type_set::all) {
    if (key.value == scalar_type::i32) {
      return wide ? f.template operator()<std::int32_t, std::int64_t>()
                  : f.template operator()<std::int32_t, std::int32_t>();
    }
  }
  if (key.value != scalar_type::f32) throw error(status::unsupported, "this operation has no i32 values");
  return wide ? f.template operator()<float, std::int64_t>() : f.template operator()<float, std::int32_t>();
}

/// A make_plan that builds Operator<T, O>(ctx, view, stats, options) for the matrix's types.
template <template <class, class> class Operator, type_set Set>
std::unique_ptr<spmv_operator> make_operator(const context& ctx, const csr_ref& a, const csr_stats& stats,
                                             const spmv_options& options) {
  return dispatch<Set>(a.types, [&]<class T, class O>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<Operator<T, O>>(ctx, a.as<T, O>(), stats, options);
  });
}

inline support always_supported(const csr_stats&, type_key, const device_info&) { return {}; }

}  // namespace tulle
