/// @file
/// y = alpha A x + beta y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/ops/kernels.hpp>
#include <tulle/ops/linear_operator.hpp>
#include <tulle/ops/permutation.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <tulle/ops/stored_values.hpp>

namespace tulle {

class spmv_operator;
class any_spmv_plan;
namespace detail {
/// The kernel at work, for what a backend's own kernels agree on among themselves.
spmv_operator& operator_of(any_spmv_plan& plan);
/// Why the plan has the kernel that it was given by name, where the library gave it; empty: nothing to say.
void explain_kernel(any_spmv_plan& plan, const std::string& why);
}  // namespace detail

/// Everything learnt about y = A x: statistics, the chosen kernel, converted storage and workspace. Made once, applied
/// many times. The value type is that of the matrix; spmv_plan<T> below knows it at compile time.
///
/// Lifetime: the plan keeps no copy of arrays that its kernel can use where they are. A matrix that it is given to own (a
/// temporary csr, or a matrix_ref with an owner) stays alive with it; one that it borrows must outlive it.
/// Values: they are read at planning and at update_values; a kernel may read them again in any application. After values
/// have changed in place, results are unspecified until update_values was called.
/// Error: componentwise at most gamma(n_i + 2) (|alpha| |A| |x| + |beta| |y|) (Higham, Accuracy and Stability of Numerical
/// Algorithms, 2002, section 3.1).
/// A matrix on the host is copied to the device where the context is a CUDA one. One call at a time per plan.
/// A caller's CUDA graph of applications stays good after update_values unless the plan stored values in fewer bits than
/// they have before or does so now (stored()), or takes f32 and f64 apart (*.split_*, csr.dual_rows, csr.composite_rows):
/// such a graph has to be captured again.
class any_spmv_plan : public linear_operator {
 public:
  /// A: rows x cols, of any format: CSR and CSC as they are, BSR for a kernel that takes blocks, others as a CSR that the
  /// plan makes. Throws INVALID_ARGUMENT (unknown kernel, wrong memory space or device), UNSUPPORTED (the kernel cannot
  /// take this matrix, with the reason), INVALID_STRUCTURE (offsets or indices), OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY.
  any_spmv_plan(const context& ctx, const matrix_ref& a, const spmv_options& options = {});
  /// Takes the plan over; `other` may only be destroyed or assigned to.
  any_spmv_plan(any_spmv_plan&&) noexcept;
  /// Takes the plan over.
  any_spmv_plan& operator=(any_spmv_plan&&) noexcept;
  ~any_spmv_plan() override;

  /// Where it runs.
  [[nodiscard]] const context& ctx() const noexcept override;
  [[nodiscard]] shape dimensions() const noexcept override;
  [[nodiscard]] scalar_type vector_type() const noexcept override;
  /// The kernel's name.
  [[nodiscard]] std::string_view label() const noexcept override { return kernel(); }
  [[nodiscard]] std::string_view matrix_label() const noexcept override;
  /// Several right-hand sides always (where the kernel takes one at a time or more slowly, csr.balanced on a CPU and
  /// csr.pieces or packed on CUDA do it on the plan's CSR), but where a kernel that has no such pass was named or the matrix stays BSR; dot products and Jacobi steps
  /// where the kernel has them, as those that are chosen by default have, for f32 and f64.
  [[nodiscard]] bool can(operation what, bool transposed = false) const noexcept override;

  /// New numbers in the same pattern, as many as A stores, in its order. They are lent until the next call of this, as A
  /// was: a temporary container does not convert.
  template <class Values>
  void update_values(Values&& values)
    requires requires { lent(std::forward<Values>(values)); }
  {
    read_values(lent(std::forward<Values>(values)));
  }
  /// The numbers have changed where they are.
  void update_values();

