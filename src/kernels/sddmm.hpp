// The contract between C = alpha P o (U V^T) + beta C and the backends: what a kernel is given, what it returns, and
// how it is listed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tulle/ops/sddmm.hpp>

#include "kernels/spmv.hpp"
#include "kernels/types.hpp"

namespace tulle {

/// Features of a column-major U or V that are transposed at a time: 128 bytes of a row, a line of a GPU or two of a
/// CPU.
constexpr index_t panel_features(scalar_type type) { return static_cast<index_t>(128 / size_of(type)); }

/// What a kernel needs to run: made once by `sddmm_kernel::make`, then applied many times.
class sddmm_operator {
 public:
  sddmm_operator() = default;
  sddmm_operator(const sddmm_operator&) = delete;
  sddmm_operator& operator=(const sddmm_operator&) = delete;
  virtual ~sddmm_operator() = default;

  /// c[k] = alpha p_k (u_i . v_j) + beta c[k] for entry k, which is (i, j). Row i of U is its features, as many as V's.
  /// Pointers are in the backend's memory; alpha and beta are exact in double. No allocation, no synchronisation.
  virtual void apply(double alpha, const strided_vectors& u, const strided_vectors& v, double beta, void* c,
                     stream_view stream) = 0;
  /// The same pattern with other values.
  virtual void update_values(const matrix_ref& a) = 0;
  /// Bytes that the operator owns.
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::string parameters() const { return {}; }
};

inline support samples_every(const matrix_ref&, const sddmm_options&) { return {}; }

/// One line of the kernel table. The operator may borrow the arrays of `a`, a sound CSR, until it is destroyed.
struct sddmm_kernel {
  std::string_view name;
  std::string_view summary;
  backend_kind backend = backend_kind::cpu;
  type_set types = type_set::floating;
  kernel_role role = kernel_role::production;
  support (*supports)(const matrix_ref& a, const sddmm_options&) = samples_every;
  std::unique_ptr<sddmm_operator> (*make)(const context&, const matrix_ref& a, const sddmm_options&) = nullptr;
};

/// `make` of a kernel whose operators are Operator<T, O>.
template <template <class, class> class Operator>
std::unique_ptr<sddmm_operator> make_operator(const context& ctx, const matrix_ref& a, const sddmm_options& options) {
  return dispatch<type_set::floating>(a.types, [&]<class T, class O>() -> std::unique_ptr<sddmm_operator> {
    return std::make_unique<Operator<T, O>>(ctx, a.as<T, O>(), options);
  });
}

}  // namespace tulle
