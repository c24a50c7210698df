// Y = alpha A X + beta Y for several right-hand sides, from a CSR read in place: what the csr.* kernels share.
#pragma once

#include <cstddef>
#include <tulle/formats/views.hpp>
#include <vector>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Vectors that are multiplied in one pass over the matrix, at most.
inline constexpr int many_width = 16;

/// The share of one thread: rows [first, last) end in it, entries [begin, end) belong to it. Its first row may have
/// begun in an earlier part (`continues`): the sums of what lies here are in `head`; those of the row that goes on, in
/// `tail`.
template <scalar T>
struct alignas(64) many_part {
  index_t first = 0;
  index_t last = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool continues = false;
  sum_of<T> head[many_width] = {};
  sum_of<T> tail[many_width] = {};
};

/// Method: as csr.balanced, with 16, 8, 4, 2 or 1 vectors in registers for each pass over the matrix (8 to 1 when x is
/// column-major). A row-major x is read in runs of that many values, by vector instructions.
/// Bytes a nonzero and pass: sizeof(T) + 4; and per vector, row and column one value. The sums have a fixed order.
template <scalar T, offset O>
class csr_many {
 public:
  csr_many(csr_view<T, O> a, int threads);
  /// `a` has the pattern given to the constructor. Allocates nothing.
  void run(csr_view<T, O> a, double alpha, const multivector_ref& x, double beta, const multivector_ref& y);
  [[nodiscard]] std::size_t bytes() const noexcept { return parts_.size() * sizeof(many_part<T>); }

 private:
  std::vector<many_part<T>> parts_;
  isa isa_ = best_isa();
};

}  // namespace tulle::cpu
