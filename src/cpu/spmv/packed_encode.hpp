// CSR rows into the slices of packed_format.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <tulle/formats/views.hpp>
#include <vector>

#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/narrow_values.hpp"
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

/// Cycles that a position takes for each cache line of numbers, about: where all lanes have an entry, on a diagonal or
/// loading x elsewhere, and what a mask adds to either.
struct line_costs {
  double diagonal, elsewhere, masked_diagonal, masked, masked_words;  // words: offsets of 32 bits
};
/// AVX-512 gathers; the others load x number by number (measured on a Zen 3).
constexpr line_costs line_costs_of(isa level, std::size_t value_bytes) {
  if (level == isa::avx512) return {1.5, value_bytes == 8 ? 6.0 : 10.0, 2.5, 5, 5};
  return value_bytes == 8 ? line_costs{3.5, 8.5, 4, 5.5, 12.5} : line_costs{3.5, 14, 4, 6, 19};
}

/// The cycles of a position of numbers of `value_bytes`, and of the bytes besides the values.
inline double position_cost(run_kind kind, int count, isa level, std::size_t value_bytes) {
  const double lines = static_cast<double>(packed_lanes * value_bytes) / 64.0;
  const line_costs line = line_costs_of(level, value_bytes);
  const std::uint32_t bytes = offset_bytes(kind);
  const double masked = bytes == 0 ? line.masked_diagonal : bytes == 4 ? line.masked_words : line.masked;
  return lines * ((bytes == 0 ? line.diagonal : line.elsewhere) + (is_full(kind) ? 0 : masked)) +
         0.75 * position_words(kind, count);
}

/// Writes windows of a matrix one after another. Keeps its scratch between them.
template <offset O>
class packed_encoder {
 public:
  /// Sums are in numbers of `value_bytes`. Rows of more than `longest` entries are named and left out. `forms`: of the
  /// values of each row, so that slices have a form that takes all of their rows'; null: all are alike.
  packed_encoder(const O* rowptr, const index_t* colind, std::size_t value_bytes, std::int64_t longest,
                 const row_form* forms)
      : rowptr_(rowptr), colind_(colind), value_bytes_(value_bytes), longest_(longest), forms_(forms) {}

  /// Appends the words of the rows [first, last), in order, or sorted where that is cheaper: by length where these differ,
  /// and by form. Returns the slots that their values take, or with forms how many times slice_alignment bytes.
  std::int64_t encode(index_t first, index_t last, std::vector<std::uint32_t>& words) {
    rows_.resize(static_cast<std::size_t>(last - first));
    std::iota(rows_.begin(), rows_.end(), first);
    const std::size_t start = words.size();
    const arrangement in_order = slices(false, words);
    const bool padded = slots_ > enough_filled * entries_;
    if (!padded && !is_widened()) return taken(in_order);
    const auto comes_first = [this, padded](index_t i, index_t j) {
      if (padded && length(i) != length(j)) return length(i) > length(j);
      return forms_ != nullptr && forms_[i] < forms_[j];
    };
    if (std::is_sorted(rows_.begin(), rows_.end(), comes_first)) return taken(in_order);
    std::stable_sort(rows_.begin(), rows_.end(), comes_first);
    sorted_.clear();
    const arrangement by_rank = slices(true, sorted_);
    if (by_rank.cost >= in_order.cost) return taken(in_order);
    words.resize(start);
    words.insert(words.end(), sorted_.begin(), sorted_.end());
    return taken(by_rank);
  }
  /// Of the windows so far.
  [[nodiscard]] const form_counts& counts() const { return counts_; }
  /// Slices' positions so far that, with rows in order, lie on a diagonal and have an entry in every lane.
  [[nodiscard]] std::int64_t full_diagonals() const { return full_diagonals_; }

 private:
  static constexpr double enough_filled = 1.05;
  static constexpr double cycles_of_a_byte = 0.75 / 4;  // as position_cost has it

  /// Of a window's rows.
  struct arrangement {
    double cost = 0;
    std::int64_t value_slots = 0;
    form_counts counts = {};
  };

