#include "plan/choose_spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "kernels/bsr_block.hpp"
#include "kernels/formats.hpp"
#include "kernels/packed_parts.hpp"
#include "kernels/padding.hpp"
#include "kernels/processor.hpp"
#include "plan/spmm_choice_cuda.hpp"
#include "plan/spmm_costs_cuda.hpp"
#include "plan/spmv_costs_cpu.hpp"
#include "plan/spmv_costs_cuda.hpp"

namespace tulle {
namespace {

bool floating(type_key t) { return is_floating(t.value); }

detail::as_time time(double microseconds) { return {microseconds}; }
detail::as_groups groups(std::int64_t count) { return {count}; }
detail::as_counted nonzeros(const csr_stats& s) { return {s.nnz, "nonzero"}; }
detail::as_counted rows(const csr_stats& s) { return {s.rows, "row"}; }
detail::as_counted of_threads(int count) { return {count, "thread"}; }

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
  return {"csr.merge", fmt::format("row lengths span up to {} (skew {:.0f}×)", groups(s.max), s.skew)};
}

/// Rows of at most this many entries are walked by one thread each.
constexpr index_t longest_thread_row = 32;
constexpr std::int64_t few_nnz = 400'000, many_nnz = 2'500'000;
/// Below, csr5 is the fastest for one vector.
constexpr std::int64_t least_predicted = 500'000;

bool rows_alike(const csr_stats& s) { return s.skew < 16; }
bool scattered(const csr_stats& s) { return s.gather_sectors > scattered_sectors; }

/// Statistics that no device sampled (of a CPU, or made by hand): what is read of x from the sectors that 32 entries
/// touch.
csr_stats with_reads(csr_stats s) {
  if (s.nnz == 0 || s.reads_f64.sectors > 0) return s;
  const double sectors = s.gather_sectors > 0 ? std::min(1.0, s.gather_sectors / 32) : 0.3;
  const double again = sectors > 0.75 ? 1 : 0.4;  // of sectors, those that no entry read shortly before
  const auto reads = [&](double share) {
    const double of = std::min(1.0, share * sectors);
    return csr_stats::x_reads{of, of, of, again * of, again * of, again * of};
  };
  s.reads_f64 = reads(1);
  s.reads_f32 = reads(sectors > 0.75 ? 1 : 0.6);
  s.offset_bytes = scattered(s) ? 4 : 1;
  s.tile_padding = 1 + std::min(1.0, s.mean / 2048);
  return s;
}

/// Whether a kernel is worth a prediction. What it cannot take at all its own entry says.
bool may_be_chosen(std::string_view kernel, const csr_stats& s, std::size_t value) {
  constexpr double most_ell_padding = 1.5, most_sell_padding = 2.9, least_fill = 0.4;
  constexpr index_t least_block_rows = 4096;  // a lane takes one
  constexpr std::int64_t most_packed = std::numeric_limits<std::uint32_t>::max();
  if (kernel == "ell") return s.ell_padding <= most_ell_padding;
  if (kernel == "sell") return std::min(s.sell_padding, s.sell_sorted_padding) <= most_sell_padding;
  if (kernel == "packed") return s.nnz < most_packed;
  if (kernel == "csr5.blocked") return s.cols >= 2;
  if (kernel != "bin_bsr.compact") return true;
  const index_t b = best_bsr_block(s, value);
  return rows_alike(s) && s.rows / b >= least_block_rows && s.block_fill[static_cast<std::size_t>(b)] >= least_fill;
}

/// Blocks of 8 in long rows are faster in `bsr` where there are enough of them (docs/notes/0012-fused-passes.md).
std::string_view block_kernel(const csr_stats& s, std::size_t value) {
  constexpr double least_row_bytes = 2800;
  constexpr index_t least_block_rows = 8192;
  const index_t b = best_bsr_block(s, value);
  const double row_bytes = s.mean * b / s.block_fill[static_cast<std::size_t>(b)] * static_cast<double>(value);
  return b == 8 && row_bytes >= least_row_bytes && s.rows / b >= least_block_rows ? "bsr" : "bin_bsr.compact";
}

/// Further types have one kernel.
spmv_choice choose_further_cuda(const csr_stats& s, type_key types) {
  return {"csr.warp", fmt::format("{} values: lanes for each row (mean row {:.1f}, longest {})", name(types.value),
                                  s.mean, groups(s.max))};
}

/// Integers have no converted copy.
spmv_choice choose_integer_cuda(const csr_stats& s) {
  if (s.max <= longest_thread_row && s.mean < 4 && s.nnz < many_nnz) {
    return {"csr.thread", fmt::format("rows are short: {:.2f} nonzeros on average, at most {}", s.mean, groups(s.max))};
  }
  if (rows_alike(s) && s.mean >= 12 && s.nnz < few_nnz && s.rows >= 1000) {
    return {"csr.warp", fmt::format("{} in rows that are alike: the longest is {:.1f} times the mean of {:.1f}",
                                    nonzeros(s), s.skew, s.mean)};
  }
  return {"csr.stream", fmt::format("equal tiles of {} where they are (mean row {:.1f}, longest {})", nonzeros(s),
                                    s.mean, groups(s.max))};
}

struct prediction {
  static constexpr double never = std::numeric_limits<double>::infinity();
  std::string_view kernel;
  double microseconds = never;
  double compared = never;
};

/// Of the kernels that may be chosen, of a matrix that was sampled.
std::vector<prediction> predictions_cuda(const csr_stats& s, std::size_t value, const device_info& device) {
  const spmv_terms_of terms(s, value, device);
  const spmv_device_class& from = class_of(device);
  std::vector<prediction> all;
  for (std::size_t k = 0; k < cuda_candidates.size(); ++k) {
    const std::string_view name = cuda_candidates[k];
    if (!may_be_chosen(name, s, value)) continue;
    const double us = predicted_microseconds(terms.of(name), k, value, device, from);
    all.push_back({name, us, us * margin_cuda(name)});
  }
  return all;
}

/// What is predicted to take least time.
spmv_choice choose_standard_cuda(const csr_stats& looked_at, type_key types, const device_info& device) {
  if (!floating(types)) return choose_integer_cuda(looked_at);
  const csr_stats s = with_reads(looked_at);
  if (s.nnz < s.rows) {
    return {"csr.stream", fmt::format("{} in {}: empty rows would fill a copy", nonzeros(s), rows(s))};
  }
  if (s.nnz < least_predicted) {
    return {"csr5", fmt::format("few nonzeros: {} in equal tiles of whole rows (mean row {:.1f}, longest {})",
                                groups(s.nnz), s.mean, groups(s.max))};
  }
  const std::size_t value = size_of(types.value);
  prediction best, next;
  for (const prediction& of : predictions_cuda(s, value, device)) {
    if (of.compared < best.compared) {
      next = best;
      best = of;
    } else if (of.compared < next.compared) {
      next = of;
    }
  }
  const std::string_view kernel = best.kernel == "bin_bsr.compact" ? block_kernel(s, value) : best.kernel;
  return {std::string(kernel), fmt::format("about {}, {} {} ({}, mean row {:.1f}, longest {})", time(best.microseconds),
                                           next.kernel, time(next.microseconds), nonzeros(s), s.mean, groups(s.max))};
}

/// A choice on a CPU, and what there is to say of it where that is asked for.
using explanation = std::optional<std::string>;
template <class... Values>
explanation say(bool asked, fmt::format_string<Values...> text, Values&&... values) {
  if (!asked) return std::nullopt;
  return fmt::format(text, std::forward<Values>(values)...);
}

/// In CSR, by threads where there is work for two.
spmv_choice in_csr(const csr_stats& s, int threads, const explanation& why) {
  const bool alone = threads_for_product(2, s.rows + s.nnz) == 1;
  const char* const kernel = alone ? "csr.serial" : "csr.balanced";
  if (!why) return {kernel, ""};
  if (alone) {
    return {kernel, fmt::format("{} in {} take{} less time than waking {}; {}", nonzeros(s), rows(s),
                                s.nnz == 1 ? "s" : "", of_threads(threads), *why)};
  }
  return {kernel, fmt::format("equal nonzeros for each of {} (mean row {:.1f}, longest {}); {}", of_threads(threads),
                              s.mean, groups(s.max), *why)};
}

/// Why `packed` would not pay where the matrix comes from memory, or nullptr: docs/notes/0002-cpu-spmv.md.
const char* not_worth_packing(const csr_stats& s, double value, int threads) {
  constexpr double one_cache = 1 << 20;
  if (s.rows < 256 * threads) return "there are too few rows for slices";
  if (scattered(s) && s.mean >= 8 && s.cols * value > one_cache) return "reading x takes longer than reading A";
  return nullptr;
}

}  // namespace

