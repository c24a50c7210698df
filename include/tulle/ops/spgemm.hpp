// C = alpha A B + beta D, sorted, deterministic, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <tulle/core/context.hpp>
#include <tulle/core/span.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// A CSR whose offsets are 32-bit where its nonzeros fit, 64-bit beyond.
template <scalar T>
using any_csr = std::variant<csr<T, std::int32_t>, csr<T, std::int64_t>>;

/// The same matrix with 64-bit offsets, whatever it came with.
template <scalar T>
csr<T, std::int64_t> widen(const context& ctx, any_csr<T>&& a);

/// Everything has a default; nobody needs to set anything.
struct spgemm_options {
  std::string kernel = {};   // "" = choose (or what TULLE_KERNEL says, unless it names a kernel of y = A x)
  bool transpose_a = false;  // A^T B; A^T is made once, by a sort of the entries
  bool transpose_b = false;  // A B^T
  /// The most bytes that the product may hold at any time beyond its operands and C; 0: no limit. Copies of operands
  /// are not counted: on the device, transposed, sorted, with offsets of another width, with D joined to them. Where the
  /// whole would pass it, C is made by panels of rows, halved until they fit; the result is the same bit for bit. A
  /// limit that one row passes throws OUT_OF_MEMORY (DEVICE_OUT_OF_MEMORY on a GPU) then, saying what that row needed.
  std::size_t memory_limit = 0;
  index_t tile_size = 0;     // kernel0: columns of an accumulator; 0: its own choice
};

/// Further operands of C = M o (alpha A B) + beta D.
template <scalar T, offset O>
struct spgemm_terms {
  /// Only the entries of alpha A B that are in the pattern of M; the values of M are not read.
  std::optional<csr_view<T, O>> mask = {};
  /// Not masked. C has its entries as well. Joined to the product as [alpha A | I] [B ; beta D], for which A, B and D
  /// are copied; with a mask, M o (alpha A B) is made first and held beside C. Not read where beta = 0, NaN included.
  std::optional<csr_view<T, O>> d = {};
};

/// What a product will take, before it is made.
struct spgemm_estimate {
  std::int64_t products = 0;         // multiplications a_ik b_kj
  std::int64_t nnz_bound = 0;        // nnz(C) is at most this
  std::int64_t nnz = 0;              // and about this, from rows that were counted
  std::size_t c_bytes_bound = 0;     // C takes at most this
};

namespace detail {
class spgemm_plan_impl;
}

/// Everything learnt about C = M o (alpha A B) + beta D: made once, for as many sets of numbers as wanted. A, B, M and
/// D must outlive the plan; the plan copies what lies on the host when the context is a CUDA one, and then does not
/// look at it again. Sums of i32 values are taken modulo
/// 2^32. One call at a time per plan.
template <scalar T>
class spgemm_plan {
 public:
  /// A: rows x inner, B: inner x cols, M and D: rows x cols (after transposition); rows in any order, duplicates add up
  /// (B, M and D are sorted in a copy where they need it). Throws INVALID_DIMENSIONS, INVALID_ARGUMENT (unknown kernel,
  /// wrong memory space), UNSUPPORTED, INVALID_STRUCTURE, OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY, and OVERFLOW where
  /// inner + rows does not fit 31 bits and there is a D.
  template <offset O>
  spgemm_plan(const context& ctx, csr_view<T, O> a, csr_view<T, O> b, const spgemm_options& options = {},
              const spgemm_terms<T, O>& terms = {});
  spgemm_plan(spgemm_plan&&) noexcept;
  spgemm_plan& operator=(spgemm_plan&&) noexcept;
  ~spgemm_plan();

