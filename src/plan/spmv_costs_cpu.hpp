// What y = A x takes on a CPU in CSR, in slices and in blocks, from a matrix's statistics: what `choose_spmv` compares
// there.
//
// Each kernel takes so many nanoseconds a term. They were fitted by tools/tune to the families of
// bench/spmv_families.cpp that are there to fit rules on, warm, on one thread, for each class of processors apart; the
// records in bench/results have the times, docs/notes/0024-choice-cpu.md what was fitted. They stand here alone. Only
// their proportions matter.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/stats.hpp>

#include "core/parallel.hpp"
#include "kernels/bsr_block.hpp"
#include "kernels/packed_parts.hpp"
#include "kernels/processor.hpp"
#include "kernels/x_reach.hpp"

namespace tulle {

inline constexpr std::size_t most_terms_cpu = 12;
using terms_cpu = std::array<double, most_terms_cpu>;

/// A matrix as the terms see it.
struct spmv_subject_cpu {
  double value, rows, nnz;
  double scatter;                       // of reads of x: 0 side by side, 1 each in a sector of its own
  double past_l1, past_l2;              // scattered reads that so much of x, read around the same time, makes longer
  double uneven;                        // rows whose end comes as a surprise
  double slices, by_diagonal, by_rank;  // positions of packed, one of the two
  double rank_on_diagonal;              // those by rank that lie on a diagonal
  double half_empty;                    // those by rank that not all rows reach
  double apart;                         // entries of rows that packed leaves in CSR
  double padded_positions, moved;       // of sell, and rows that it sorts
  double block, block_rows, blocks, with_holes, odd;

