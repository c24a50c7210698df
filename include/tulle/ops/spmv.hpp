// y = alpha A x + beta y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/span.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// How a kernel is chosen when none is named.
enum class spmv_policy : std::uint8_t { standard, simple };

constexpr std::string_view name(spmv_policy p) { return p == spmv_policy::standard ? "standard" : "simple"; }

/// How much work a plan may cost, in applications of the plan it makes:
///   none      about 0: no pass over the matrix, which stays CSR where it is (on a GPU, a host matrix is still copied).
///             Nothing is validated: the caller vouches for offsets and column indices, and broken ones are undefined
///             behaviour. Of the statistics only rows, cols, nnz and mean are known. A kernel that was named gets the
///             statistics (and the narrow offsets) that it needs, if any;
///   standard  about 20: validation, statistics, a converted copy where that pays;
///   max       up to 500 more: kernels that suit the matrix are planned and timed on it and the fastest is kept, unless
///             one was named. What a kernel's planning may take is estimated first: none is begun that would pass 500.
///             The winner is remembered, as by spmv_plan::autotune.
enum class spmv_effort : std::uint8_t { none, standard, max };
/// "none", "default", "max".
constexpr std::string_view name(spmv_effort e) {
  return e == spmv_effort::none ? "none" : e == spmv_effort::standard ? "default" : "max";
}

/// Everything has a default; nobody needs to set anything. 0 means: the kernel's own.
struct spmv_options {
  std::string kernel = {};  // "" = choose (or what TULLE_KERNEL says); a name from `tulle kernels`
  spmv_policy policy = spmv_policy::standard;
  spmv_effort effort = spmv_effort::standard;
  /// The plan multiplies by A^T: x has rows elements, y has cols. At effort standard and max a CSR of A^T is made once
  /// (a sort of the entries on the plan's backend: 10 to 20 applications on a CPU; as much memory as A, and up to 16
  /// bytes an entry during the sort), which runs at full speed through the same kernels; update_values converts again.
  /// At effort none, where memory does not suffice, and as kernel "csr.transposed", A is read as it is: the CPU adds
  /// private copies of y in a fixed order; CUDA adds by one atomic a nonzero, and its floating-point results are then
  /// not the same bit for bit from run to run.
  bool transpose = false;
  int block_size = 0;    // CUDA: threads a block, a multiple of 32 up to 1024
  int lanes = 0;         // CUDA csr.warp*: lanes a row, 1 to 32, a power of two
  int sigma = 0;         // sell: rows of a sorting window, 1 or a multiple of 32
  int block = 0;         // bsr: rows of a block, 2 to 8
};

namespace detail {
class spmv_plan_impl;
}

/// Everything learnt about y = A x: statistics, the chosen kernel, converted storage and workspace. Made once, applied
/// many times. The plan keeps no copy of a matrix that its kernel can use where it is: A must outlive the plan.
/// A matrix on the host is copied to the device when the context is a CUDA one. One `apply` at a time per plan.
template <scalar T>
class spmv_plan {
 public:
  /// A: rows x cols. Throws INVALID_ARGUMENT (unknown kernel, wrong memory space), UNSUPPORTED (the kernel cannot take
  /// this matrix, with the reason), INVALID_STRUCTURE (offsets or indices), OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY.
  template <offset O>
  spmv_plan(const context& ctx, csr_view<T, O> a, const spmv_options& options = {});
  template <offset O>
  spmv_plan(const context& ctx, const csr<T, O>& a, const spmv_options& options = {})
      : spmv_plan(ctx, a.view(), options) {}
  spmv_plan(spmv_plan&&) noexcept;
  spmv_plan& operator=(spmv_plan&&) noexcept;
  ~spmv_plan();

  /// y = alpha A x + beta y; x has cols elements, y has rows. beta = 0 overwrites y, NaN included. alpha = 0 is no
  /// exception: a NaN or infinity of A x reaches y. x and y must not overlap. Neither allocates nor synchronises.
  /// Throws INVALID_DIMENSIONS, INVALID_ARGUMENT (wrong memory space, overlap), KERNEL_LAUNCH. Error: componentwise at
  /// most gamma(n_i + 2) (|alpha| |A| |x| + |beta| |y|) (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
  /// section 3.1).
  void apply(T alpha, host_span<const T> x, T beta, host_span<T> y);
  void apply(T alpha, device_span<const T> x, T beta, device_span<T> y);
  void apply(T alpha, const buffer<T>& x, T beta, buffer<T>& y);
  /// On another stream of the same device.
  void apply(T alpha, device_span<const T> x, T beta, device_span<T> y, stream_view stream);