  std::int64_t taken(const arrangement& window) {
    counts_ += window.counts;
    return window.value_slots;
  }
  /// Whether many values are stored in more bytes than their rows ask for.
  [[nodiscard]] bool is_widened() const {
    return forms_ != nullptr && slice_bytes_ > static_cast<std::int64_t>(enough_filled * static_cast<double>(row_bytes_));
  }

  [[nodiscard]] bool is_long(index_t row) const { return rowptr_[row + 1] - rowptr_[row] > longest_; }
  /// Of what is stored of it.
  [[nodiscard]] O length(index_t row) const { return is_long(row) ? 0 : rowptr_[row + 1] - rowptr_[row]; }

  /// Appends rows_ slice by slice.
  arrangement slices(bool permuted, std::vector<std::uint32_t>& words) {
    slots_ = entries_ = 0;
    slice_bytes_ = row_bytes_ = 0;
    arrangement window{permuted ? 2.0 * static_cast<double>(rows_.size()) : 0};
    for (std::size_t at = 0; at < rows_.size(); at += packed_lanes) {
      row_ = rows_.data() + at;
      count_ = static_cast<index_t>(std::min<std::size_t>(packed_lanes, rows_.size() - at));
      join_forms();
      window.cost += slice(permuted, words);
      window.value_slots += value_slots(window.counts);
    }
    if (forms_ != nullptr) window.cost += cycles_of_a_byte * static_cast<double>(slice_bytes_);
    return window;
  }

  void join_forms() {
    if (forms_ == nullptr) return;
    form_ = any_form;
    for (index_t l = 0; l < count_; ++l) form_ = joined(form_, forms_[row_[l]]);
    if (form_ == any_form) form_ = whole_form;
    for (index_t l = 0; l < count_; ++l) {
      row_bytes_ += static_cast<std::int64_t>(length(row_[l])) *
                    static_cast<std::int64_t>(bytes_of(storage_of(forms_[row_[l]]), value_bytes_));
    }
  }

  /// That the slice takes.
  std::int64_t value_slots(form_counts& counts) {
    if (forms_ == nullptr) return aligned_slots(slice_entries_, value_bytes_);
    const std::size_t k = place_of(form_);
    const std::int64_t bytes = slice_entries_ * static_cast<std::int64_t>(bytes_of(storage_of(form_), value_bytes_));
    counts.rows[k] += count_;
    counts.entries[k] += slice_entries_;
    counts.bytes[k] += bytes;
    slice_bytes_ += bytes;
    constexpr auto unit = static_cast<std::int64_t>(slice_alignment);
    return (bytes + unit - 1) / unit;
  }

  double slice(bool permuted, std::vector<std::uint32_t>& words) {
    by_rank();
    const double cost = cost_of(ranks_);
    if (!permuted && !all_diagonal() && tries_diagonals() && by_diagonal(cost)) {
      misses_ = 0;
      slots_ -= static_cast<double>(ranks_.size()) * packed_lanes;  // no lane waits for another row's gathers
      for (const packed_position& p : ranks_) slots_ += std::popcount(p.mask);
      write(diagonals_, permuted, words);
      return cost_of(diagonals_);
    }
    write(ranks_, permuted, words);
    return cost;
  }

  /// Where slice after slice was not better by diagonal, only some of those that follow are looked at.
  bool tries_diagonals() {
    constexpr int enough = 4, some = 4;
    ++misses_;
    return misses_ <= enough || misses_ % some == 0;
  }

  /// Position j takes the j-th entry of every row.
  void by_rank() {
    ranks_.clear();
    std::int64_t values = 0;
    for (index_t l = 0; l < count_; ++l) {
      const index_t* columns = colind_ + rowptr_[row_[l]];
      const auto entries = static_cast<std::size_t>(length(row_[l]));
      if (entries > ranks_.size()) ranks_.resize(entries);
      packed_position* p = ranks_.data();
      for (std::size_t j = 0; j < entries; ++j) {
        const std::int32_t place = columns[j] - l;
        p[j].mask |= std::uint32_t{1} << l;
        p[j].least = std::min(p[j].least, place);
        p[j].greatest = std::max(p[j].greatest, place);
      }
      values += static_cast<std::int64_t>(entries);
    }
    entries_ += static_cast<double>(values);
    slice_entries_ = values;
    slots_ += static_cast<double>(ranks_.size()) * packed_lanes;
  }

