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
        words_(size_of(offset) / sizeof(index_t)),
        first_(first),
        rowptr_(ctx, (static_cast<std::size_t>(rows) + 1) * words_),
        colind_(ctx, static_cast<std::size_t>(first + nnz)),
        values_(ctx, static_cast<std::size_t>(first + nnz)) {}

  /// Of the rows from `row` on, the first of whose entries is `first`.
  csr_sink sink(index_t row, std::int64_t first) {
    const auto offset = words_ == 2 ? offset_type::i64 : offset_type::i32;
    return {offset, first, rowptr_.data() + static_cast<std::size_t>(row) * words_, colind_.data(), values_.data()};
  }
  csr_sink sink() { return sink(0, first_); }

  /// C with offsets from 0.
  [[nodiscard]] plain_csr<T> read() const {
    plain_csr<T> c{rows_, cols_, {}, colind_.values(), values_.values()};
    const std::vector<index_t> words = rowptr_.values();
    c.rowptr.assign(words.begin(), words.end());
    if (words_ == 2) {
      c.rowptr.resize(words.size() / 2);
      std::memcpy(c.rowptr.data(), words.data(), words.size() * sizeof(index_t));
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
  std::size_t words_;  // of an offset
  std::int64_t first_;
  guarded_vector<index_t> rowptr_, colind_;
  guarded_vector<T> values_;
};

}  // namespace tulle::test