  spmv_subject_cpu(const csr_stats& s, std::size_t value_bytes, processor_class processor) {
    constexpr double l1_bytes = 32 << 10, l2_bytes = 1 << 20, lanes = 32, dense_sectors = 8, all_sectors = 32;
    value = static_cast<double>(value_bytes), rows = s.rows, nnz = static_cast<double>(s.nnz);
    const double x_bytes = x_reach(s, value_bytes);
    scatter = std::clamp((s.gather_sectors - dense_sectors) / (all_sectors - dense_sectors), 0.0, 1.0);
    past_l1 = x_bytes > l1_bytes ? scatter * nnz : 0;
    past_l2 = scatter * nnz * std::max(0.0, std::log2(std::max(x_bytes, 1.0) / l2_bytes));
    uneven = rows * std::min(1.0, s.stddev);
    slices = std::ceil(rows / lanes);
    // As packed chooses between them: by what the two cost beside each other.
    apart = entries_apart(s);
    const double deep = std::clamp(rows, 1.0, lanes), diagonals = (nnz - apart) * (1 - s.diagonal * (deep - 1) / deep);
    const double ranks = nnz * packed_padding(s) / lanes;
    const bool narrow = processor == processor_class::narrow, wide_values = value_bytes == 8;
    const double of_diagonal = narrow ? (wide_values ? 31 : 16) : (wide_values ? 17 : 9);
    const double of_rank = narrow ? (wide_values ? 48 : 42) : (wide_values ? 50 : 40);
    const bool along = diagonals * of_diagonal < ranks * of_rank;
    by_diagonal = along ? diagonals : 0;
    by_rank = along ? 0 : ranks;
    rank_on_diagonal = by_rank * s.diagonal * s.diagonal;
    half_empty = by_rank * std::min(1.0, 3 * s.stddev / std::max(s.mean, 1e-9));
    const bool in_place = s.sell_padding <= 1.05 * s.sell_sorted_padding;
    padded_positions = nnz * (in_place ? s.sell_padding : s.sell_sorted_padding) / lanes;
    moved = in_place ? 0 : rows;
    const index_t b = best_bsr_block(s, value_bytes);
    const double fill = s.block_fill[static_cast<std::size_t>(b)];
    block = b, block_rows = std::ceil(rows / block);
    blocks = fill == 0 ? 0 : nnz / (fill * block * block);
    with_holes = blocks * std::min(1.0, (1 - fill) * block * block / 2);  // that have two holes or so
    odd = b % 2 == 1 ? blocks : 0;
  }
  /// Bytes past what the caches of one core hold.
  [[nodiscard]] static double streamed(double bytes) { return std::max(0.0, bytes - (1 << 20)); }
};

/// A kernel's terms.
struct spmv_terms_cpu {
  std::string_view kernel;
  terms_cpu (*of)(const spmv_subject_cpu&);
};
inline constexpr std::array<spmv_terms_cpu, 5> kernels_cpu{{
    {"csr.serial",
     [](const spmv_subject_cpu& a) -> terms_cpu {
       constexpr double remembered = 8192;
       const double guessed = a.nnz < remembered ? 0 : a.uneven;
       return {1,       a.rows,    a.nnz,     a.uneven,
               guessed, a.past_l1, a.past_l2, a.streamed(a.nnz * (a.value + 4) + 4 * a.rows)};
     }},
    {"packed",
     [](const spmv_subject_cpu& a) -> terms_cpu {
       const double gathers = a.by_rank > 0 ? 1 : 0;
       return {1,
               a.slices,
               a.by_diagonal,
               a.by_rank - a.rank_on_diagonal,
               a.half_empty,
               gathers * a.moved,
               a.scatter * a.by_rank,
               gathers * a.past_l1,
               gathers * a.past_l2,
               a.streamed(a.nnz * (a.value + 1)),
               a.apart,
               a.rank_on_diagonal};
     }},
    {"sell",
     [](const spmv_subject_cpu& a) -> terms_cpu {
       return {1,
               a.slices,
               a.padded_positions,
               a.moved,
               a.scatter * a.padded_positions,
               a.past_l1,
               a.past_l2,
               a.streamed(32 * a.padded_positions * (a.value + 4))};
     }},
    {"bsr",
     [](const spmv_subject_cpu& a) -> terms_cpu {
       const double area = a.block * a.block, slots = a.blocks * area;
       return {1,     a.block_rows,         a.block_rows * area,        a.blocks, slots, a.with_holes,
               a.odd, a.scatter * a.blocks, a.streamed(slots * a.value)};
     }},
    {"bin_bsr.compact",
     [](const spmv_subject_cpu& a) -> terms_cpu {
       const double slots = a.blocks * a.block * a.block;
       return {1,
               a.block_rows,
               a.rows,
               a.blocks,
               slots,
               a.with_holes,
               a.odd,
               a.scatter * a.blocks,
               a.streamed(slots * a.value)};
     }},
}};
inline constexpr std::size_t first_of_blocks_cpu = 3;

/// Nanoseconds a term of `kernels_cpu`, f64 and f32.
using spmv_costs_cpu = std::array<std::array<terms_cpu, 2>, kernels_cpu.size()>;
// tools/tune writes what is between these lines.
// begin costs
inline constexpr spmv_costs_cpu costs_by_gathers{{
    {{{7.45, 1.97, 0.227, 0.413, 0.287, 0.00053, 0, 0.0146, 0, 0, 0, 0},
      {9.6, 3.01, 0.189, 0.181, 0.254, 0.0203, 0, 0.006, 0, 0, 0, 0}}},  // csr.serial
    {{{23.3, 2.62, 3.99, 5.38, 1.7, 0.498, 1.7, 0.0761, 0, 0.0234, 0.484, 5.55},
      {18.6, 2.17, 2.13, 1.93, 2.03, 0.482, 4.75, 0.162, 0, 0.00364, 0.395, 3.97}}},  // packed
    {{{14.2, 2.35, 18.4, 0.208, 0, 0.0403, 0, 0.00514, 0, 0, 0, 0},
      {18.4, 0, 22.3, 0.0183, 0, 0.0218, 0, 0, 0, 0, 0, 0}}},  // sell
    {{{18.3, 2.59, 0.145, 0.386, 0.133, 0.582, 0.903, 1.38, 0.0211, 0, 0, 0},
      {27.2, 3.61, 0, 0.894, 0.0673, 0.469, 0.536, 0.877, 0.0014, 0, 0, 0}}},  // bsr
    {{{80.6, 2.64, 0, 0.908, 0.141, 0.941, 0, 9.7, 0.0338, 0, 0, 0},
      {92.6, 3.02, 0, 0.783, 0.0935, 0.78, 0.424, 7.6, 0.00246, 0, 0, 0}}},  // bin_bsr.compact
}};
inline constexpr spmv_costs_cpu costs_by_loads{{
    {{{8.27, 0.677, 0.263, 0, 0.446, 0.17, 0.544, 0.00915, 0, 0, 0, 0},
      {8.05, 0.936, 0.244, 0, 0.286, 0.216, 0.494, 0.00726, 0, 0, 0, 0}}},  // csr.serial
    {{{39.5, 0.415, 4.73, 9.36, 1.12, 0.806, 1.35, 0.209, 0.322, 0.0152, 0.533, 9.54},
      {28.5, 0.466, 2.57, 7.53, 1.69, 0.755, 2.63, 0.22, 0.267, 0.0109, 0.506, 8.5}}},  // packed
    {{{31.6, 6.83, 10.2, 0.425, 2, 0.286, 0.32, 0.0101, 0, 0, 0, 0},
      {33.3, 4.38, 9.07, 0.409, 1.44, 0.376, 0.231, 0.00409, 0, 0, 0, 0}}},  // sell
    {{{22.9, 4.63, 0.0397, 0, 0.0894, 0.51, 0.17, 2.85, 0.0152, 0, 0, 0},
      {27.8, 4.62, 0.0347, 0.202, 0.0442, 0.399, 0.00727, 2.19, 0.0131, 0, 0, 0}}},  // bsr
    {{{79.3, 3, 0, 0.59, 0.168, 0.336, 0.806, 1.47, 0.0118, 0, 0, 0},
      {81, 2.82, 0, 0.807, 0.091, 0.491, 0.801, 1.28, 0.0125, 0, 0, 0}}},  // bin_bsr.compact
}};
inline constexpr spmv_costs_cpu costs_by_narrow{{
    {{{6.7, 0.831, 0.324, 0.0792, 0.573, 0.288, 0.859, 0.00707, 0, 0, 0, 0},
      {9.86, 0.955, 0.307, 0.174, 0.475, 0.31, 0.44, 0.00763, 0, 0, 0, 0}}},  // csr.serial
    {{{72.5, 0, 6.94, 12.3, 1.12, 0.428, 0, 0.294, 0.868, 0.0276, 1.24, 10.3},
      {45.2, 1.16, 3.61, 10.2, 0, 0.558, 0, 0.353, 0.513, 0.0202, 1.17, 9.1}}},  // packed
    {{{36.7, 7.26, 13.3, 0.487, 1.96, 0.281, 0.541, 0.0112, 0, 0, 0, 0},
      {35.8, 3.8, 12, 0.507, 1.52, 0.349, 0.324, 0.00452, 0, 0, 0, 0}}},  // sell
    {{{24.1, 1.26, 0.473, 1.45, 0.179, 0.496, 0.655, 2.62, 0.0184, 0, 0, 0},
      {30.9, 2.45, 0.374, 1.66, 0.089, 0.385, 0.421, 3.21, 0.0123, 0, 0, 0}}},  // bsr
    {{{108, 4.36, 0, 0.649, 0.218, 0.783, 0.695, 10.6, 0.0295, 0, 0, 0},
      {116, 4.63, 0, 0.793, 0.123, 0.954, 0.803, 11.5, 0.0214, 0, 0, 0}}},  // bin_bsr.compact
}};
// end costs

inline const spmv_costs_cpu& costs_cpu(processor_class c) {
  return c == processor_class::gathers ? costs_by_gathers
         : c == processor_class::loads ? costs_by_loads
                                       : costs_by_narrow;
}

/// Above this many bytes of values and columns what memory gives decides, which the predicted times do not foresee; but
/// where loads pay they do (Zen 5, families left out of the fit: f64 1.08 of the fastest, by the rules 1.13), and in f32
/// without gathers (Zen 3, up to what was measured since slices by AVX2 changed, both numbers of threads, fitted
/// families: 1.06, by the rules 1.09; left out 1.02 and 1.21).
constexpr double most_predicted_bytes_cpu(processor_class c, std::size_t value_bytes) {
  if (c == processor_class::loads) return std::numeric_limits<double>::infinity();
  return (c == processor_class::gathers ? 4 : value_bytes == 4 ? 64 : 32) << 20;
}

/// Microseconds from the offer of a part to the end of a region beyond what its longest part takes (note 0014).
constexpr double hand_over_cpu = 1;

/// What more threads gain beyond their number by `packed` beside CSR, and by `sell` where it loads x by the same
/// instructions: from 10^5 to 10^6 nonzeros the second makes `packed` 1.9 to 2.6 times as fast, CSR 1.9 to 2.2 (Zen 3, 4
/// and 5; families of the fit).
constexpr double gain_of_slices_cpu(std::string_view kernel, processor_class c) {
  if (kernel == "packed") return c == processor_class::gathers ? 1 : 1.1;
  return kernel == "sell" && c == processor_class::loads ? 1.1 : 1;
}

/// Threads that share the work of a kernel: every one counts as long as there is work, and slices, for it.
inline double shares_cpu(std::size_t kernel, const csr_stats& s, int threads, processor_class processor) {
  const std::int64_t work = std::int64_t{s.rows} + s.nnz;
  const double gain = gain_of_slices_cpu(kernels_cpu[kernel].kernel, processor);
  const auto with_gain = [gain](double shares) { return shares > 1 ? shares * gain : shares; };
  if (kernels_cpu[kernel].kernel != "packed") return with_gain(threads_for_product(threads, work));
  const int all = packed_threads(threads, work, s.diagonal > 0.5);
  const auto shared_by = [](double pieces, double by) { return pieces / std::ceil(pieces / by); };
  const int parts = packed_parts(work);
  const double slices = std::max(std::ceil(s.rows / 32.0), 1.0);
  return with_gain(std::min(shared_by(parts, std::min(parts, all)), shared_by(slices, all)));
}

/// Microseconds of each of `kernels_cpu`; infinite for kernels of blocks where these were not looked at, or are nearly
/// empty.
inline std::array<double, kernels_cpu.size()> predicted_times_cpu(const csr_stats& s, std::size_t value_bytes,
                                                                  int threads, processor_class processor) {
  const spmv_costs_cpu& costs = costs_cpu(processor);
  const spmv_subject_cpu subject(s, value_bytes, processor);
  std::array<double, kernels_cpu.size()> us{};
  for (std::size_t k = 0; k < us.size(); ++k) {
    const terms_cpu of = kernels_cpu[k].of(subject), &cost = costs[k][value_bytes == 8 ? 0 : 1];
    for (std::size_t i = 0; i < of.size(); ++i) us[k] += cost[i] * of[i];
    const double shares = shares_cpu(k, s, threads, processor);
    us[k] = us[k] / (1000 * shares) + (shares > 1 ? hand_over_cpu : 0);
    if (subject.blocks == 0 && k >= first_of_blocks_cpu) us[k] = std::numeric_limits<double>::infinity();
  }
  return us;
}

}  // namespace tulle