  /// The order in which the plan keeps the rows and columns of A (or of A^T when it multiplies by that), or null where
  /// they are as A has them: spmv_options::reorder.
  [[nodiscard]] const permutation* row_order() const noexcept;
  /// The same for the columns.
  [[nodiscard]] const permutation* column_order() const noexcept;
  /// The same product for vectors in those orders, from which nothing is gathered: x is column_order()->apply of what the
  /// plan itself takes, y and all that has an element per row row_order()'s. The plan itself where it has no order. Lives
  /// as long as the plan.
  [[nodiscard]] const linear_operator& in_own_order() const noexcept;

  /// The product by A', of the same copy of A, for what need not be exact: sweeps, inner solves, preconditioners. A'
  /// has the values rounded to 21 bits, with the exponents of f64: |a - a'| <= 2^-21 |a| where |a| >= 2^-1022, 2^-1043
  /// where it is smaller; from (2 - 2^-21) 2^1023 on a' is infinite. A stored 0, infinity or NaN stays one. It can
  /// `apply`, `apply_dots` and `jacobi` as the plan can. The product by A itself where spmv_options::high_words is not
  /// set or fewer bytes hold the values. Lives as long as the plan, and follows update_values; on CUDA it shares the plan's
  /// workspace, so that both are not to run at the same time.
  [[nodiscard]] const linear_operator& high_words() const noexcept;
  /// Bytes that one application of it reads of the matrix.
  [[nodiscard]] std::size_t high_words_bytes() const noexcept;

  /// Measures all kernels that suit this matrix, whatever that costs, and keeps the fastest. The winner is remembered
  /// by statistics and device in cache_directory(), as is, for plans of that effort alone, what effort max found.
  void autotune();

  /// The kernel's name, as `tulle kernels` lists it.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// One sentence: the kernel, and why, with the numbers; then its parameters, the effort and what planning took.
  [[nodiscard]] std::string explain() const;
  /// The kernel's parameters in force: "block_size=256 lanes=8"; empty where it has none.
  [[nodiscard]] std::string parameters() const;
  /// That it was made with.
  [[nodiscard]] spmv_effort effort() const noexcept;
  /// From the constructor's first line to its last, copies to the device included, and autotune.
  [[nodiscard]] double plan_microseconds() const noexcept;
  /// Device or host bytes that the plan owns, converted storage included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Bytes that one application reads of the matrix as the kernel stores it: values, indices, offsets.
  [[nodiscard]] std::size_t matrix_bytes() const noexcept;
  /// Rows, entries and bytes of the values by how they are stored, and how much of one is lost at most.
  [[nodiscard]] stored_values stored() const;
  /// Of A, or of A^T when the plan multiplies by that. What the choice of the kernel did not ask for is at its default:
  /// bandwidth, column_window and block_fill, and on CUDA all but rows, cols, nnz, mean, max, skew and, from two and a
  /// half million nonzeros on, gather_sectors, gather_span and (of rows alike in length) a rough block_fill.
  /// `statistics` makes them all.
  [[nodiscard]] const csr_stats& stats() const noexcept;

 protected:
  [[nodiscard]] const call_facts* kept_facts() const noexcept override;
  /// By the kernel that was chosen, as the calls that follow.
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override;
  void do_apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                     call how) const override;
  void do_apply_many_with(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                          const many_epilogue& then, call how) const override;
  /// By the kernel, where `can` says so.
  void do_apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                     const const_vector_ref& w, const vector_ref& dots, call how) const override;
  /// By the kernel, where `can` says so.
  void do_jacobi(double omega, const const_vector_ref& x, const const_vector_ref& b,
                 const const_vector_ref& inverse_diagonal, const vector_ref& y, call how) const override;

 private:
  void read_values(const const_vector_ref& values);
  void reorder_if_faster(const matrix_ref& a);
  friend spmv_operator& detail::operator_of(any_spmv_plan& plan);
  friend void detail::explain_kernel(any_spmv_plan& plan, const std::string& why);

  struct impl;
  std::unique_ptr<impl> impl_;
};

