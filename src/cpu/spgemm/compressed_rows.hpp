// The pattern of B as words of 64 columns: what counting reads in place of columns where neighbours share words.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "cpu/parallel.hpp"
#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "kernels/spgemm.hpp"

namespace tulle::cpu {

/// Row r: words offsets[r] .. offsets[r + 1] - 1, whose columns are 64 index + the bits that are set.
class compressed_rows {
 public:
  compressed_rows() = default;

  /// Words of B; none where they would hold fewer than `least` columns on average.
  template <scalar T, offset O>
  static compressed_rows of(const context& ctx, csr_view<T, O> b, double least) {
    compressed_rows made;
    made.offsets_ = buffer<std::int64_t>(ctx, static_cast<std::size_t>(b.rows) + 1);
    std::int64_t* offsets = made.offsets_.data();
#pragma omp parallel for num_threads(ctx.threads()) \
    schedule(static) if (row_schedule::worth_sharing(b))
    for (index_t r = 0; r < b.rows; ++r) offsets[r + 1] = count_column_groups<6>(b, r);
    scan_counts(ctx.threads(), offsets, b.rows);
    if (least * static_cast<double>(offsets[b.rows]) > static_cast<double>(b.nnz)) return {};
    made.indices_ = buffer<index_t>(ctx, static_cast<std::size_t>(offsets[b.rows]));
    made.bits_ = buffer<std::uint64_t>(ctx, made.indices_.size());
#pragma omp parallel for num_threads(ctx.threads()) \
    schedule(static) if (row_schedule::worth_sharing(b))
    for (index_t r = 0; r < b.rows; ++r) made.pack(b, r, offsets[r]);
    return made;
  }

  [[nodiscard]] bool empty() const { return offsets_.empty(); }
  [[nodiscard]] const std::int64_t* offsets() const { return offsets_.data(); }
  [[nodiscard]] const index_t* indices() const { return indices_.data(); }
  [[nodiscard]] const std::uint64_t* bits() const { return bits_.data(); }
  [[nodiscard]] std::size_t bytes() const { return offsets_.bytes() + indices_.bytes() + bits_.bytes(); }
  static std::size_t bound(index_t rows, std::int64_t nnz) {
    return (static_cast<std::size_t>(rows) + 1) * sizeof(std::int64_t) +
           static_cast<std::size_t>(nnz) * (sizeof(index_t) + sizeof(std::uint64_t));
  }

 private:
  template <scalar T, offset O>
  void pack(csr_view<T, O> b, index_t r, std::int64_t at) {
    for (O l = b.rowptr[r], end = b.rowptr[r + 1]; l < end; ++at) {
      const index_t word = b.colind[l] >> 6;
      std::uint64_t bits = 0;
      for (; l < end && b.colind[l] >> 6 == word; ++l) bits |= std::uint64_t{1} << (b.colind[l] & 63);
      indices_.data()[at] = word;
      bits_.data()[at] = bits;
    }
  }

  buffer<std::int64_t> offsets_;  // rows + 1; none: not made
  buffer<index_t> indices_;
  buffer<std::uint64_t> bits_;
};

}  // namespace tulle::cpu
