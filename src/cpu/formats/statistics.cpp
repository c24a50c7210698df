// Statistics of a CSR: sums over the offsets by windows of 1024 rows, over the columns by groups of 128 rows, then the
// two samples (blocks in block_fill.hpp). Everything is summed in integers, so that no order shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/instantiate.hpp"
#include "cpu/formats/block_fill.hpp"
#include "cpu/formats/formats.hpp"
#include "kernels/backends.hpp"
#include "kernels/bsr_block.hpp"
#include "kernels/packed_parts.hpp"

namespace tulle::cpu {
namespace {

constexpr std::int64_t sell_window = 1024;
constexpr std::int64_t column_group = 128;
constexpr int warp = 32;
constexpr std::int64_t most_warps = 65536;
constexpr index_t columns_per_sector = 4;  // 32 bytes of 8-byte values

/// `a` per `b`; 1 where there is nothing to divide by.
double ratio(double a, double b) { return b == 0 ? 1.0 : a / b; }

/// Slots that 32-row slices of these row lengths take.
template <offset O>
std::int64_t slice_slots(const O* lengths, std::int64_t count) {
  std::int64_t slots = 0;
  for (std::int64_t i = 0; i < count; i += sell_slice_rows) {
    const O* last = lengths + std::min<std::int64_t>(i + sell_slice_rows, count);
    slots += sell_slice_rows * static_cast<std::int64_t>(*std::max_element(lengths + i, last));
  }
  return slots;
}

/// The same after sorting, the longest first. Lengths are counted where they are short: sorting takes longer than an
/// application of a small matrix.
template <offset O>
std::int64_t sorted_slice_slots(O* lengths, std::int64_t count) {
  constexpr O most_counted = 255;
  if (std::is_sorted(lengths, lengths + count, std::greater<>())) return slice_slots(lengths, count);
  const O longest = *std::max_element(lengths, lengths + count);
  if (longest > most_counted) {
    std::sort(lengths, lengths + count, std::greater<>());
    return slice_slots(lengths, count);
  }
  std::uint16_t rows[most_counted + 1] = {};
  for (std::int64_t i = 0; i < count; ++i) ++rows[lengths[i]];
  std::int64_t slots = 0, begun = 0, before = 0;  // slices that a longer row is the first of
  for (O length = longest; length > 0 && before < count; --length) {
    before += rows[length];
    const std::int64_t slices = (before + sell_slice_rows - 1) / sell_slice_rows;
    slots += (slices - begun) * sell_slice_rows * static_cast<std::int64_t>(length);
    begun = slices;
  }
  return slots;
}

struct row_sums {
  std::int64_t longest = 0;
  std::int64_t empty = 0;
  std::int64_t slots = 0;
  std::int64_t sorted_slots = 0;
  std::int64_t short_slots = 0;
  std::uint64_t squares_low = 0;  // squared lengths, modulo 2^32 and above, so that neither sum can overflow
  std::uint64_t squares_high = 0;
};

template <scalar T, offset O>
void row_statistics(const context& ctx, csr_view<T, O> a, csr_stats& stats) {
  const std::int64_t longest_short = longest_packed_row(a.rows, static_cast<std::int64_t>(a.nnz));
  const auto add_window = [&](std::int64_t window, row_sums& sums) {
    const std::int64_t first = window * sell_window;
    const std::int64_t count = std::min<std::int64_t>(sell_window, a.rows - first);
    auto& [longest, empty, slots, sorted_slots, short_slots, squares_low, squares_high] = sums;
    std::int64_t most = 0;
    O lengths[sell_window];
    for (std::int64_t i = 0; i < count; ++i) {
      const O length = a.rowptr[first + i + 1] - a.rowptr[first + i];
      lengths[i] = length;
      most = std::max<std::int64_t>(most, length);
      empty += length == 0;
      const auto bounded = std::min<std::uint64_t>(static_cast<std::uint64_t>(length), std::uint64_t{0xffffffff});
      squares_low += bounded * bounded & 0xffffffff;
      squares_high += bounded * bounded >> 32;
    }
    longest = std::max(longest, most);
    const std::int64_t in_place = slice_slots(lengths, count), sorted = sorted_slice_slots(lengths, count);
    slots += in_place;
    sorted_slots += sorted;
    if (most <= longest_short) {
      short_slots += std::min(in_place, sorted);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      O& length = lengths[i] = a.rowptr[first + i + 1] - a.rowptr[first + i];  // sorting may have moved them
      if (length > longest_short) length = 0;
    }
    const std::int64_t in_place_short = slice_slots(lengths, count);
    short_slots += std::min(in_place_short, sorted_slice_slots(lengths, count));
  };
  const std::int64_t windows = (std::int64_t{a.rows} + sell_window - 1) / sell_window;
  const auto [longest, empty, slots, sorted_slots, short_slots, squares_low, squares_high] = parallel_reduce(
      threads_for(ctx.threads(), a.rows), windows, 4, row_sums{}, add_window, [](row_sums& all, const row_sums& mine) {
        all.longest = std::max(all.longest, mine.longest);
        all.empty += mine.empty;
        all.slots += mine.slots;
        all.sorted_slots += mine.sorted_slots;
        all.short_slots += mine.short_slots;
        all.squares_low += mine.squares_low;
        all.squares_high += mine.squares_high;
      });
  const auto rows = static_cast<double>(a.rows);
  const auto nnz = static_cast<double>(a.nnz);
  stats.max = static_cast<index_t>(std::min<std::int64_t>(longest, std::numeric_limits<index_t>::max()));
  stats.empty_rows = static_cast<index_t>(empty);
  stats.mean = a.rows == 0 ? 0 : nnz / rows;
  stats.skew = ratio(static_cast<double>(stats.max), stats.mean);
  const double squares = static_cast<double>(squares_high) * 0x1p32 + static_cast<double>(squares_low);
  stats.stddev = a.rows == 0 ? 0 : std::sqrt(std::max(0.0, squares / rows - stats.mean * stats.mean));
  stats.ell_padding = ratio(rows * static_cast<double>(stats.max), nnz);
  stats.sell_padding = ratio(static_cast<double>(slots), nnz);
  stats.sell_sorted_padding = ratio(static_cast<double>(sorted_slots), nnz);
  stats.slice_padding = ratio(static_cast<double>(short_slots), nnz);
}

struct column_extent {
  std::int64_t bandwidth = 0;
  std::int64_t window = 0;
  bool sorted = true;
};

/// Bandwidth, column window, and whether every row is sorted (which the block sample asks).
template <scalar T, offset O>
bool column_statistics(const context& ctx, csr_view<T, O> a, csr_stats& stats) {
  const auto add_group = [&](std::int64_t group, column_extent& found) {
    auto& [bandwidth, window, sorted] = found;
    const std::int64_t first = group * column_group;
    const std::int64_t last = std::min<std::int64_t>(first + column_group, a.rows);
    index_t low = std::numeric_limits<index_t>::max();
    index_t high = -1;
    for (std::int64_t r = first; r < last; ++r) {
      index_t row_low = std::numeric_limits<index_t>::max();
      index_t row_high = -1;
      bool descends = false;
      for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
        row_low = std::min(row_low, a.colind[k]);
        row_high = std::max(row_high, a.colind[k]);
        descends |= k > a.rowptr[r] && a.colind[k] < a.colind[k - 1];
      }
      if (row_high < 0) continue;
      sorted = sorted && !descends;
      bandwidth = std::max({bandwidth, std::abs(r - row_low), std::abs(r - row_high)});
      low = std::min(low, row_low);
      high = std::max(high, row_high);
    }
    if (high >= 0) window = std::max(window, static_cast<std::int64_t>(high) - low + 1);
  };
  const std::int64_t groups = (std::int64_t{a.rows} + column_group - 1) / column_group;
  const auto [bandwidth, window, sorted] = parallel_reduce(
      threads_for(ctx, a), groups, 64, column_extent{}, add_group, [](column_extent& all, const column_extent& mine) {
        all = {std::max(all.bandwidth, mine.bandwidth), std::max(all.window, mine.window), all.sorted && mine.sorted};
      });
  stats.bandwidth = static_cast<index_t>(bandwidth);
  stats.column_window = static_cast<index_t>(window);
  return sorted;
}

/// Different sectors among some columns in [low, high].
std::int64_t count_sectors(const index_t* columns, std::int64_t count, index_t low, index_t high) {
  constexpr std::int64_t words = 8, bits = 64;
  const index_t first = low / columns_per_sector;
  if (high / columns_per_sector - first < words * bits) {
    std::uint64_t touched[words] = {};
    std::int64_t found = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const index_t sector = columns[k] / columns_per_sector - first;
      std::uint64_t& word = touched[sector / bits];
      const std::uint64_t bit = std::uint64_t{1} << (sector % bits);
      found += (word & bit) == 0 ? 1 : 0;
      word |= bit;
    }
    return found;
  }
  index_t touched[warp];
  for (std::int64_t k = 0; k < count; ++k) touched[k] = columns[k] / columns_per_sector;
  std::sort(touched, touched + count);
  return std::unique(touched, touched + count) - touched;
}

