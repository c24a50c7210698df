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

namespace tulle {

inline constexpr std::size_t most_terms_cpu = 12;
using terms_cpu = std::array<double, most_terms_cpu>;

/// A matrix as the terms see it.
struct spmv_subject_cpu {
  double value, rows, nnz;
  double scatter;                       // of reads of x: 0 side by side, 1 each in a sector of its own
  double past_l1, past_l2;              // scattered reads that x of that size makes longer
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
    const double x_bytes = s.cols * value;
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
    {{{7.48, 1.98, 0.225, 0.403, 0.116, 0.059, 0, 0.0132, 0, 0},
      {9.62, 3.07, 0.187, 0.159, 0.063, 0.122, 0, 0.00225, 0, 0}}},  // csr.serial
    {{{17.5, 1.27, 3.48, 6.79, 0.775, 0.462, 0.166, 0.0776, 0, 0.0261, 0.225, 6.79},
      {12.6, 1.16, 1.9, 4.42, 0.258, 0.529, 2.3, 0.158, 0, 0.00628, 0.187, 4.42}}},  // packed
    {{{13.7, 2.53, 18.4, 0.214, 0, 0.016, 0, 0.00543, 0, 0}, {18.7, 0, 22.2, 0.0114, 0, 0.0179, 0, 0, 0, 0}}},  // sell
    {{{17.2, 1.83, 0.177, 0.712, 0.118, 0.395, 1.71, 1.16, 0.0186, 0},
      {26.5, 3.49, 0, 1.01, 0.0613, 0.417, 1.26, 0.51, 0, 0}}},  // bsr
    {{{83.4, 2.63, 0, 1.07, 0.127, 0.839, 0.46, 8.8, 0.0226, 0},
      {89.8, 3.13, 0, 0.782, 0.0895, 0.775, 0.632, 7.03, 0.00418, 0}}},  // bin_bsr.compact
}};
inline constexpr spmv_costs_cpu costs_by_loads{{
    {{{6.41, 0.567, 0.256, 0, 0.31, 0.111, 0.137, 0.00414, 0, 0, 0},
      {12.3, 1.03, 0.283, 0, 1.34, 0.115, 0.728, 0.00574, 0, 0, 0}}},  // csr.serial
    {{{33.1, 0, 3.28, 6.71, 1.94, 0.555, 2.65, 0.096, 0.16, 0.0141, 0.342, 6.71},
      {32.6, 2.16, 2.07, 5.25, 0, 0.766, 8.37, 0.119, 0.209, 0.0105, 0.378, 5.25}}},  // packed
    {{{11.1, 6.19, 9.87, 0.327, 0.601, 0.072, 0.0865, 0.00484, 0, 0, 0},
      {19.1, 6.01, 18, 0.455, 0.128, 0.0764, 0.276, 0.0017, 0, 0, 0}}},  // sell
    {{{17.2, 0.88, 0.166, 0.981, 0.0977, 0.393, 1.47, 2.46, 0.00849, 0, 0},
      {25.8, 3.89, 0.00816, 1.23, 0.0699, 0.424, 1, 1.3, 0.0114, 0, 0}}},  // bsr
    {{{63.7, 2.73, 0, 0.417, 0.164, 0.232, 0.628, 1.63, 0.0069, 0, 0},
      {94.2, 2.3, 0.2, 0.929, 0.0915, 0.336, 1.07, 4.07, 0.015, 0, 0}}},  // bin_bsr.compact
}};
inline constexpr spmv_costs_cpu costs_by_narrow{{
    {{{7.39, 0.873, 0.316, 0.0577, 0.578, 0.302, 0.35, 0.00531, 0, 0, 0, 0},
      {10.3, 1.11, 0.296, 0.0453, 0.483, 0.203, 0, 0.00635, 0, 0, 0, 0}}},  // csr.serial
    {{{74.3, 0, 6.43, 12.7, 0.165, 0.343, 0, 0.262, 0.255, 0.0281, 1.28, 7.51},
      {42.1, 0.53, 3.27, 10, 0, 0.46, 0.31, 0.187, 0.0101, 0.0231, 1.34, 3.24}}},  // packed
    {{{35.7, 7.74, 13.4, 0.472, 1.56, 0.255, 0.287, 0.00932, 0, 0, 0, 0},
      {38.5, 6.35, 11.7, 0.312, 1.72, 0.235, 0.0355, 0.00344, 0, 0, 0, 0}}},  // sell
    {{{24.4, 1.19, 0.475, 1.48, 0.176, 0.493, 0.673, 2.6, 0.0186, 0, 0, 0},
      {29.9, 2.25, 0.381, 1.77, 0.0823, 0.332, 0.808, 2.98, 0.0138, 0, 0, 0}}},  // bsr
    {{{103, 4.39, 0, 0.631, 0.225, 0.783, 0.542, 10.5, 0.0287, 0, 0, 0},
      {113, 4.07, 0.171, 0.881, 0.117, 0.895, 0.772, 10.8, 0.0213, 0, 0, 0}}},  // bin_bsr.compact
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

/// What more threads gain beyond their number by slices beside CSR (Zen 3: the second makes them 2.2 times as fast, CSR
/// 1.8).
constexpr double gain_of_slices_cpu(processor_class c) { return c == processor_class::narrow ? 1.2 : 1; }

/// Threads that share the work of a kernel: every one counts as long as there is work, and slices, for it.
inline double shares_cpu(std::size_t kernel, const csr_stats& s, int threads, processor_class processor) {
  const std::int64_t work = std::int64_t{s.rows} + s.nnz;
  if (kernels_cpu[kernel].kernel != "packed") return threads_for_product(threads, work);
  const int all = packed_threads(threads, work, s.diagonal > 0.5);
  const auto shared_by = [](double pieces, double by) { return pieces / std::ceil(pieces / by); };
  const int parts = packed_parts(work);
  const double slices = std::max(std::ceil(s.rows / 32.0), 1.0);
  const double shares = std::min(shared_by(parts, std::min(parts, all)), shared_by(slices, all));
  return shares > 1 ? shares * gain_of_slices_cpu(processor) : shares;
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
