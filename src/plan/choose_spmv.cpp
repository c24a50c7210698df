#include "plan/choose_spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernels/column_blocks.hpp"
#include "kernels/formats.hpp"
#include "kernels/padding.hpp"
#include "plan/spmm_costs_cuda.hpp"
#include "plan/spmv_costs_cpu.hpp"
#include "plan/spmv_costs_cuda.hpp"

namespace tulle {
namespace {

bool floating(type_key t) { return t.value != scalar_type::i32; }

/// The rule of thumb that most libraries stop at.
spmv_choice choose_simple_cuda(const csr_stats& s, type_key types) {
  if (floating(types) && s.ell_padding <= 1.05) {
    return {"ell", fmt::format("rows are nearly equal: ELL pads {:.1f}%", 100 * (s.ell_padding - 1))};
  }
  if (floating(types) && s.sell_sorted_padding <= 1.1 && s.mean >= 4) {
    return {"sell", fmt::format("SELL-32 pads {:.1f}%", 100 * (s.sell_sorted_padding - 1))};
  }
  if (s.mean < 4) return {"csr.thread", fmt::format("rows are short: {:.2f} nonzeros on average", s.mean)};
  if (s.skew < 10) {
    return {"csr.warp", fmt::format("rows are alike: the longest is {:.1f} times the mean of {:.1f}", s.skew, s.mean)};
  }
  return {"csr.merge", fmt::format("row lengths span up to {} (skew {:.0f}×)", s.max, s.skew)};
}

/// Below this many nonzeros reads that wait for reads cost more than bytes.
constexpr std::int64_t least_packed_nnz = 2'500'000;
/// The same where rows are longer than a tile of csr5, and its blocks would have to meet.
constexpr std::int64_t least_packed_nnz_long = 1'000'000;
constexpr double long_mean = 1000;
/// The same where row lengths differ, and slices of neighbouring rows do not fill.
constexpr std::int64_t least_packed_nnz_uneven = 5'000'000;
/// Rows of at most this many entries are walked by one thread each.
constexpr index_t longest_thread_row = 32;
/// Below this many nonzeros tiles of them are fewer than what rows shared by lanes keep busy.
constexpr std::int64_t few_nnz = 400'000;

bool rows_alike(const csr_stats& s) { return s.skew < 16; }
bool scattered(const csr_stats& s) { return s.gather_sectors > scattered_sectors; }

/// Why csr5 beats packed, or nullptr.
const char* suits_csr5(const csr_stats& s, std::size_t value, const device_info& device) {
  if (s.nnz < (s.mean > long_mean ? least_packed_nnz_long : least_packed_nnz)) return "few nonzeros";
  if (s.mean < 4 && s.max > 1.1 * s.mean) return "short rows of different lengths";
  if (!rows_alike(s) && s.nnz < least_packed_nnz_uneven) return "few nonzeros in rows of very different lengths";
  if (!rows_alike(s) && scattered(s)) return "rows of very different lengths that read x from all over";
  // H200, f64, renumbered: 27-point 100^3 217 us packed, 204 by csr5; 7-point 128^3 120 and 112. uniform, 34 MB: 603, 614.
  if (scattered(s) && 2 * static_cast<std::size_t>(s.cols) * value < device.l2_bytes) return "x read from all over L2";
  return nullptr;
}

/// Whether reads of x are spread evenly over all of it: next to no two of 32 meet in a sector, as they would in columns
/// that hold many entries, and a row's reach (its first 32 entries' where it has more, in proportion) is most of x.
bool reads_all_of_x(const csr_stats& s) {
  constexpr double hardly_any_meet = 31;
  const double reach = s.gather_span * std::max(1.0, s.mean / 32);
  return s.gather_sectors > hardly_any_meet && reach > 0.5 * s.cols;
}

/// H200, f64: 16.8M rows of 8 random columns 2794 us packed, 1880 by csr5 on 4 blocks; R-MAT 24 1230, 1321 on 2.
bool suits_column_blocks(const csr_stats& s, std::size_t value, const device_info& device) {
  constexpr double least_mean = 4;
  if (device.l2_bytes == 0 || static_cast<std::size_t>(s.cols) * value <= device.l2_bytes) return false;
  const double blocks = column_blocks_for(s.cols, value, device.l2_bytes).count;
  return rows_alike(s) && s.mean >= std::max(least_mean, blocks) && reads_all_of_x(s);
}

/// Blocks, or packed without columns, where rows are alike and that costs less than csr5. Nothing where blocks were not
/// looked at, nor for blocks of 2 with many holes: stencils with runs of three points look like that.
/// H200, f64: FEM of 3, 4, 6 unknowns, 60M nonzeros 120, 116, 115 us in bins, 131, 147, 149 packed.
std::optional<spmv_choice> choose_in_blocks(const csr_stats& s, std::size_t value, const device_info& device) {
  const index_t b = best_bsr_block(s, value);
  const double fill = s.block_fill[static_cast<std::size_t>(b)];
  if (!rows_alike(s) || s.nnz < least_packed_nnz || fill == 0) return std::nullopt;
  constexpr double least_fill_of_pairs = 0.7;  // 27 points: 0.62 by the sample that is looked at
  if (b == 2 && fill < least_fill_of_pairs) return std::nullopt;
  const spmv_cost_cuda blocks = cost_in_blocks(s, b, value, device), packed = cost_of_packed(s, b, value);
  const spmv_cost_cuda csr5 = cost_of_csr5(s, value);
  if (csr5.megabytes <= std::min(blocks.megabytes, packed.megabytes)) return std::nullopt;
  const spmv_cost_cuda& least = packed.megabytes < blocks.megabytes ? packed : blocks;
  return spmv_choice{std::string(least.kernel),
                     fmt::format("blocks of {0} x {0} are {1:.0f}% full: a cost of {2:.0f} MB, {3:.0f} in csr5", b,
                                 100 * fill, least.megabytes, csr5.megabytes)};
}

/// Blocks with too many holes for bins of them: columns then neither follow each other nor repeat from row to row, and
/// packed's short offsets do not pay. Rows of holes differ in length, unlike those of stencils and bands; where rows are runs,
/// blocks of every size are full.
bool has_holey_blocks(const csr_stats& s) {
  constexpr double least_skew = 1.08, least_fill = 0.55, runs_fill = 0.5;
  if (!rows_alike(s) || s.nnz < least_packed_nnz || s.skew < least_skew) return false;
  const auto [least, most] = std::minmax_element(s.block_fill.begin() + 2, s.block_fill.end());
  return *most >= least_fill && *least < runs_fill;
}

/// Integers have no converted copy.
spmv_choice choose_integer_cuda(const csr_stats& s) {
  if (s.max <= longest_thread_row && s.mean < 4 && s.nnz < least_packed_nnz) {
    return {"csr.thread", fmt::format("rows are short: {:.2f} nonzeros on average, at most {}", s.mean, s.max)};
  }
  if (rows_alike(s) && s.mean >= 12 && s.nnz < few_nnz && s.rows >= 1000) {
    return {"csr.warp", fmt::format("{} nonzeros in rows that are alike: the longest is {:.1f} times the mean of {:.1f}",
                                    s.nnz, s.skew, s.mean)};
  }
  return {"csr.stream", fmt::format("equal tiles of {} nonzeros where they are (mean row {:.1f}, longest {})", s.nnz, s.mean,
                                    s.max)};
}

/// Rules in order, read off bench/results/peers.json and real.json. They ask for no more than what kernels/formats.hpp
/// `inspect` promises.
spmv_choice choose_standard_cuda(const csr_stats& s, type_key types, const device_info& device) {
  if (!floating(types)) return choose_integer_cuda(s);
  if (s.nnz < s.rows) {
    return {"csr.stream", fmt::format("{} nonzeros in {} rows: empty rows would fill a copy", s.nnz, s.rows)};
  }
  if (const std::size_t value = size_of(types.value); suits_column_blocks(s, value, device)) {
    return {"csr5.blocked",
            fmt::format("rows of {:.1f} entries read all of an x of {} bytes, L2 has {}: {} blocks of columns", s.mean,
                        static_cast<std::size_t>(s.cols) * value, device.l2_bytes,
                        column_blocks_for(s.cols, value, device.l2_bytes).count)};
  }
  if (auto in_blocks = choose_in_blocks(s, size_of(types.value), device)) return *std::move(in_blocks);
  if (const char* reason = has_holey_blocks(s) ? "blocks with holes" : suits_csr5(s, size_of(types.value), device)) {
    return {"csr5", fmt::format("{}: {} nonzeros in equal tiles of whole rows (mean row {:.1f}, longest {})", reason, s.nnz, s.mean,
                                s.max)};
  }
  return {"packed", fmt::format("{} nonzeros repay a copy with short column offsets (mean row {:.1f}, longest {})", s.nnz, s.mean,
                                s.max)};
}

/// In CSR, by threads where there is work for two.
spmv_choice in_csr(const csr_stats& s, int threads, const std::string& why) {
  if (threads_for(2, s.rows + s.nnz) == 1) {
    return {"csr.serial", fmt::format("{} nonzeros in {} rows take less time than waking {} threads; {}", s.nnz, s.rows, threads, why)};
  }
  return {"csr.balanced", fmt::format("equal nonzeros for each of {} threads (mean row {:.1f}, longest {}); {}", threads, s.mean,
                                      s.max, why)};
}

/// Above this many bytes of values and columns what memory gives decides, which the predicted times do not foresee.
constexpr double most_predicted_bytes = 4 << 20;

/// Why `packed` would not pay where the matrix comes from memory, or nullptr: docs/notes/0002-cpu-spmv.md.
const char* not_worth_packing(const csr_stats& s, double value, int threads) {
  constexpr double one_cache = 1 << 20;
  if (s.rows < 256 * threads) return "there are too few rows for slices";
  if (scattered(s) && s.mean >= 8 && s.cols * value > one_cache) return "reading x takes longer than reading A";
  return nullptr;
}

/// What is predicted to take least time: docs/notes/0024-choice-cpu.md.
spmv_choice choose_cpu(const csr_stats& s, type_key types, const device_info& device) {
  const int threads = device.multiprocessors;
  if (!floating(types)) return in_csr(s, threads, "integers stay in CSR");
  if (pads_too_much(s.sell_sorted_padding, s.sell_sorted_padding * static_cast<double>(s.nnz))) {
    return in_csr(s, threads, fmt::format("slices of 32 rows would have {:.1f} slots a nonzero", s.sell_sorted_padding));
  }
  const auto value = static_cast<double>(size_of(types.value));
  if (static_cast<double>(s.nnz) * (value + 4) > most_predicted_bytes) {
    if (const char* reason = not_worth_packing(s, value, threads)) return in_csr(s, threads, reason);
    return {"packed", fmt::format("slices of 32 rows like each other (mean row {:.1f}, longest {}) need 0 to 4 bytes an index",
                                  s.mean, s.max)};
  }
  const spmv_times_cpu us = predicted_times_cpu(s, size_of(types.value), threads);
  if (us.csr <= us.packed) {
    return in_csr(s, threads, fmt::format("about {:.2g} us, in slices of 32 rows {:.2g}", us.csr, us.packed));
  }
  return {"packed", fmt::format("slices of 32 rows (mean row {:.1f}, longest {}) take about {:.2g} us, CSR {:.2g}", s.mean, s.max,
                                us.packed, us.csr)};
}

}  // namespace

std::string_view kernel_without_set_up(backend_kind backend) {
  return backend == backend_kind::cpu ? "csr.balanced" : "csr.stream";
}
std::string_view kernel_for_many(backend_kind backend, const csr_stats& stats, type_key types, index_t columns) {
  if (backend == backend_kind::cpu) return "csr.balanced";
  const bool in_pieces = columns == 0 || !floating(types) || suits_pieces(stats, {columns, true, size_of(types.value)});
  return in_pieces ? "csr.pieces" : "packed";
}

bool suits_many(backend_kind backend, std::string_view kernel, const csr_stats& stats, type_key types, index_t columns,
                bool by_row) {
  return backend == backend_kind::cpu || columns == 1 ||
         suits_many_cuda(kernel, stats, {columns, by_row, size_of(types.value)});
}

spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy) {
  if (device.backend == backend_kind::cpu) return choose_cpu(stats, types, device);
  if (policy == spmv_policy::simple) return choose_simple_cuda(stats, types);
  return choose_standard_cuda(stats, types, device);
}

}  // namespace tulle