/// Warp i of n sampled is warp i * warps / n; the last warp of the matrix may hold fewer than 32 nonzeros.
template <scalar T, offset O>
void gather_statistics(const context& ctx, csr_view<T, O> a, std::int64_t most, csr_stats& stats) {
  const auto nnz = static_cast<std::int64_t>(a.nnz);
  const std::int64_t warps = nnz / warp + (nnz % warp != 0);
  const std::int64_t sampled = std::min(warps, most);
  struct sums {
    std::int64_t sectors = 0, span = 0;
  };
  const auto add_warp = [&](std::int64_t i, sums& found) {
    const std::int64_t begin = (sampled == warps ? i : warps / sampled * i + warps % sampled * i / sampled) * warp;
    const std::int64_t count = std::min<std::int64_t>(warp, nnz - begin);
    index_t low = a.colind[begin], high = low;
    for (std::int64_t k = begin; k < begin + count; ++k) low = std::min(low, a.colind[k]), high = std::max(high, a.colind[k]);
    found.span += std::int64_t{high} - low + 1;
    found.sectors += count_sectors(a.colind + begin, count, low, high);
  };
  if (sampled == 0) return;
  const auto [sectors, span] = parallel_reduce(threads_for(ctx.threads(), sampled * warp), sampled, 64, sums{},
                                               add_warp, [](sums& all, const sums& mine) {
                                                 all = {all.sectors + mine.sectors, all.span + mine.span};
                                               });
  stats.gather_sectors = static_cast<double>(sectors) / static_cast<double>(sampled);
  stats.gather_span = static_cast<double>(span) / static_cast<double>(sampled);
}

