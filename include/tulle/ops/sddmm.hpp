/// @file
/// C = alpha P o (U V^T) + beta C, the sampled dense-dense product: of the product of two dense matrices only the
/// entries that a sparse pattern has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/linear_operator.hpp>
#include <utility>

namespace tulle {

/// Everything has a default; nobody needs to set anything.
struct sddmm_options {
  std::string kernel = {};    ///< "" = choose (or what TULLE_KERNEL says, unless it names a kernel of something else)
  bool times_values = false;  ///< each dot product times A's value at its place: P is A; else P has ones
  /// U or V will be column-major: the plan then has 128 bytes for each row and column of A, into which features are
  /// transposed a few at a time. Without it such calls read U and V where they lie, which is slower.
  bool column_major = false;
};

/// What is learnt of A for c_ij = alpha p_ij (u_i . v_j) + beta c_ij at every entry (i, j) that A stores, duplicates
/// included, where u_i is row i of U, v_j row j of V, and p_ij is 1 or, with times_values, a_ij. The gradient of Y = A
/// X with respect to A's values, the scores of graph attention, the residual of a factorisation (Nisa, Sukumaran-Rajam,
/// Kurt, Hong, Sadayappan: Sampled dense matrix multiplication for high-performance machine learning, HiPC 2018).
///
/// A is f32 or f64 and so are U, V and C. Lifetime and values: as in any_spmv_plan; without times_values A's values are
/// never read, and may be null. A matrix on the host is copied to the device where the context is a CUDA one.
/// Error: entry by entry at most gamma(k + 4) (|alpha| |p_ij| |u_i| . |v_j| + |beta| |c_ij|), k the features, u the
/// unit roundoff of the type (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). One call at a
/// time per plan; the same bits in every run.
class any_sddmm_plan {
 public:
  /// A: rows x cols, CSR or CSC. Throws INVALID_ARGUMENT (unknown kernel, wrong memory space, i32 values), UNSUPPORTED
  /// (another format), INVALID_STRUCTURE, OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY.
  any_sddmm_plan(const context& ctx, const matrix_ref& a, const sddmm_options& options = {});
  /// Takes the plan over; `other` may only be destroyed or assigned to.
  any_sddmm_plan(any_sddmm_plan&&) noexcept;
  /// Takes the plan over.
  any_sddmm_plan& operator=(any_sddmm_plan&&) noexcept;
  ~any_sddmm_plan();

  /// U: rows x k, V: cols x k, k the `count` of both, in either order, in the context's memory; c: nnz values in the
  /// order of A's entries. beta = 0 overwrites c, NaN included. k = 0 is a product of zeros. Throws INVALID_DIMENSIONS,
  /// INVALID_ARGUMENT (type, memory, a factor beyond the type, c overlapping U, V or the values of A that are read).
  /// Neither allocates nor synchronises; can be captured in a CUDA graph.
  void apply(double alpha, const const_multivector_ref& u, const const_multivector_ref& v, double beta,
             const vector_ref& c, const apply_options& options = {}) const;

  /// Other values of A in the same pattern, as many as A stores, in its order; lent as in any_spmv_plan::update_values.
  /// Throws INVALID_ARGUMENT without times_values.
  template <class Values>
  void update_values(Values&& values) requires requires {
    lent(std::forward<Values>(values));
  }
  { read_values(lent(std::forward<Values>(values))); }

  /// Where it runs.
  [[nodiscard]] const context& ctx() const noexcept;
  /// Of A.
  [[nodiscard]] shape dimensions() const noexcept;
  /// Entries of A, and elements of c.
  [[nodiscard]] std::int64_t nnz() const noexcept;
  /// Of A, U, V and c.
  [[nodiscard]] scalar_type type() const noexcept;
  /// The kernel's name.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// One sentence: the kernel, and why; then its parameters.
  [[nodiscard]] std::string explain() const;
  /// Bytes that the plan owns, copies of A included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  void read_values(const const_vector_ref& values);

  struct impl;
  std::unique_ptr<impl> impl_;
};

/// A plan for values of type T: the same, checked at compile time.
template <scalar T>
class sddmm_plan : public any_sddmm_plan {
 public:
  /// A view, which must outlive the plan.
  template <offset O>
  sddmm_plan(const context& ctx, csr_view<T, O> a, const sddmm_options& options = {})
      : any_sddmm_plan(ctx, matrix_ref(a), options) {}
  /// An owning matrix: borrowed from an lvalue, owned where it is given away.
  template <detail::owning_matrix M>
  requires std::same_as<detail::value_of<M>, T> sddmm_plan(const context& ctx, M&& a, const sddmm_options& options = {})
      : any_sddmm_plan(ctx, matrix_ref(std::forward<M>(a)), options) {}
};
/// Deduces T from the matrix.
template <scalar T, offset O, class... More>
sddmm_plan(const context&, csr_view<T, O>, const More&...) -> sddmm_plan<T>;
/// Deduces T from the matrix.
template <detail::owning_matrix M, class... More>
sddmm_plan(const context&, M&&, const More&...) -> sddmm_plan<detail::value_of<M>>;

/// One-shot c = alpha (U V^T at the entries of A) + beta c. Throws what a plan and its apply throw. Waits for the
/// result.
void sddmm(const context& ctx, const matrix_ref& a, const const_multivector_ref& u, const const_multivector_ref& v,
           const vector_ref& c, double alpha = 1, double beta = 0);

}  // namespace tulle
