// The arrays of a C in a context's memory, between bytes that nobody may write.
#pragma once

#include "kernels/spgemm.hpp"
#include "support/guarded_vector.hpp"
#include "support/plain_csr.hpp"

namespace tulle::test {

/// Room for rows whose first entry is at `first` of the whole C.
template <scalar T>
class sink_memory {
 public:
  sink_memory(const context& ctx, index_t rows, index_t cols, std::int64_t nnz, offset_type offset,
              std::int64_t first = 0)
      : rows_(rows),
        cols_(cols),
        offset_(offset),
        first_(first),
        rowptr_(ctx, ((static_cast<std::size_t>(rows) + 1) * size_of(offset) + 7) / 8),
        colind_(ctx, static_cast<std::size_t>(first + nnz)),
        values_(ctx, static_cast<std::size_t>(first + nnz)) {}

  /// Of the rows from `row` on, the first of whose entries is `first`.
  csr_sink sink(index_t row, std::int64_t first) {
    auto* const rowptr = reinterpret_cast<std::byte*>(rowptr_.data()) + static_cast<std::size_t>(row) * size_of(offset_);
    return {offset_, first, rowptr, colind_.data(), values_.data()};
  }
  csr_sink sink() { return sink(0, first_); }

  /// C with offsets from 0.
  [[nodiscard]] plain_csr<T> read() const {
    plain_csr<T> c{rows_, cols_, {}, colind_.values(), values_.values()};
    const std::vector<double> bytes = rowptr_.values();
    for (std::size_t i = 0; i <= static_cast<std::size_t>(rows_); ++i) {
      const auto* at = reinterpret_cast<const std::byte*>(bytes.data()) + i * size_of(offset_);
      std::int64_t wide = 0;
      std::int32_t narrow = 0;
      std::memcpy(offset_ == offset_type::i64 ? static_cast<void*>(&wide) : &narrow, at, size_of(offset_));
      c.rowptr.push_back(offset_ == offset_type::i64 ? wide : narrow);
    }
    for (std::int64_t& offset : c.rowptr) offset -= first_;
    c.colind.erase(c.colind.begin(), c.colind.begin() + first_);
    c.values.erase(c.values.begin(), c.values.begin() + first_);
    return c;
  }
  [[nodiscard]] bool guards_intact() const {
    const auto before = static_cast<std::size_t>(first_);
    return rowptr_.guards_intact() && colind_.guards_intact(before) && values_.guards_intact(before);
  }

 private:
  index_t rows_, cols_;
  offset_type offset_;
  std::int64_t first_;
  guarded_vector<double> rowptr_;  // bytes, aligned for offsets of either width
  guarded_vector<index_t> colind_;
  guarded_vector<T> values_;
};

}  // namespace tulle::test
