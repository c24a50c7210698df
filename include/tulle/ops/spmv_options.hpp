/// @file
/// What a plan for y = alpha A x + beta y may be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/core/types.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/ops/ordering.hpp>

namespace tulle {

/// How a kernel is chosen when none is named: by all that is known of the matrix, or by the rule of thumb that most
/// libraries stop at.
enum class spmv_policy : std::uint8_t {
  standard,  ///< by all that is known of the matrix
  simple,    ///< by the rule of thumb
};

/// "standard", "simple".
constexpr std::string_view name(spmv_policy p) { return p == spmv_policy::standard ? "standard" : "simple"; }

/// How much work a plan may cost, in applications of the plan it makes:
///   none      about 0: no pass over the matrix, which stays CSR where it is (on a GPU, a host matrix is still copied).
///             Nothing is validated: the caller vouches for offsets and column indices, and broken ones are undefined
///             behaviour. Of the statistics only rows, cols, nnz and mean are known. A kernel that was named gets the
///             statistics (and the narrow offsets) that it needs, if any;
///   standard  about 20: validation, statistics, a converted copy where that pays;
///   max       up to 500 more: kernels that suit the matrix are planned and timed on it and the fastest is kept, unless
///             one was named; where `columns` are told, on CUDA as many again for those. What a kernel's planning may
///             take is estimated first: none is begun that would pass 500. The winner is remembered, as by autotune;
///             where kernels were left out, for plans of this effort alone.
enum class spmv_effort : std::uint8_t {
  none,      ///< about 0 applications
  standard,  ///< about 20
  max,       ///< up to 500 more
};
/// "none", "standard", "max".
constexpr std::string_view name(spmv_effort e) {
  return e == spmv_effort::none ? "none" : e == spmv_effort::standard ? "standard" : "max";
}

/// Whether a plan may put the rows and columns of A into another order inside, so that x is read from fewer places. Calls
/// are as before: an application gathers x into the plan's order first, and rows are stored where the caller has them.
/// See any_spmv_plan::in_own_order.
///   never      no;
///   automatic  at effort max, where rows around one another would touch far fewer sectors of x than rows side by side
///              do: the plan in the other order is made and timed, and the faster of the two is kept. Solvers, whose
///              vectors stay in the plan's order: where the iterations that may be expected repay it;
///   always     yes.
enum class spmv_reorder : std::uint8_t {
  never,      ///< no
  automatic,  ///< where it was measured to pay
  always,     ///< yes
};
/// "never", "auto", "always".
constexpr std::string_view name(spmv_reorder r) {
  return r == spmv_reorder::never ? "never" : r == spmv_reorder::automatic ? "auto" : "always";
}

/// What is promised about the error that storing values in fewer bits brings, for every x; A' is what is stored:
///   componentwise  |A - A'| |x| <= tolerance |A| |x|, row by row: no value loses more than tolerance of itself;
///   row            |A - A'| |x| <= tolerance ||a_i||_1 ||x||_inf in row i;
///   norm           ||A - A'||_inf <= tolerance ||A||_inf (Graillat, Jezequel, Mary, Molina: Adaptive precision sparse
///                  matrix-vector product and its application to Krylov solvers, SISC 46, 2024).
enum class error_bound : std::uint8_t {
  componentwise,  ///< of each value
  row,            ///< of the norm of each row
  norm,           ///< of the matrix's norm
};
/// "componentwise", "row", "norm".
constexpr std::string_view name(error_bound b) {
  return b == error_bound::componentwise ? "componentwise" : b == error_bound::row ? "row" : "norm";
}

/// Lets a plan store values of A in fewer bits than they have, row by row, in the narrowest storage that keeps the promise
/// (f64, f32, and f16 with a power of two where a kernel has that); products and sums stay those of the vectors' type. The result's error is at most that of
/// ops/verify.hpp and what is promised here. 0: every value keeps all its bits, in fewer bytes where that is enough.
struct value_tolerance {
  double tolerance = 0;                            ///< in [0, 1)
  error_bound bound = error_bound::componentwise;  ///< what `tolerance` is a share of
};

/// Lets a plan store values in f32 by their size alone. Nothing is promised: any_spmv_plan::stored() says what was lost. A
/// value qualifies where |a| is below the limit, a row where `percent` of its entries do; kernels that store entry by entry
/// ask for no percentage. What no f32 can hold, |a| > FLT_MAX, forces its row (or entry) to stay f64.
struct magnitude_rule {
  double below = 0;     ///< the limit; 0: it is
  double shrink = 0;    ///< times the mean of |a| over the entries of A. One of the two is to be set
  double percent = 99;  ///< of a row's entries that have to qualify
};

/// Everything has a default; nobody needs to set anything. 0 means: the kernel's own.
struct spmv_options {
  std::string kernel = {};  ///< "" = choose (or what TULLE_KERNEL says, where that is a kernel of y = A x)
  spmv_policy policy = spmv_policy::standard;  ///< how a kernel is chosen where none is named
  spmv_effort effort = spmv_effort::standard;  ///< how much work the plan may cost
  /// The plan multiplies by A^T: x has rows elements, y has cols. At effort standard and max a CSR of A^T is made once
  /// (a sort of the entries on the plan's backend: 10 to 20 applications on a CPU; as much memory as A, and up to 16
  /// bytes per entry during the sort), which runs at full speed through the same kernels; new values cost one gather.
  /// At effort none, where memory does not suffice, and as kernel "csr.transposed", A is read as it is: the CPU adds
  /// private copies of y in a fixed order; CUDA adds by one atomic per nonzero, and its floating-point results are then
  /// not the same bit for bit from run to run.
  bool transpose = false;
  /// The conjugates of A's values: the plan multiplies by conj(A), with `transpose` by A^H. Real values are their own.
  bool conjugate = false;
  spmv_reorder reorder = spmv_reorder::never;  ///< whether the plan may keep rows and columns in another order
  /// The order that `reorder` is about, of rows and columns alike. None: reverse Cuthill-McKee; where A is not square of
  /// the graph of its rows and columns, and no other order is taken there. Where A comes in blocks, or its entries fill
  /// blocks, those stay together, unless the order is the caller's own. Not to be set where `reorder` is never.
  order_choice reorder_method = {};
  /// Of x and y, where it is not that of A's values. UNSUPPORTED where no kernel has the combination.
  std::optional<scalar_type> vector_type = {};
  /// Of f64 values, by kernels that listen to it.
  value_tolerance values = {};
  /// The same by size, in place of a promise; not both.
  std::optional<magnitude_rule> value_rule = {};
  /// Stores f64 values as a high and a low word of 32 bits, in an array each, so that any_spmv_plan::high_words() reads
  /// half of their bytes; values that fewer bytes hold stay in fewer. The plan's own results keep their bits, of its
  /// kernel; the kernel is one that does this. Not with `values` or `value_rule`; UNSUPPORTED where no kernel has it,
  /// and at effort none.
  bool high_words = false;
  /// Right-hand sides that apply_many will be given at once, and how they lie; any other number and order works too. 0: not
  /// known. CUDA: what takes them is chosen for so many, at effort max by measuring, and may store the matrix once more for
  /// them; not at effort none. Column-major ones cost memory for as many vectors, at most 512 bytes a row and a column, in
  /// which X, and Y where it is large, are turned into row-major order. Where nothing is told, X has such room, if it pays: for 8
  /// vectors at most as much as the matrix, for more at most half as much, but always up to 8 MB and up to 1/2048 of the
  /// device's memory; Y as much again where it pays. None at effort none, nor with 1.
  index_t columns = 0;
  vector_order columns_order = vector_order::row_major;  ///< how the `columns` lie
  int block_size = 0;                                    ///< CUDA: threads per block, a multiple of 32 up to 1024
  int lanes = 0;                                         ///< CUDA csr.warp*: lanes per row, 1 to 32, a power of two
  int sigma = 0;                                         ///< sell: rows of a sorting window, 1 or a multiple of 32
  int block = 0;                                         ///< bsr: rows of a block, 2 to 8
};

}  // namespace tulle