  /// Counts the entries of C, once; the other functions call it where it was not. Waits for the result.
  void symbolic();
  /// nnz(C), once symbolic has run.
  [[nodiscard]] std::int64_t nnz() const noexcept;
  /// A new C. Its entries: every (i, j) for which a product a_ik b_kj (in M) or an entry of D is stored, also where the
  /// sum is 0; columns in order. Error: componentwise at most gamma(n + 2) (|alpha| |A| |B| + |beta| |D|), n the terms
  /// of the entry. NaN and infinities of stored entries propagate. Throws what the constructor throws.
  /// beta without a D is an INVALID_ARGUMENT. On a GPU the work may still be going on, in the order of the stream.
  any_csr<T> multiply(T alpha = 1, T beta = 0);
  /// The values of a C that this plan made, anew from the present values of A, B and D. No symbolic work, no
  /// allocation, no synchronisation (without memory_limit and for the kernels that choose_spgemm picks); can be
  /// captured in a CUDA graph. Throws INVALID_DIMENSIONS and INVALID_ARGUMENT for a C that multiply cannot have made; its
  /// columns are trusted to be the plan's.
  void numeric(any_csr<T>& c, T alpha = 1, T beta = 0);
  /// Other numbers in the same patterns (in the order of A, B, D; in the memory space of the context). They must
  /// outlive the plan or the next update. A null d keeps the D there is. `numeric` is what to call next: `multiply`
  /// would count the entries of C again.
  void update_values(const T* a, const T* b, const T* d = nullptr);

  [[nodiscard]] std::string_view kernel() const noexcept;
  /// One sentence: the kernel, and why.
  [[nodiscard]] std::string explain() const;
  /// Multiplications a_ik b_kj.
  [[nodiscard]] std::int64_t products();
  /// Bytes that the plan owns now, copies of operands included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  [[nodiscard]] shape dimensions() const noexcept;

 private:
  std::unique_ptr<detail::spgemm_plan_impl> impl_;
};

/// C = A B. Throws what spgemm_plan throws. Waits for the result, as all that follow.
template <scalar T, offset O>
any_csr<T> spgemm(const context& ctx, const csr<T, O>& a, const csr<T, O>& b, const spgemm_options& options = {});
/// C = M o (A B).
template <scalar T, offset O>
any_csr<T> spgemm_masked(const context& ctx, const csr<T, O>& a, const csr<T, O>& b, const csr<T, O>& mask,
                         const spgemm_options& options = {});
/// C = A B as coordinates, sorted by row, then column. Made from a CSR of C, which is held beside it for a while.
template <scalar T, offset O>
coo<T> spgemm_coo(const context& ctx, const csr<T, O>& a, const csr<T, O>& b, const spgemm_options& options = {});
/// R A P by panels of rows of R, so that neither R A nor A P ever exists whole: the Galerkin product of algebraic
/// multigrid. A panel of R A takes at most 64 MB (one row of it, what it takes). Several panels are put into a C that
/// grows, of which up to two copies are held; under a memory_limit (R A's panel included) every panel is made twice
/// instead, to count first. The options' transposes must be off.
template <scalar T, offset O>
any_csr<T> triple_product(const context& ctx, csr_view<T, O> r, csr_view<T, O> a, csr_view<T, O> p,
                          const spgemm_options& options = {});
template <scalar T, offset O>
any_csr<T> triple_product(const context& ctx, const csr<T, O>& r, const csr<T, O>& a, const csr<T, O>& p,
                          const spgemm_options& options = {}) {
  return triple_product(ctx, r.view(), a.view(), p.view(), options);
}
/// Bounds and an estimate of C = A B. Costs a pass over A and the exact count of about a thousand rows.
template <scalar T, offset O>
spgemm_estimate estimate_spgemm(const context& ctx, csr_view<T, O> a, csr_view<T, O> b,
                                const spgemm_options& options = {});
template <scalar T, offset O>
spgemm_estimate estimate_spgemm(const context& ctx, const csr<T, O>& a, const csr<T, O>& b,
                                const spgemm_options& options = {}) {
  return estimate_spgemm(ctx, a.view(), b.view(), options);
}

}  // namespace tulle
