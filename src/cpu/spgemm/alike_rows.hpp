// Rows of C whose columns are those of an earlier row but for a shift: their rows of A are, and so are the rows of B
// that these name. Where a grid's lines are short, many rows are like none but those at the same place of other lines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/shifted_rows.hpp"
#include "cpu/spgemm/shifted_sums.hpp"
#include "cpu/spgemm/small_table.hpp"

namespace tulle::cpu {

/// The rows that one part has found. The kinds of those that are like another get the number of what they are like.
template <scalar T, offset O>
class alike_rows {
 public:
  /// `patterns`: of B's rows.
  alike_rows(const row_product<T, O>& p, isa set, const index_t* patterns) : p_(p), set_(set), patterns_(patterns) {}

  [[nodiscard]] bool may_hold(index_t i, std::int64_t products) const {
    const O entries = p_.a.rowptr[i + 1] - p_.a.rowptr[i];
    return entries >= 2 && entries <= most_shifted_entries && products >= entries && products <= most_shifted_products;
  }
  /// Writes the columns of row i to colind, where they stay, and returns how many there are: those of a row that is
  /// like it or, where none is known, what look(colind) writes and returns.
  template <class Look>
  std::int64_t columns(index_t i, std::int64_t products, row_kind& kind, index_t* colind, Look look) {
    const auto [like, is_same] = known_.find(
        hash_of(i), [](const row& r) { return r.i < 0; }, [&](const row& r) { return is_like(r.i, i); });
    if (!is_same) {
      const std::int64_t n = look(colind);
      if (like.number < 0) like = {i, -1, n, colind};
      return n;
    }
    if (like.number < 0 && numbers_ < most_alike) {
      like.number = numbers_++;
      bytes_ += row_places::bytes(products);
    }
    if (like.number >= 0) kind = alike_kind(like.number);
    copy_shifted(set_, like.colind, like.n, i - like.i, 1, colind);
    return like.n;
  }
  /// What the places of all that have a number take.
  [[nodiscard]] std::size_t places_bytes() const { return bytes_; }

 private:
  struct row {
    index_t i = -1;
    std::int32_t number = -1;  // given when another row is like it
    std::int64_t n = 0;
    const index_t* colind = nullptr;
  };

  [[nodiscard]] row_hash hash_of(index_t i) const {
    row_hash hash;
    for (O k = p_.a.rowptr[i]; k < p_.a.rowptr[i + 1]; ++k) {
      hash.add(p_.a.colind[k] - i);
      hash.add(patterns_[p_.a.colind[k]]);
    }
    return hash;
  }
  [[nodiscard]] bool is_like(index_t q, index_t i) const {
    const csr_view<T, O>& a = p_.a;
    if (!is_row_shifted(a, q, i)) return false;
    for (O k = a.rowptr[q], l = a.rowptr[i]; k < a.rowptr[q + 1]; ++k, ++l) {
      if (patterns_[a.colind[k]] != patterns_[a.colind[l]]) return false;
    }
    return true;
  }

  const row_product<T, O>& p_;
  isa set_;
  const index_t* patterns_;
  small_table<row> known_{{}};
  int numbers_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tulle::cpu
