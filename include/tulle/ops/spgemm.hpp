/// @file
/// C = M o (alpha A B) + beta D, sorted, deterministic, in bounded memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle {

/// Everything has a default; nobody needs to set anything.
struct spgemm_options {
  std::string kernel = {};   ///< "" = choose (or what TULLE_KERNEL says, unless it names a kernel of y = A x)
  bool transpose_a = false;  ///< A^T B; A^T is made once, by a sort of the entries
  bool transpose_b = false;  ///< A B^T
  /// The most bytes that the product may hold at any time beyond its operands and C; 0: no limit. Copies of operands
  /// are not counted: on the device, transposed, sorted, with offsets of another width, and with a D the product that it is added to. Where the
  /// whole would pass it, C is made by panels of rows, halved until they fit; the result is the same bit for bit. A
  /// limit that one row passes throws OUT_OF_MEMORY (DEVICE_OUT_OF_MEMORY on a GPU) then, saying what that row needed.
  std::size_t memory_limit = 0;
  /// Drop the entries of C that are 0, as those that cancel are. C keeps them otherwise, since a pattern that depends on
  /// numbers cannot be filled anew: `numeric` is refused with this.
  bool eliminate_zeros = false;
  index_t tile_size = 0;  ///< kernel0: columns of an accumulator; 0: its own choice
};

/// Further operands of C = M o (alpha A B) + beta D.
struct spgemm_terms {
  /// Only the entries of alpha A B that are in the pattern of M; the values of M are not read.
  std::optional<matrix_ref> mask = {};
  /// Not masked. C has its entries as well. M o (alpha A B) is made first and held beside C. Not read where beta = 0, NaN
  /// included.
  std::optional<matrix_ref> d = {};
};

/// What a product will take, before it is made.
struct spgemm_estimate {
  std::int64_t products = 0;      ///< multiplications a_ik b_kj
  std::int64_t nnz_bound = 0;     ///< nnz(C) is at most this
  std::int64_t nnz = 0;           ///< and about this, from rows that were counted
  std::size_t c_bytes_bound = 0;  ///< C takes at most this
};

/// Arrays of the caller that a C is written to, in the plan's memory: rows + 1 offsets, nnz columns, nnz values.
struct csr_arrays {
  offset_type offset = offset_type::i64;  ///< of rowptr
  void* rowptr = nullptr;                 ///< rows + 1 of that type
  index_t* colind = nullptr;              ///< nnz
  void* values = nullptr;                 ///< nnz of the matrices' type
};

namespace detail {
struct spgemm_plan_impl;
}

/// Everything learnt about C = M o (alpha A B) + beta D: made once, for as many sets of numbers as wanted. The value type
/// is that of the matrices; spgemm_plan<T> below knows it at compile time. Sums of i32 values are taken modulo 2^32.
///
/// Lifetime and values: as in any_spmv_plan. What lies on the host is copied where the context is a CUDA one. One call at
/// a time per plan.
class any_spgemm_plan {
 public:
  /// A: rows x inner, B: inner x cols, M and D: rows x cols (after transposition), of any format, all of one value type;
  /// rows in any order, duplicates add up (B, M and D are sorted in a copy where they need it). Throws INVALID_DIMENSIONS,
  /// INVALID_ARGUMENT (unknown kernel, wrong memory space or types), UNSUPPORTED, INVALID_STRUCTURE, OUT_OF_MEMORY,
  /// DEVICE_OUT_OF_MEMORY.
  any_spgemm_plan(const context& ctx, const matrix_ref& a, const matrix_ref& b, const spgemm_options& options = {},
                  const spgemm_terms& terms = {});
  /// Takes the plan over; `other` may only be destroyed or assigned to.
  any_spgemm_plan(any_spgemm_plan&&) noexcept;
  /// Takes the plan over.
  any_spgemm_plan& operator=(any_spgemm_plan&&) noexcept;
  ~any_spgemm_plan();