  /// Y = alpha A X + beta Y for X.count right-hand sides at once: X has cols rows, Y has rows, both `count` vectors,
  /// each in an order of its own. Any count; 2 to 64 gain most over one at a time, and row_major more than
  /// column_major. The terms of `apply` hold for each vector. Where the plan chose a kernel that takes one vector at a
  /// time, csr.balanced or csr.warp does this on the plan's CSR (the first such call allocates a little host memory).
  /// Throws what `apply` does, INVALID_DIMENSIONS for an ld that is too small, and UNSUPPORTED from a kernel that was
  /// named and takes only one.
  void apply(T alpha, multivector_view<const T> x, T beta, multivector_view<T> y);
  /// On another stream of the same device.
  void apply(T alpha, multivector_view<const T> x, T beta, multivector_view<T> y, stream_view stream);

  /// y = alpha A x + beta y, and in the same pass dots[0] = w . y and dots[1] = y . y of the new y: what conjugate
  /// gradient methods need next (Saad, Iterative Methods for Sparse Linear Systems, 2003, section 6.7). w has rows
  /// elements and may be x; y overlaps none of the others; dots has 2 elements in the memory of x and y. Throws what
  /// `apply` does, and UNSUPPORTED where the kernel has no such pass (those that are chosen by default have it, for f32
  /// and f64).
  void apply_dots(T alpha, host_span<const T> x, T beta, host_span<T> y, host_span<const T> w, host_span<T> dots);
  void apply_dots(T alpha, device_span<const T> x, T beta, device_span<T> y, device_span<const T> w,
                  device_span<T> dots);

  /// One step of the weighted Jacobi method, y = x + omega D^-1 (b - A x), in one pass (Saad, 2003, section 4.1). A is
  /// square (else INVALID_DIMENSIONS), all four vectors have rows elements, inverse_diagonal holds 1 / a_ii, and y
  /// overlaps none of the others. Throws what `apply` does, and UNSUPPORTED as apply_dots.
  void jacobi(T omega, host_span<const T> x, host_span<const T> b, host_span<const T> inverse_diagonal, host_span<T> y);
  void jacobi(T omega, device_span<const T> x, device_span<const T> b, device_span<const T> inverse_diagonal,
              device_span<T> y);

  /// New numbers in the same pattern (nnz of them, in the order of A, on the host or the device). Like A, `values`
  /// must outlive the plan (or the next update_values): the kernel may read them in place, and autotune reads them again.
  void update_values(host_span<const T> values);
  void update_values(device_span<const T> values);

  /// Measures all kernels that suit this matrix, whatever that costs, and keeps the fastest. The winner is remembered
  /// by statistics and device in the user's cache directory (TULLE_CACHE_DIR, or XDG_CACHE_HOME/tulle, or
  /// ~/.cache/tulle).
  void autotune();

  [[nodiscard]] std::string_view kernel() const noexcept;
  /// One sentence: the kernel, and why, with the numbers; then its parameters, the effort and what planning took.
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] spmv_effort effort() const noexcept;
  /// From the constructor's first line to its last, copies to the device included, and autotune.
  [[nodiscard]] double plan_microseconds() const noexcept;
  /// Device or host bytes that the plan owns, converted storage included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Of A, or of A^T when the plan multiplies by that. What the choice of the kernel did not ask for is at its default:
  /// bandwidth, column_window and block_fill, and on CUDA all but rows, cols, nnz, mean, max, skew and, from two and a
  /// half million nonzeros on, gather_sectors, gather_span and (of rows alike in length) a rough block_fill.
  /// `statistics` makes them all.
  [[nodiscard]] const csr_stats& stats() const noexcept;
  /// {elements of y, elements of x}.
  [[nodiscard]] shape dimensions() const noexcept;

 private:
  std::unique_ptr<detail::spmv_plan_impl> impl_;
};

template <scalar T, offset O>
spmv_plan(const context&, csr_view<T, O>) -> spmv_plan<T>;
template <scalar T, offset O>
spmv_plan(const context&, csr_view<T, O>, const spmv_options&) -> spmv_plan<T>;
template <scalar T, offset O>
spmv_plan(const context&, const csr<T, O>&) -> spmv_plan<T>;
template <scalar T, offset O>
spmv_plan(const context&, const csr<T, O>&, const spmv_options&) -> spmv_plan<T>;

/// One-shot y = alpha A x + beta y through the kernel of spmv_effort::none, after one pass that checks the structure of
/// A. Throws what spmv_plan and its apply throw. Waits for the result.
template <scalar T, offset O>
void multiply(const context& ctx, const csr<T, O>& a, const buffer<T>& x, buffer<T>& y, T alpha = 1, T beta = 0);

}  // namespace tulle