  [[nodiscard]] bool all_diagonal() const {
    return std::ranges::all_of(ranks_, [](const packed_position& p) { return p.range() == 0; });
  }

  /// A position for each diagonal that the slice meets; false when they cost more than `most`, or a row's columns do not
  /// ascend.
  bool by_diagonal(double most) {
    bool complete = false;
    double cost = 0;
    diagonals_.clear();
    with_isa(
        isa_, [&]() __attribute__((always_inline)) {
          constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
          O next[packed_lanes] = {};
          O end[packed_lanes] = {};
          std::int32_t place[packed_lanes];
          for (index_t l = 0; l < packed_lanes; ++l) {
            if (l < count_) next[l] = rowptr_[row_[l]], end[l] = next[l] + length(row_[l]);
            place[l] = next[l] < end[l] ? colind_[next[l]] - l : none;
          }
          for (std::int32_t last = std::numeric_limits<std::int32_t>::min(); cost < most;) {
            std::int32_t least = none;
            std::uint32_t mask = 0;
#pragma omp simd reduction(min : least)
            for (index_t l = 0; l < packed_lanes; ++l) least = std::min(least, place[l]);
            if (complete = least == none; complete) return;
            if (least <= last) return;
            last = least;
#pragma omp simd reduction(| : mask)
            for (index_t l = 0; l < packed_lanes; ++l) mask |= (place[l] == least ? std::uint32_t{1} : 0u) << l;
            diagonals_.push_back({mask, least, least});
            cost += position_cost(kind_for(0, mask), std::popcount(mask), isa_, value_bytes_);
            if (mask == all_lanes) {
              for (index_t l = 0; l < packed_lanes; ++l) place[l] = ++next[l] < end[l] ? colind_[next[l]] - l : none;
              continue;
            }
            for (std::uint32_t left = mask; left != 0; left &= left - 1) {
              const index_t l = std::countr_zero(left);
              place[l] = ++next[l] < end[l] ? colind_[next[l]] - l : none;
            }
          }
        });
    return complete;
  }

  [[nodiscard]] double cost_of(const std::vector<packed_position>& positions) const {
    double cost = 0;
    for (const packed_position& p : positions) cost += position_cost(p.kind(), std::popcount(p.mask), isa_, value_bytes_);
    return cost;
  }

  void write(const std::vector<packed_position>& positions, bool permuted, std::vector<std::uint32_t>& words) {
    std::size_t header = words.size();
    const bool named = permuted || std::any_of(row_, row_ + count_, [this](index_t row) { return is_long(row); });
    run_header run{positions.empty() ? run_kind::full_diagonal : positions[0].kind(), false, named, 0, form_};
    words.push_back(0);
    for (index_t l = 0; named && l < packed_lanes; ++l) {
      const index_t row = row_[std::min(l, count_ - 1)];
      words.push_back(static_cast<std::uint32_t>(row) | (is_long(row) ? long_row_flag : 0));
    }
    for (std::size_t j = 0; j < positions.size(); ++j) {
      const packed_position& p = positions[j];
      if (p.kind() != run.kind || run.count == run_header::most) {
        words[header] = run.word();
        header = words.size();
        words.push_back(0);
        run = {p.kind(), false, false, 0, whole_form};
      }
      ++run.count;
      full_diagonals_ += !permuted && run.kind == run_kind::full_diagonal ? 1 : 0;
      words.push_back(static_cast<std::uint32_t>(p.least));
      if (!is_full(run.kind)) words.push_back(p.mask);
      if (offset_bytes(run.kind) == 1) write_offsets<std::uint8_t>(p, j, words);
      if (offset_bytes(run.kind) == 2) write_offsets<std::uint16_t>(p, j, words);
      if (offset_bytes(run.kind) == 4) write_offsets<std::uint32_t>(p, j, words);
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
      const index_t column = colind_[rowptr_[row_[l]] + static_cast<O>(j)];
      const auto offset = static_cast<std::uint32_t>(column - l) - static_cast<std::uint32_t>(p.least);
      offsets[offsets_are_padded(sizeof(Offset)) ? l : count] = static_cast<Offset>(offset);
      ++count;
    }
    const std::size_t at = words.size(), more = offset_words(p.kind(), count);
    words.resize(at + more);
    std::memcpy(words.data() + at, offsets, more * sizeof(std::uint32_t));
  }