/// What converts to a vector of T that is read.
template <class V, class T>
concept readable_vector = std::is_convertible_v<V, const_vector_ref> && requires(V&& v) {
  requires std::same_as<std::remove_cv_t<std::remove_pointer_t<decltype(v.data())>>, T>;
};
/// What converts to a vector of T that is written.
template <class V, class T>
concept writable_vector = readable_vector<V, T> && std::is_convertible_v<V, vector_ref>;

/// A plan for values of type T, with vectors of T: the same, checked at compile time.
template <scalar T>
class spmv_plan : public any_spmv_plan {
 public:
  /// A view, which must outlive the plan.
  template <offset O>
  spmv_plan(const context& ctx, csr_view<T, O> a, const spmv_options& options = {})
      : any_spmv_plan(ctx, matrix_ref(a), options) {}
  /// An owning matrix of any format: borrowed from an lvalue, owned where it is given away.
  template <detail::owning_matrix M>
    requires std::same_as<detail::value_of<M>, T>
  spmv_plan(const context& ctx, M&& a, const spmv_options& options = {})
      : any_spmv_plan(ctx, matrix_ref(std::forward<M>(a)), options) {}

  /// y = alpha A x + beta y, of vectors of T: x has cols elements, y rows. Throws as linear_operator::apply.
  template <readable_vector<T> X, writable_vector<T> Y>
  void apply(T alpha, X&& x, T beta, Y&& y, const apply_options& options = {}) const {
    linear_operator::apply(static_cast<double>(alpha), const_vector_ref(x), static_cast<double>(beta),
                           vector_ref(std::forward<Y>(y)), options);
  }
  /// Y = alpha A X + beta Y, of vectors of T: X is cols x count, Y rows x count.
  void apply_many(T alpha, multivector_view<const T> x, T beta, multivector_view<T> y,
                  const apply_options& options = {}) const {
    linear_operator::apply_many(static_cast<double>(alpha), x, static_cast<double>(beta), y, options);
  }
};

/// Deduces T from the matrix.
template <scalar T, offset O>
spmv_plan(const context&, csr_view<T, O>) -> spmv_plan<T>;
/// Deduces T from the matrix.
template <scalar T, offset O>
spmv_plan(const context&, csr_view<T, O>, const spmv_options&) -> spmv_plan<T>;
/// Deduces T from the matrix.
template <detail::owning_matrix M>
spmv_plan(const context&, M&&) -> spmv_plan<detail::value_of<M>>;
/// Deduces T from the matrix.
template <detail::owning_matrix M>
spmv_plan(const context&, M&&, const spmv_options&) -> spmv_plan<detail::value_of<M>>;

/// One-shot y = alpha A x + beta y through the kernel of spmv_effort::none, after one pass that checks the structure of
/// A. Throws what a plan and its apply throw. Waits for the result.
void multiply(const context& ctx, const matrix_ref& a, const const_vector_ref& x, const vector_ref& y, double alpha = 1,
              double beta = 0);

/// What choose_spmv says.
struct spmv_choice {
  std::string kernel;  ///< its name
  std::string reason;  ///< why, with the numbers
};
/// The kernel that a plan of effort standard would choose: a pure function, which reads no matrix. `types` are those that
/// the plan works on, offsets_for(stats.nnz) among them.
spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device,
                        spmv_policy policy = spmv_policy::standard);
/// Why a kernel of y = A x or y = A^T x cannot take a matrix with these statistics and types on the device, in one
/// sentence; empty where it can. Throws INVALID_ARGUMENT for a kernel that `kernels` does not list or of C = A B.
std::string unsupported_reason(const kernel_info& kernel, const csr_stats& stats, const operation_types& types,
                               const device_info& device);

/// Where autotuning remembers its winners: TULLE_CACHE_DIR, or XDG_CACHE_HOME/tulle, or ~/.cache/tulle; empty where none of
/// these is set, and then nothing is remembered. Each is a file of its own, autotune/HASH, used for half a year by the same
/// version of tulle.
std::filesystem::path cache_directory();

}  // namespace tulle