/// Of some rows.
struct diagonal_sample {
  std::int64_t entries = 0;
  std::int64_t diagonals = 0;  // different ones, told apart by hashed bits: about
};

/// Of the rows [first, last) without those of more than `longest` entries, which `packed` leaves in CSR.
template <scalar T, offset O>
diagonal_sample sample_diagonals(csr_view<T, O> a, index_t first, index_t last, std::int64_t longest) {
  constexpr int bits = 16;
  constexpr std::uint32_t golden = 0x9e3779b1;  // 2^32 over the golden ratio: Knuth, TAOCP 3, 6.4
  std::uint64_t seen[(1 << bits) / 64] = {};
  diagonal_sample found;
  for (index_t row = first; row < last; ++row) {
    const O begin = a.rowptr[row], end = a.rowptr[row + 1];
    if (end - begin > longest) continue;
    found.entries += end - begin;
    for (O k = begin; k < end; ++k) {
      const std::uint32_t at = static_cast<std::uint32_t>(a.colind[k] - row) * golden >> (32 - bits);
      const std::uint64_t bit = std::uint64_t{1} << (at % 64);
      found.diagonals += (seen[at / 64] & bit) == 0 ? 1 : 0;
      seen[at / 64] |= bit;
    }
  }
  return found;
}

/// From slices of 32 rows, or of as many as hold about so many entries, at equal distances.
template <scalar T, offset O>
double diagonal_share(csr_view<T, O> a, std::int64_t entries) {
  if (a.rows < 2 || a.nnz == 0) return 0;
  constexpr std::int64_t least_slices = 8, most_rows = 32, least_entries = 512;
  const double mean = std::max(1.0, static_cast<double>(a.nnz) / a.rows);
  const auto by_entries = static_cast<std::int64_t>(static_cast<double>(std::max(entries, least_entries)) / mean);
  const std::int64_t most = std::min<std::int64_t>(most_rows, a.rows);
  const auto deep = static_cast<index_t>(std::clamp<std::int64_t>(by_entries, 2, most));
  const std::int64_t slices = a.rows / deep, longest = longest_packed_row(a.rows, static_cast<std::int64_t>(a.nnz));
  const std::int64_t count = std::min(slices, std::max(least_slices, by_entries / deep));
  diagonal_sample all;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto first = static_cast<index_t>(i * slices / count) * deep;
    const diagonal_sample of = sample_diagonals(a, first, first + deep, longest);
    all.entries += of.entries, all.diagonals += of.diagonals;
  }
  if (all.entries == 0) return 0;
  const double again = 1 - static_cast<double>(all.diagonals) / static_cast<double>(all.entries);
  return std::min(1.0, again * deep / (deep - 1));
}

