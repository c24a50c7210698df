// The arrays of a C in a context's memory, between bytes that nobody may write.
#pragma once

#include <algorithm>
#include <cstring>
#include <tulle/core/buffer.hpp>
#include <vector>

#include "kernels/spgemm.hpp"

namespace tulle::test {

/// `count` elements of `size` bytes, every byte 0xff (-1, NaN) before it is written.
class guarded_array {
 public:
  guarded_array(const context& ctx, std::size_t count, std::size_t size)
      : ctx_(ctx), begin_(guard * size), bytes_(count * size), memory_(ctx, bytes_ + 2 * begin_) {
    fill_bytes(ctx, memory_.data(), ctx.space(), 0xff, memory_.bytes());
  }
  [[nodiscard]] void* data() { return memory_.data() + begin_; }
  template <class T>
  [[nodiscard]] std::vector<T> elements() const {
    std::vector<T> out(bytes_ / sizeof(T));
    copy_bytes(ctx_, out.data(), memory_space::host, memory_.data() + begin_, ctx_.space(), bytes_);
    return out;
  }
  /// Whether nothing was written before element `first` (in bytes) and behind the last.
  [[nodiscard]] bool intact(std::size_t first = 0) const {
    const std::vector<std::byte> all = to_vector(ctx_, memory_);
    const auto untouched = [](std::byte b) { return b == std::byte{0xff}; };
    const auto at = [&](std::size_t k) { return all.begin() + static_cast<std::ptrdiff_t>(k); };
    return std::all_of(at(0), at(begin_ + first), untouched) && std::all_of(at(begin_ + bytes_), all.end(), untouched);
  }

 private:
  static constexpr std::size_t guard = 65;  // elements

  context ctx_;
  std::size_t begin_;
  std::size_t bytes_;
  buffer<std::byte> memory_;
};

/// A C read back.
template <scalar T>
struct host_product {
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colind;
  std::vector<T> values;

  friend bool operator==(const host_product& x, const host_product& y) {
    return x.rowptr == y.rowptr && x.colind == y.colind && x.values.size() == y.values.size() &&
           (x.values.empty() || std::memcmp(x.values.data(), y.values.data(), x.values.size() * sizeof(T)) == 0);
  }
};

/// Room for rows whose first entry is at `first` of the whole C.
template <scalar T>
class sink_memory {
 public:
  sink_memory(const context& ctx, index_t rows, std::int64_t nnz, offset_type offset, std::int64_t first = 0)
      : offset_(offset),
        first_(first),
        rowptr_(ctx, static_cast<std::size_t>(rows) + 1, size_of(offset)),
        colind_(ctx, static_cast<std::size_t>(first + nnz), sizeof(index_t)),
        values_(ctx, static_cast<std::size_t>(first + nnz), sizeof(T)) {}

  /// Of the rows from `row` on, the first of whose entries is `first`.
  csr_sink sink(index_t row, std::int64_t first) {
    auto* rowptr = static_cast<std::byte*>(rowptr_.data()) + static_cast<std::size_t>(row) * size_of(offset_);
    return {offset_, first, rowptr, static_cast<index_t*>(colind_.data()), static_cast<T*>(values_.data())};
  }
  csr_sink sink() { return sink(0, first_); }

  /// With offsets from 0.
  [[nodiscard]] host_product<T> read() const {
    host_product<T> c;
    if (offset_ == offset_type::i64) {
      c.rowptr = rowptr_.elements<std::int64_t>();
    } else {
      const auto narrow = rowptr_.elements<std::int32_t>();
      c.rowptr.assign(narrow.begin(), narrow.end());
    }
    for (std::int64_t& offset : c.rowptr) offset -= first_;
    c.colind = colind_.elements<index_t>();
    c.values = values_.elements<T>();
    c.colind.erase(c.colind.begin(), c.colind.begin() + first_);
    c.values.erase(c.values.begin(), c.values.begin() + first_);
    return c;
  }
  [[nodiscard]] bool guards_intact() const {
    const auto before = static_cast<std::size_t>(first_);
    return rowptr_.intact() && colind_.intact(before * sizeof(index_t)) && values_.intact(before * sizeof(T));
  }

 private:
  offset_type offset_;
  std::int64_t first_;
  guarded_array rowptr_, colind_, values_;
};

}  // namespace tulle::test
