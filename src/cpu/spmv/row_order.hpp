// Rows of CSR in an order by length, window by window: no branch is guessed wrong where rows of one length follow each
// other.
//
// Method: sorting by length in windows as in SELL-C-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop, SISC 36, 2014),
// of the rows alone: values and columns stay where they are. Bytes per row: 1 and those of CSR.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>
#include <vector>

namespace tulle::cpu {

class row_order {
 public:
  /// Rows of a window: their y and offsets stay in the first-level cache.
  static constexpr index_t window = 256;
  /// Lengths that are told apart; rows of as many entries or more are one class.
  static constexpr int lengths = 256;

  /// Neighbours in the order with the same length, or of the last class.
  struct run {
    std::uint16_t length;
    std::uint16_t count;
  };

  row_order() = default;
  /// Of the rows [first, last).
  template <offset O>
  row_order(const O* rowptr, index_t first, index_t last) : rows_(static_cast<std::size_t>(last - first)) {
    for (index_t begin = first; begin < last; begin += window) {
      sort(rowptr + begin, std::min(window, last - begin), rows_.data() + (begin - first));
      ends_.push_back(runs_.size());
    }
  }

  /// Rows of window w, counted from its first, in order.
  [[nodiscard]] const std::uint8_t* rows(std::size_t w) const {
    return rows_.data() + w * static_cast<std::size_t>(window);
  }
  [[nodiscard]] const run* begin(std::size_t w) const { return runs_.data() + (w == 0 ? 0 : ends_[w - 1]); }
  [[nodiscard]] const run* end(std::size_t w) const { return runs_.data() + ends_[w]; }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] std::size_t windows() const { return ends_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return rows_.capacity() + runs_.capacity() * sizeof(run) + ends_.capacity() * sizeof(std::size_t);
  }

 private:
  template <offset O>
  void sort(const O* rowptr, index_t count, std::uint8_t* to) {
    constexpr O longest = lengths - 1;
    std::uint16_t at[lengths + 1] = {};
    const auto length = [&](index_t i) {
      return static_cast<std::size_t>(std::min(rowptr[i + 1] - rowptr[i], longest));
    };
    std::size_t most = 0;
    for (index_t i = 0; i < count; ++i) {
      ++at[length(i) + 1];
      most = std::max(most, length(i));
    }
    for (std::size_t l = 0; l <= most; ++l) {
      if (at[l + 1] > 0) runs_.push_back({static_cast<std::uint16_t>(l), at[l + 1]});
      at[l + 1] = static_cast<std::uint16_t>(at[l + 1] + at[l]);
    }
    for (index_t i = 0; i < count; ++i) to[at[length(i)]++] = static_cast<std::uint8_t>(i);
  }

  std::vector<std::uint8_t> rows_;
  std::vector<run> runs_;
  std::vector<std::size_t> ends_;  // of each window, among the runs
};

}  // namespace tulle::cpu