/// What is predicted to take least time: docs/notes/0024-choice-cpu.md.
spmv_choice choose_spmv_cpu(const csr_stats& s, type_key types, int threads, processor_class processor, bool why) {
  if (!floating(types)) return in_csr(s, threads, say(why, "{} values stay in CSR", name(types.value)));
  const auto pads = [&](double padding) { return pads_too_much(padding, padding * static_cast<double>(s.nnz)); };
  const auto value = static_cast<double>(size_of(types.value));
  if (static_cast<double>(s.nnz) * (value + 4) > most_predicted_bytes_cpu(processor, size_of(types.value))) {
    if (pads(packed_sorted_padding(s)))
      return in_csr(s, threads,
                    say(why, "slices of 32 rows would have {:.1f} slots a nonzero", packed_sorted_padding(s)));
    if (const char* reason = not_worth_packing(s, value, threads)) return in_csr(s, threads, say(why, "{}", reason));
    return {"packed",
            say(why, "slices of 32 rows like each other (mean row {:.1f}, longest {}) need 0 to 4 bytes an index",
                s.mean, groups(s.max))
                .value_or("")};
  }
  auto us = predicted_times_cpu(s, size_of(types.value), threads, processor);
  if (pads(packed_sorted_padding(s))) us[1] = std::numeric_limits<double>::infinity();
  if (pads(s.sell_sorted_padding)) us[2] = std::numeric_limits<double>::infinity();
  // A bin of blocks is as long as its longest row.
  if (s.max > longest_packed_row(s.rows, s.nnz)) us[4] = std::numeric_limits<double>::infinity();
  const auto least = static_cast<std::size_t>(std::ranges::min_element(us) - us.begin());
  const auto& [csr, packed, sell, blocks, bins] = us;
  if (least == 0) return in_csr(s, threads, say(why, "about {}, in slices of 32 rows {}", time(csr), time(packed)));
  if (least == 1) {
    return {"packed", say(why, "slices of 32 rows (mean row {:.1f}, longest {}) take about {}, CSR {}", s.mean,
                          groups(s.max), time(packed), time(csr))
                          .value_or("")};
  }
  if (least == 2) {
    return {"sell",
            say(why, "slices of 32 rows with columns as they are (mean row {:.1f}, longest {}) take about {}, CSR {}",
                s.mean, groups(s.max), time(sell), time(csr))
                .value_or("")};
  }
  const index_t b = best_bsr_block(s, size_of(types.value));
  return {std::string(kernels_cpu[least].kernel),
          say(why, "blocks of {0} x {0}, {1:.0f}% full, take about {2}, CSR {3}", b,
              100 * s.block_fill[static_cast<std::size_t>(b)], time(std::min(blocks, bins)), time(csr))
              .value_or("")};
}