  /// Counts the entries of C, once; the other functions call it where it was not. Waits for the result.
  void symbolic();
  /// nnz(C), once symbolic has run.
  [[nodiscard]] std::int64_t nnz() const noexcept;
  /// A new CSR, which owns its arrays: offsets are 32-bit where its entries fit. Its entries: every (i, j) for which a
  /// product a_ik b_kj (in M) or an entry of D is stored, also where the sum is 0; columns in order. Error: componentwise
  /// at most gamma(n + 2) (|alpha| |A| |B| + |beta| |D|), n the terms of the entry. NaN and infinities of stored entries
  /// propagate. Throws what the constructor throws. beta without a D is an INVALID_ARGUMENT. On a GPU the work may still
  /// be going on, in the order of the stream.
  matrix_ref multiply(double alpha = 1, double beta = 0);
  /// The same into arrays of the caller, once `symbolic` has said how long they must be. Throws OVERFLOW where 32-bit
  /// offsets do not hold nnz.
  void multiply_into(const csr_arrays& c, double alpha = 1, double beta = 0);
  /// The values of a C that this plan made, anew from the present values of A, B and D. No symbolic work, no
  /// allocation, no synchronisation (without memory_limit and for the kernels that choose_spgemm picks); can be
  /// captured in a CUDA graph. Throws INVALID_DIMENSIONS and INVALID_ARGUMENT for a C that multiply cannot have made; its
  /// columns are trusted to be the plan's.
  void numeric(const matrix_ref& c, double alpha = 1, double beta = 0);
  /// Other numbers in the same patterns, in the order of A, B and D, in the memory of the context, lent as in
  /// any_spmv_plan::update_values. Without a d, that of before stays. `numeric` is what to call next; `multiply` makes
  /// another C.
  template <class A, class B>
  void update_values(A&& a, B&& b) {
    read_values(lent(std::forward<A>(a)), lent(std::forward<B>(b)), {});
  }
  /// The same with other numbers of D too.
  template <class A, class B, class D>
  void update_values(A&& a, B&& b, D&& d) {
    read_values(lent(std::forward<A>(a)), lent(std::forward<B>(b)), lent(std::forward<D>(d)));
  }

  /// The kernel's name.
  [[nodiscard]] std::string_view kernel() const noexcept;
  /// One sentence: the kernel, and why.
  [[nodiscard]] std::string explain() const;
  /// Multiplications a_ik b_kj.
  [[nodiscard]] std::int64_t products();
  /// Bytes that the plan owns now, copies of operands included.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Of C.
  [[nodiscard]] shape dimensions() const noexcept;
  /// Where it runs.
  [[nodiscard]] const context& ctx() const noexcept;

 private:
  void read_values(const const_vector_ref& a, const const_vector_ref& b, const std::optional<const_vector_ref>& d);

  std::unique_ptr<detail::spgemm_plan_impl> impl_;
};

/// A plan for values of type T: the same, checked at compile time.
template <scalar T>
class spgemm_plan : public any_spgemm_plan {
 public:
  /// Views, which must outlive the plan.
  template <offset P, offset Q>
  spgemm_plan(const context& ctx, csr_view<T, P> a, csr_view<T, Q> b, const spgemm_options& options = {},
              const spgemm_terms& terms = {})
      : any_spgemm_plan(ctx, a, b, options, terms) {}
  /// Owning matrices of any format: borrowed from lvalues, owned where they are given away.
  template <detail::owning_matrix A, detail::owning_matrix B>
    requires std::same_as<detail::value_of<A>, T> && std::same_as<detail::value_of<B>, T>
  spgemm_plan(const context& ctx, A&& a, B&& b, const spgemm_options& options = {}, const spgemm_terms& terms = {})
      : any_spgemm_plan(ctx, matrix_ref(std::forward<A>(a)), matrix_ref(std::forward<B>(b)), options, terms) {}
};

/// Deduces T from the matrices.
template <scalar T, offset P, offset Q, class... More>
spgemm_plan(const context&, csr_view<T, P>, csr_view<T, Q>, const More&...) -> spgemm_plan<T>;
/// Deduces T from the matrices.
template <detail::owning_matrix A, detail::owning_matrix B, class... More>
spgemm_plan(const context&, A&&, B&&, const More&...) -> spgemm_plan<detail::value_of<A>>;

/// C = A B, as a CSR that owns its arrays. Throws what a plan throws. Waits for the result, as all that follow.
matrix_ref spgemm(const context& ctx, const matrix_ref& a, const matrix_ref& b, const spgemm_options& options = {});
/// C = M o (A B).
matrix_ref spgemm_masked(const context& ctx, const matrix_ref& a, const matrix_ref& b, const matrix_ref& mask,
                         const spgemm_options& options = {});
/// R A P by panels of rows of R, so that neither R A nor A P ever exists whole: the Galerkin product of algebraic
/// multigrid. A panel of R A takes at most 64 MB (one row of it, what it takes). Several panels are put into a C that
/// grows, of which up to two copies are held; under a memory_limit (R A's panel included) every panel is made twice
/// instead, to count first. The options' transposes must be off.
matrix_ref triple_product(const context& ctx, const matrix_ref& r, const matrix_ref& a, const matrix_ref& p,
                          const spgemm_options& options = {});
/// Bounds and an estimate of C = A B. Costs a pass over A and the exact count of about a thousand rows.
spgemm_estimate estimate_spgemm(const context& ctx, const matrix_ref& a, const matrix_ref& b,
                                const spgemm_options& options = {});

}  // namespace tulle
