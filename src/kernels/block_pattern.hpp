// The contract between block patterns and the backends. Arguments are checked before these are called.
#pragma once

#include <tulle/formats/block_pattern.hpp>

namespace tulle {

struct block_pattern_kernels {
  block_pattern (*find)(const context&, const block_pairs_view&, const block_pattern_options&);
  /// rowptr and colptr of the bin_bsr with the pattern.
  void (*fill_bins)(const context&, const block_pattern&, std::int64_t* rowptr, index_t* colptr);
  /// The values of a BSR; those of a bin_bsr with these rowptr, of which padding is not written. Of the type.
  void (*assemble_bsr)(const context&, const block_pattern&, scalar_type, const void* from, void* to);
  void (*assemble_bins)(const context&, const block_pattern&, scalar_type, const void* from, void* to);
};

/// What entry e of all that a list of pairs stands for is: the pairs, then their transposes, then the diagonal.
struct block_entry {
  index_t row;  // block_rows: there is none
  index_t col;
  std::int64_t term;
};

struct block_entries {
  block_pairs_view pairs;
  bool symmetric;
  std::int64_t diagonal;  // entries

  block_entries(const block_pairs_view& p, const block_pattern_options& o)
      : pairs(p),
        symmetric(o.symmetric),
        diagonal(!o.diagonal                   ? 0
                 : p.block_rows < p.block_cols ? p.block_rows
                                               : p.block_cols) {}

  [[nodiscard]] constexpr std::int64_t size() const { return pairs.pairs * (symmetric ? 2 : 1) + diagonal; }
  [[nodiscard]] constexpr bool is_in_range(std::int64_t p) const {
    return pairs.rowind[p] >= 0 && pairs.rowind[p] < pairs.block_rows && pairs.colind[p] >= 0 &&
           pairs.colind[p] < pairs.block_cols;
  }
  /// The pair that entry e comes of; `pairs` or more for the diagonal.
  [[nodiscard]] constexpr std::int64_t pair_of(std::int64_t e) const {
    return symmetric && e >= pairs.pairs ? e - pairs.pairs : e;
  }
  [[nodiscard]] constexpr std::int64_t term_of(std::int64_t e) const {
    if (e < pairs.pairs) return 2 * e;
    return symmetric && e < 2 * pairs.pairs ? 2 * (e - pairs.pairs) + 1 : -1;
  }
  [[nodiscard]] constexpr block_entry operator[](std::int64_t e) const {
    const std::int64_t p = pair_of(e), term = term_of(e);
    if (term < 0) return {static_cast<index_t>(p - pairs.pairs), static_cast<index_t>(p - pairs.pairs), -1};
    const index_t i = pairs.rowind[p], j = pairs.colind[p];
    if ((term & 1) == 0) return {i, j, term};
    return {i == j ? pairs.block_rows : j, i, term};
  }
};

/// Where value (i, j) of a term is among the values of the pairs.
constexpr std::int64_t term_place(std::int64_t term, index_t i, index_t j, index_t block) {
  return (term >> 1) * block * block + ((term & 1) != 0 ? j * block + i : i * block + j);
}

}  // namespace tulle