std::string_view kernel_without_set_up(backend_kind backend) {
  return backend == backend_kind::cpu ? "csr.balanced" : "csr.stream";
}
namespace {
/// Those that read the CSR for several vectors: nothing else is as fast on a CPU but in single cases. Blocks take up to
/// 11 times as long (docs/notes/0029-choice-many.md).
bool suits_many_cpu(std::string_view kernel) { return kernel.starts_with("csr.") || kernel == "packed"; }
}  // namespace

std::string_view kernel_for_many(const device_info& device, const csr_stats& stats, type_key types, index_t columns,
                                 bool by_row) {
  if (device.backend == backend_kind::cpu) return "csr.balanced";
  if (columns == 0 || !floating(types)) return "csr.pieces";
  const many_task task{columns, by_row, size_of(types.value)};
  return choose_many_cuda(stats.nnz < least_sampled ? stats : with_reads(stats), task, device);
}

std::vector<std::string_view> worth_measuring_many(backend_kind backend, const csr_stats& stats, type_key types,
                                                   index_t columns, bool by_row) {
  if (backend == backend_kind::cpu || !floating(types)) return {};
  return worth_measuring_many_cuda(stats, {columns, by_row, size_of(types.value)});
}

bool is_as_wanted(const device_info& device, const csr_stats& stats, type_key types, index_t columns,
                  std::string_view kernel, std::string_view wanted) {
  if (device.backend == backend_kind::cuda) return is_alike_for_many(kernel, wanted);
  const std::int64_t work = std::int64_t{stats.rows} + stats.nnz;
  const bool on_one = threads_for_products(device.multiprocessors, work, columns, size_of(types.value)) == 1;
  return suits_many_cpu(kernel) && (kernel != "csr.serial" || on_one);
}