/// How many entries a plan looks at for what it samples.
template <offset O>
std::int64_t sampled_entries(O nnz) {
  constexpr std::int64_t least = 128, most = 4096;
  return std::clamp(static_cast<std::int64_t>(nnz) / 64, least, most);
}

/// Everything but what the pass over the columns and the blocks say. `warps`: sampled for the gathers at most.
template <scalar T, offset O>
csr_stats rows_and_gathers(const context& ctx, csr_view<T, O> a, std::int64_t warps) {
  csr_stats stats;
  stats.rows = a.rows;
  stats.cols = a.cols;
  stats.nnz = static_cast<std::int64_t>(a.nnz);
  row_statistics(ctx, a, stats);
  gather_statistics(ctx, a, warps, stats);
  stats.diagonal = diagonal_share(a, sampled_entries(a.nnz));
  return stats;
}

template <scalar T, offset O>
csr_stats statistics(const context& ctx, csr_view<T, O> a) {
  csr_stats stats = rows_and_gathers(ctx, a, most_warps);
  const bool sorted = column_statistics(ctx, a, stats);
  for (index_t b = 2; b <= 8; ++b) stats.block_fill[b] = block_fill(ctx, a.rows, a.rowptr, a.colind, b, sorted);
  return stats;
}

/// The best of seven sizes of blocks is often one of which too few were seen: it is looked at again in more places,
/// until the best is one that was.
template <scalar T, offset O>
void look_closer(csr_view<T, O> a, csr_stats& stats) {
  constexpr double least_fill = 0.6;  // below it blocks are seldom chosen
  constexpr int most_looks = 3;
  const std::int64_t entries = std::max(sampled_entries(a.nnz), static_cast<std::int64_t>(a.nnz) / 8);
  std::array<bool, 9> closer{};
  for (int look = 0; look < most_looks; ++look) {
    const auto best = static_cast<std::size_t>(best_bsr_block(stats, sizeof(T)));
    if (closer[best] || stats.block_fill[best] < least_fill) return;
    closer[best] = true;
    stats.block_fill[best] = sampled_block_fill(a.rows, a.rowptr, a.colind, static_cast<index_t>(best), entries);
  }
}

/// The passes over the columns are left out, and of a small matrix's gathers, which take longer to look at than an application,
/// so are most. Blocks are looked at in a few rows, and not at all (0) where columns are hardly ever side by side.
template <scalar T, offset O>
inspection inspect(const context& ctx, csr_view<T, O> a) {
  constexpr std::int64_t least_warps = 24, most_of_few_warps = 4096;
  const std::int64_t warps = std::clamp(static_cast<std::int64_t>(a.nnz) / (32 * warp), least_warps, most_of_few_warps);
  const validation found = formats<T, O>().validate(ctx, a, {});
  if (!found.ok()) return {found, {}};
  inspection seen{found, rows_and_gathers(ctx, a, warps)};
  if (!has_runs(a.nnz, a.colind)) return seen;
  const std::int64_t entries = sampled_entries(a.nnz);
  for (index_t b = 2; b <= 8; ++b) seen.stats.block_fill[b] = sampled_block_fill(a.rows, a.rowptr, a.colind, b, entries);
  look_closer(a, seen.stats);
  return seen;
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::analysis(table& made) {
  made.inspect = inspect<T, O>;
  made.statistics = statistics<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::analysis(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
