// The block size that suits a matrix best and the storage of blocks, for every kernel that takes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/stats.hpp>

#include "kernels/bin_bsr.hpp"
#include "kernels/spmv.hpp"

namespace tulle {

/// Bytes per nonzero in blocks of `block`: values, one index and (where blocks are not full) one mask per block, as
/// narrow as bin_bsr.compact has it.
inline double bsr_bytes_per_nonzero(const csr_stats& s, index_t block, std::size_t value_size) {
  const double fill = std::max(s.block_fill[static_cast<std::size_t>(block)], 1e-9);
  const double area = static_cast<double>(block) * block;
  return (area * static_cast<double>(value_size) + (fill < 1 ? 4 + compact_mask_bytes(block) : 4)) / (area * fill);
}

/// The block (2 to 8) with the fewest bytes per nonzero.
inline index_t best_bsr_block(const csr_stats& s, std::size_t value_size) {
  index_t best = 2;
  for (index_t b = 3; b <= 8; ++b) {
    if (bsr_bytes_per_nonzero(s, b, value_size) < bsr_bytes_per_nonzero(s, best, value_size)) best = b;
  }
  return best;
}

/// The blocks that an operator reads: those of a BSR where they are, or those of a CSR in a copy of its own.
template <class T, class O>
class bsr_storage {
 public:
  bsr_storage(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o) : ctx_(ctx) {
    if (a.format == matrix_format::csr) {
      owned_ = to_bsr(ctx, a.as<T, O>(), o.block > 0 ? o.block : best_bsr_block(s, sizeof(T)));
    }
    view_ = a.format == matrix_format::csr ? owned_.view() : a.as_bsr<T, O>();
  }
  void update_values(const matrix_ref& a) {
    if (a.format == matrix_format::bsr) {
      view_.values = static_cast<const T*>(a.values);
    } else {
      tulle::update_values(ctx_, a.as<T, O>(), owned_);
    }
  }
  [[nodiscard]] const bsr_view<T, O>& view() const noexcept { return view_; }
  /// Bytes of the arrays.
  [[nodiscard]] std::size_t bytes() const noexcept {
    const auto blocks = static_cast<std::size_t>(view_.blocks);
    const auto area = static_cast<std::size_t>(view_.block) * view_.block;
    return (static_cast<std::size_t>(view_.block_rows) + 1) * sizeof(O) +
           blocks * (sizeof(index_t) + area * sizeof(T)) + mask_bytes();
  }
  [[nodiscard]] std::size_t mask_bytes() const noexcept {
    return view_.mask != nullptr ? static_cast<std::size_t>(view_.blocks) * sizeof(std::uint64_t) : 0;
  }
  [[nodiscard]] std::size_t owned_bytes() const noexcept { return owned_.values.empty() ? 0 : bytes(); }

 private:
  context ctx_;
  bsr<T, O> owned_;  // empty where the blocks are the caller's
  bsr_view<T, O> view_;
};

/// A make that builds Operator<T, O>(ctx, matrix, stats, options) for a CSR or a BSR.
template <template <class, class> class Operator, type_set Set>
std::unique_ptr<spmv_operator> make_block_operator(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                   const spmv_options& options) {
  return dispatch<Set>(a.types, [&]<class T, class O>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<Operator<T, O>>(ctx, a, stats, options);
  });
}

}  // namespace tulle
