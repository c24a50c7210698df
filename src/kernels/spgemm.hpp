// The contract between C = alpha A B and the backends: what a kernel is given, what it returns, and how it is listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/matrix.hpp"
#include "kernels/spmv.hpp"
#include "kernels/types.hpp"

namespace tulle {

/// What differs from one set of numbers to the next; the arrays are in the order of the patterns of A and B.
struct spgemm_values {
  double alpha = 1;
  const void* a = nullptr;
  const void* b = nullptr;

  bool operator==(const spgemm_values&) const = default;
};

/// A B, or the entries of it that a mask names. All matrices have the same types, are sound and lie in the backend's
/// memory. Sums of i32 values are taken modulo 2^32. The rows of B and of the mask are strictly increasing; those of A
/// may be in any order and may hold duplicates.
struct spgemm_problem {
  matrix_ref a;  // rows x inner; a panel of a larger matrix has its own nnz, and a rowptr that does not begin at 0
  matrix_ref b;  // inner x cols
  std::optional<matrix_ref> mask = {};  // rows x cols; its values are not read. As A, it may be a panel
  index_t tile_size = 0;                // kernel0: columns of an accumulator; 0: its own choice

  [[nodiscard]] spgemm_values values(double alpha = 1) const noexcept { return {alpha, a.values, b.values}; }
};

/// Sizes that bounds depend on. A product is one multiplication a_ik b_kj.
struct spgemm_work {
  std::int64_t products = 0;
  std::int64_t nnz_bound = 0;  // sum over the rows of min(products, cols); with a mask at most nnz(mask)
};

/// Where C goes. rowptr points at the rows + 1 offsets of this panel, the first of which is `first`; colind and values
/// are those of the whole C, so that row i is at rowptr[i] .. rowptr[i + 1] - 1 of them. The offset type need not be
/// that of the operands.
struct csr_sink {
  offset_type offset = offset_type::i32;
  std::int64_t first = 0;
  void* rowptr = nullptr;
  index_t* colind = nullptr;
  void* values = nullptr;
};

/// Counts of the operands' patterns (kernels/matrix.hpp), in the backend's memory: kernels may read them before the
/// host does. The check passes where no pattern has a defect and B's has no descent.
struct operand_check {
  const pattern_counts* counts = nullptr;
  int size = 0;
  int of_b = 0;  // which of them is B's
};

/// C with sorted rows, the same bits in every run. Every product's entry is in the pattern, also where it cancels.
class spgemm_operator {
 public:
  spgemm_operator() = default;
  spgemm_operator(const spgemm_operator&) = delete;
  spgemm_operator& operator=(const spgemm_operator&) = delete;
  virtual ~spgemm_operator() = default;

  /// Enqueues what `symbolic` can do before the host knows the check's result. If the check fails, what was enqueued
  /// reads nothing out of bounds, and the operator must not be used further. Optional, before symbolic; may allocate.
  virtual void begin(const operand_check&) {}
  /// nnz(C). May allocate and synchronise. Once, before the others.
  virtual std::int64_t symbolic() = 0;
  /// Offsets, columns and values. May allocate. c.offset is i64 where i32 does not hold c.first + nnz.
  virtual void fill(const spgemm_values& values, const csr_sink& c) = 0;
  /// The values alone, into a C that `fill` has written, whose columns it may read. No symbolic work, no allocation, no
  /// synchronisation.
  virtual void numeric(const spgemm_values& values, const csr_sink& c) = 0;
  /// Bytes that the operator owns now.
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
};

/// One line of the kernel table. The operator may borrow the arrays of the problem until it is destroyed.
struct spgemm_kernel {
  std::string_view name;
  std::string_view summary;
  backend_kind backend;
  type_set types;
  kernel_role role;
  bool takes_mask;
  support (*supports)(const spgemm_problem&, const device_info&);
  std::unique_ptr<spgemm_operator> (*make)(const context&, const spgemm_problem&);
  /// Whether `make` reads no arrays and the operator's `begin` has something to enqueue.
  bool begins_early = false;
};

/// For kernels that take every problem of their types; masks go with those of type_set::all.
inline support supports_every(const spgemm_problem& p, const device_info&) {
  if (!p.mask || !is_further(p.a.types.value)) return {};
  return {false, "it takes no mask with " + std::string(name(p.a.types.value)) + " values"};
}

/// `make` of a kernel whose operators are Operator<T, O>, for all types.
template <template <scalar, offset> class Operator>
std::unique_ptr<spgemm_operator> make_operator(const context& ctx, const spgemm_problem& p) {
  return dispatch<type_set::all>(p.a.types, [&]<class T, class O>() -> std::unique_ptr<spgemm_operator> {
    return std::make_unique<Operator<T, O>>(ctx, p);
  });
}

}  // namespace tulle