bool suits_many(backend_kind backend, std::string_view kernel, type_key types, index_t columns, bool by_row) {
  if (columns == 1) return true;
  if (backend == backend_kind::cpu) return suits_many_cpu(kernel);
  return suits_many_cuda(kernel, {columns, by_row, size_of(types.value)});
}

spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy) {
  if (device.backend == backend_kind::cpu)
    return choose_spmv_cpu(stats, types, device.multiprocessors, this_processor(), true);
  if (is_further(types.value)) return choose_further_cuda(stats, types);
  if (policy == spmv_policy::simple) return choose_simple_cuda(stats, types);
  return choose_standard_cuda(stats, types, device);
}

std::string chosen_spmv_kernel(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy) {
  if (device.backend == backend_kind::cpu)
    return choose_spmv_cpu(stats, types, device.multiprocessors, this_processor(), false).kernel;
  return choose_spmv(stats, types, device, policy).kernel;
}

double time_over_least_cuda(std::string_view kernel, const csr_stats& stats, type_key types, const device_info& device) {
  if (!floating(types) || stats.nnz < std::max<std::int64_t>(stats.rows, least_predicted)) return prediction::never;
  double least = prediction::never, of_kernel = prediction::never;
  for (const prediction& p : predictions_cuda(with_reads(stats), size_of(types.value), device)) {
    least = std::min(least, p.microseconds);
    if (p.kernel == kernel) of_kernel = p.microseconds;
  }
  return of_kernel / least;
}

std::vector<const spmv_kernel*> most_promising_first(std::vector<const spmv_kernel*> kernels, const csr_stats& stats,
                                                     type_key types, const device_info& device) {
  if (device.backend != backend_kind::cuda) return kernels;
  std::vector<std::pair<double, const spmv_kernel*>> ranked;
  for (const spmv_kernel* k : kernels) ranked.emplace_back(time_over_least_cuda(k->name, stats, types, device), k);
  std::ranges::stable_sort(ranked, {}, [](const auto& of) { return of.first; });
  std::ranges::transform(ranked, kernels.begin(), [](const auto& of) { return of.second; });
  return kernels;
}

}  // namespace tulle
