// A few rows, to be found again by what makes them alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle::cpu {

/// Of the numbers of a row.
class row_hash {
 public:
  [[gnu::always_inline]] void add(index_t number) {
    hash_ = (hash_ ^ static_cast<std::uint32_t>(number)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }
  [[nodiscard]] unsigned byte() const { return static_cast<unsigned>(hash_ >> 56); }

 private:
  std::uint64_t hash_ = 1;
};

/// 256 places, looked at one after the other from where the hash says.
template <class Entry>
class small_table {
 public:
  struct place {
    Entry& entry;
    bool is_same;
  };

  explicit small_table(const Entry& free) { std::fill_n(entries_, size, free); }

  /// The place of the entry that is the same, or else where to put it: a free place, or that of another.
  template <class IsFree, class IsSame>
  [[gnu::always_inline]] place find(const row_hash& hash, IsFree is_free, IsSame is_same) {
    constexpr unsigned most_looks = 8;
    for (unsigned look = 0; look < most_looks; ++look) {
      Entry& entry = entries_[(hash.byte() + look) % size];
      if (is_free(entry)) return {entry, false};
      if (is_same(entry)) return {entry, true};
    }
    return {entries_[hash.byte()], false};
  }

 private:
  static constexpr unsigned size = 256;
  Entry entries_[size];
};

}  // namespace tulle::cpu
