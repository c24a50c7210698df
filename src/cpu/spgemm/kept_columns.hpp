// The columns of C's rows from counting until they are stored, in chunks that follow the rows of a part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <vector>

namespace tulle::cpu {

/// One part's columns. One thread at a time.
class kept_columns {
 public:
  static constexpr std::int64_t chunk_columns = 1 << 20;  // 4 MiB, which huge pages may back
  static constexpr std::int64_t slack = 64;               // beyond what is reserved, for stores of whole registers

  /// The first chunk of a part whose rows take at most `rest` columns. To be called before the threads begin: most
  /// parts need no other, and allocators serve the first thread best.
  void prepare(const context& ctx, std::int64_t rest) {
    rest_ = rest;
    add_chunk(ctx, 0);
  }
  /// Room for `most` columns, where the next row goes; up to `slack` more may be written over.
  index_t* reserve(const context& ctx, std::int64_t most) {
    if (static_cast<std::int64_t>(chunks_.back().columns.size()) - slack - used_ < most) add_chunk(ctx, most);
    rest_ -= most;
    return chunks_.back().columns.data() + used_;
  }
  /// The row has n columns.
  void keep(std::int64_t n) { used_ += n; }
  /// No more rows.
  void finish() {
    if (!chunks_.empty()) chunks_.back().used = used_;
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const chunk& c : chunks_) sum += c.columns.bytes();
    return sum;
  }

  /// Reads rows in the order in which they were kept.
  class reader {
   public:
    explicit reader(const kept_columns& of) : of_(&of) {}
    /// The columns of the next rows, which are n in all.
    void copy(std::int64_t n, index_t* to) {
      while (n > 0) {
        const std::int64_t here = std::min(n, of_->chunks_[chunk_].used - at_);
        to = std::copy_n(of_->chunks_[chunk_].columns.data() + at_, here, to);
        at_ += here;
        n -= here;
        if (at_ == of_->chunks_[chunk_].used) {
          ++chunk_;
          at_ = 0;
        }
      }
    }

   private:
    const kept_columns* of_;
    std::size_t chunk_ = 0;
    std::int64_t at_ = 0;
  };

 private:
  struct chunk {
    buffer<index_t> columns;
    std::int64_t used;
  };
  void add_chunk(const context& ctx, std::int64_t least) {
    finish();
    const std::int64_t room = std::max(least, std::min(rest_, chunk_columns)) + slack;
    chunks_.push_back({buffer<index_t>(ctx, static_cast<std::size_t>(room)), 0});
    used_ = 0;
  }

  std::vector<chunk> chunks_;
  std::int64_t used_ = 0;  // of the last chunk
  std::int64_t rest_ = 0;  // the most that the rows to come take
};

}  // namespace tulle::cpu
