// CSR rows into the slices of packed_format.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tulle/formats/views.hpp>
#include <vector>

#include "cpu/spmv/packed_format.hpp"

namespace tulle::cpu {

/// One position while it is being laid out. A place is a column minus a lane: the same along a diagonal.
struct packed_position {
  std::uint32_t mask = 0;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();  // place
  std::int32_t greatest = std::numeric_limits<std::int32_t>::min();

  [[nodiscard]] std::uint32_t range() const {
    return static_cast<std::uint32_t>(greatest) - static_cast<std::uint32_t>(least);
  }
  [[nodiscard]] run_kind kind() const { return kind_for(range(), mask); }
};

/// Writes slices of a matrix one after another. Keeps its scratch between slices.
template <scalar T, offset O>
class slice_encoder {
 public:
  explicit slice_encoder(csr_view<T, O> a) : a_(a) {}

  /// Appends the words of the rows [first, first + count), 1 <= count <= 32.
  void encode(index_t first, index_t count, std::vector<std::uint32_t>& words) {
    first_ = first;
    count_ = count;
    by_rank();
        if (!all_diagonal() && ascending() && by_diagonal(3 * ranks_.size()) && words_of(diagonals_) < words_of(ranks_)) {
      write(diagonals_, words);
    } else {
      write(ranks_, words);
    }
  }

 private:
  /// Position j takes the j-th entry of every row.
  void by_rank() {
    ranks_.clear();
    for (index_t l = 0; l < count_; ++l) {
      const index_t* columns = a_.colind + a_.rowptr[first_ + l];
      const auto length = static_cast<std::size_t>(a_.rowptr[first_ + l + 1] - a_.rowptr[first_ + l]);
      if (length > ranks_.size()) ranks_.resize(length);
      for (std::size_t j = 0; j < length; ++j) {
        packed_position& p = ranks_[j];
        p.mask |= std::uint32_t{1} << l;
        p.least = std::min(p.least, columns[j] - l);
        p.greatest = std::max(p.greatest, columns[j] - l);
      }
    }
  }

  [[nodiscard]] bool all_diagonal() const {
    return std::ranges::all_of(ranks_, [](const packed_position& p) { return p.range() == 0; });
  }
  [[nodiscard]] bool ascending() const {
    for (index_t l = 0; l < count_; ++l) {
      for (O k = a_.rowptr[first_ + l] + 1; k < a_.rowptr[first_ + l + 1]; ++k) {
        if (a_.colind[k] <= a_.colind[k - 1]) return false;
      }
    }
    return true;
  }

  /// A position for each diagonal that the slice meets; false when there are more than `most`.
  bool by_diagonal(std::size_t most) {
    constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
    diagonals_.clear();
    O next[packed_lanes] = {};
    std::int32_t place[packed_lanes];
    for (index_t l = 0; l < packed_lanes; ++l) {
      next[l] = l < count_ ? a_.rowptr[first_ + l] : O{0};
      place[l] = l < count_ && next[l] < a_.rowptr[first_ + l + 1] ? a_.colind[next[l]] - l : none;
    }
    for (;;) {
      std::int32_t least = none;
      for (const std::int32_t p : place) least = std::min(least, p);
      if (least == none) return true;
      if (diagonals_.size() == most) return false;
      std::uint32_t mask = 0;
      for (index_t l = 0; l < packed_lanes; ++l) mask |= static_cast<std::uint32_t>(place[l] == least) << l;
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const int l = std::countr_zero(left);
        place[l] = ++next[l] < a_.rowptr[first_ + l + 1] ? a_.colind[next[l]] - l : none;
      }
      diagonals_.push_back({mask, least, least});
    }
  }

  static std::size_t words_of(const std::vector<packed_position>& positions) {
    std::size_t words = 0;
    for (const packed_position& p : positions) {
      words += (p.kind() == run_kind::full_diagonal ? 1 : 2) + offset_words(p.kind(), std::popcount(p.mask));
    }
    return words;
  }

  void write(const std::vector<packed_position>& positions, std::vector<std::uint32_t>& words) {
    std::size_t header = words.size();
    run_header run{positions.empty() ? run_kind::full_diagonal : positions[0].kind(), false, 0};
    words.push_back(0);
    for (std::size_t j = 0; j < positions.size(); ++j) {
      const packed_position& p = positions[j];
      if (p.kind() != run.kind || run.count == run_header::most) {
        words[header] = run.word();
        header = words.size();
        words.push_back(0);
        run = {p.kind(), false, 0};
      }
      ++run.count;
      words.push_back(static_cast<std::uint32_t>(p.least));
      if (run.kind != run_kind::full_diagonal) words.push_back(p.mask);
      if (run.kind == run_kind::offsets8) write_offsets<std::uint8_t>(p, j, words);
      if (run.kind == run_kind::offsets16) write_offsets<std::uint16_t>(p, j, words);
      if (run.kind == run_kind::offsets32) write_offsets<std::uint32_t>(p, j, words);
    }
    run.last = true;
    words[header] = run.word();
  }

  /// Of the entries of rank j.
  template <class Offset>
  void write_offsets(const packed_position& p, std::size_t j, std::vector<std::uint32_t>& words) const {
    Offset offsets[packed_lanes] = {};
    int count = 0;
    for (std::uint32_t left = p.mask; left != 0; left &= left - 1) {
      const int l = std::countr_zero(left);
      const index_t column = a_.colind[a_.rowptr[first_ + l] + static_cast<O>(j)];
      offsets[count++] = static_cast<Offset>(static_cast<std::uint32_t>(column - l) - static_cast<std::uint32_t>(p.least));
    }
    const std::size_t at = words.size(), more = offset_words(p.kind(), count);
    words.resize(at + more);
    std::memcpy(words.data() + at, offsets, more * sizeof(std::uint32_t));
  }

  csr_view<T, O> a_;
  index_t first_ = 0;
  index_t count_ = 0;
  std::vector<packed_position> ranks_;
  std::vector<packed_position> diagonals_;
};

/// Writes the values of a part in the order of its words. False when the rows do not have the part's pattern.
template <scalar T, offset O>
bool fill_values(csr_view<T, O> a, const packed_part<T>& part, T* to) {
  const std::uint32_t* words = part.words.data();
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    const index_t count = std::min(packed_lanes, part.last - first);
    O next[packed_lanes] = {};
    O end[packed_lanes] = {};
    for (index_t l = 0; l < count; ++l) {
      next[l] = a.rowptr[first + l];
      end[l] = a.rowptr[first + l + 1];
    }
    for (bool last = false; !last;) {
      const run_header run = run_header::of(*words++);
      last = run.last;
      for (std::uint32_t i = 0; i < run.count; ++i) {
        ++words;
        const std::uint32_t mask = run.kind == run_kind::full_diagonal ? all_lanes : *words++;
        words += offset_words(run.kind, std::popcount(mask));
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
          const int l = std::countr_zero(left);
          if (next[l] == end[l]) return false;
          *to++ = a.values[next[l]++];
        }
      }
    }
    for (index_t l = 0; l < count; ++l) {
      if (next[l] != end[l]) return false;
    }
  }
  return true;
}

}  // namespace tulle::cpu