  const O* rowptr_;
  const index_t* colind_;
  std::size_t value_bytes_;
  std::int64_t longest_;
  const row_form* forms_;
  isa isa_ = best_isa();
  std::vector<index_t> rows_;           // of the window, in the order of its lanes
  std::vector<std::uint32_t> sorted_;   // the window's words, rows sorted
  double slots_ = 0;                    // lanes of the window's positions, and how many of them have an entry
  double entries_ = 0;
  std::int64_t row_bytes_ = 0;          // of the window's values, were each row stored by itself
  std::int64_t slice_bytes_ = 0;        // and as its slice is
  std::int64_t full_diagonals_ = 0;
  int misses_ = 0;  // slices since one was laid out by diagonal
  form_counts counts_ = {};
  std::int64_t slice_entries_ = 0;
  row_form form_ = whole_form;          // of the slice
  const index_t* row_ = nullptr;        // of the slice
  index_t count_ = 0;
  std::vector<packed_position> ranks_;
  std::vector<packed_position> diagonals_;
};

/// The next value of every lane; false when one has none.
template <scalar T, offset O>
[[gnu::always_inline]] inline bool take_all(const T* values, O* next, const O* end, T* to) {
  std::uint32_t at_end = 0;
#pragma omp simd reduction(+ : at_end)
  for (int l = 0; l < packed_lanes; ++l) at_end += next[l] == end[l] ? 1 : 0;
  if (at_end != 0) return false;
#pragma omp simd
  for (int l = 0; l < packed_lanes; ++l) to[l] = values[next[l]];
#pragma omp simd
  for (int l = 0; l < packed_lanes; ++l) ++next[l];
  return true;
}

/// As fill_values, for the instruction set of the caller.
template <scalar T, offset O>
[[gnu::always_inline]] inline bool fill_values_inline(csr_view<T, O> a, const packed_part& part,
                                                      value_writer<T>& writer, bool by_slice, std::size_t alignment,
                                                      std::byte* to) {
  const std::uint32_t* words = part.words;
  for (index_t first = part.first; first < part.last; first += packed_lanes) {
    const index_t count = std::min(packed_lanes, part.last - first);
    O next[packed_lanes] = {};
    O end[packed_lanes] = {};
    to = aligned_address(to, alignment);
    run_header run = run_header::of(*words++);
    if (by_slice) writer.enter(run.form);
    for (index_t l = 0; l < count; ++l) {
      const std::uint32_t named = run.permuted ? words[l] : static_cast<std::uint32_t>(first + l);
      const auto row = static_cast<index_t>(named & ~long_row_flag);
      next[l] = a.rowptr[row];
      end[l] = (named & long_row_flag) != 0 ? next[l] : a.rowptr[row + 1];
    }
    if (run.permuted) words += packed_lanes;
    for (;; run = run_header::of(*words++)) {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        const std::uint32_t mask = is_full(run.kind) ? all_lanes : words[1];
        words += position_words(run.kind, std::popcount(mask));
        T taken[packed_lanes];
        if (mask == all_lanes) {
          if (!take_all(a.values, next, end, taken)) return false;
          to = writer.write(taken, packed_lanes, to);
          continue;
        }
        int count_taken = 0;
        for (std::uint32_t left = mask; left != 0; left &= left - 1) {
          const int l = std::countr_zero(left);
          if (next[l] == end[l]) return false;
          taken[count_taken++] = a.values[next[l]++];
        }
        to = writer.write(taken, count_taken, to);
      }
      if (run.last) break;
    }
    if (!std::equal(next, next + count, end)) return false;
  }
  return true;
}

/// Writes the values of a part in the order of its words, from `to` on; slices start at multiples of `alignment`, and with
/// `by_slice` have forms of their own. False when the rows do not have the part's pattern.
template <scalar T, offset O>
bool fill_values(csr_view<T, O> a, const packed_part& part, value_writer<T> writer, bool by_slice, std::size_t alignment,
                 std::byte* to) {
  bool same = false;
  with_isa(
      best_isa(), [&]() __attribute__((always_inline)) { same = fill_values_inline(a, part, writer, by_slice, alignment, to); });
  return same;
}

}  // namespace tulle::cpu
