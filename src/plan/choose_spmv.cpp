#include "plan/choose_spmv.hpp"

#include <fmt/format.h>

#include "kernels/bsr_block.hpp"

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

/// Rows of at most this many entries are walked by one thread each.
constexpr index_t longest_thread_row = 32;
/// Rows that must be in progress at once, for each multiprocessor, before one lane a row fills the device.
constexpr double rows_in_progress = 512;
/// Below this many nonzeros a launch takes longer than the bytes, and equal rows are best shared by lanes.
constexpr std::int64_t small_nnz = 5'000'000;
/// Below this many nonzeros even rows of many blocks are too few blocks to repay a warp a block row.
constexpr std::int64_t least_block_nnz = 1'000'000;
/// Below this many nonzeros a thread each is still too few threads to give any of them more.
constexpr std::int64_t thread_a_nonzero = 400'000;
/// Fewer rows than this do not occupy the device with one warp each.
constexpr index_t least_rows = 1000;

bool rows_alike(const csr_stats& s) { return s.skew < 16; }

/// Nearly full blocks, enough of them in a row to keep a warp's lanes busy and enough in all to keep the device busy.
bool suits_bsr(const csr_stats& s, index_t block) {
  const double fill = s.block_fill[static_cast<std::size_t>(block)];
  return fill >= 0.8 && s.mean / fill >= 16 && s.nnz >= least_block_nnz && rows_alike(s);
}

/// One lane a row pays where rows are padded little and so many are in progress that the device is full.
bool suits_sell(const csr_stats& s, const device_info& device) {
  return s.sell_sorted_padding <= 1.15 && static_cast<double>(s.nnz) >= rows_in_progress * device.multiprocessors * s.max;
}

/// Rules in order, read off bench/results/peers.json and real.json: fewest bytes first, then parallelism, then balance.
spmv_choice choose_standard_cuda(const csr_stats& s, type_key types, const device_info& device) {
  if (const index_t b = best_bsr_block(s, size_of(types.value)); floating(types) && suits_bsr(s, b)) {
    return {"bsr", fmt::format("blocks of {0} x {0} are {1:.0f}% full: one index for {2} places", b,
                               100 * s.block_fill[static_cast<std::size_t>(b)], b * b)};
  }
  const bool sell_takes_it = floating(types) && suits_sell(s, device);
  if (s.max <= longest_thread_row && s.mean < (sell_takes_it ? 4 : 8)) {
    return {"csr.thread", fmt::format("rows are short: {:.2f} nonzeros on average, at most {}", s.mean, s.max)};
  }
  if (sell_takes_it) {
    return {"sell", fmt::format("{} rows of at most {} entries fill the device, and SELL-32 pads them by {:.1f}%", s.rows,
                                s.max, 100 * (s.sell_sorted_padding - 1))};
  }
  if (rows_alike(s) && s.nnz < small_nnz && s.rows >= least_rows) {
    return {"csr.warp", fmt::format("{} nonzeros in rows that are alike: the longest is {:.1f} times the mean of {:.1f}",
                                    s.nnz, s.skew, s.mean)};
  }
  const auto span = fmt::format("row lengths span up to {} ({:.0f} times the mean of {:.1f})", s.max, s.skew, s.mean);
  if (s.nnz < thread_a_nonzero) return {"csr.value", fmt::format("{}, and {} nonzeros need a thread each", span, s.nnz)};
  return {"csr.merge", span};
}

/// Below this many nonzeros waking the threads costs more than they save.
constexpr std::int64_t serial_nnz = 20'000;
/// Sectors of x that 32 nonzeros touch, of 32 at most: from here on x is gathered from all over.
constexpr double scattered_sectors = 24;

/// Why `packed` would not pay, or nullptr. Read off bench/results/cpu_peers.json; the reasons are in
/// docs/notes/0002-cpu-spmv.md.
const char* not_worth_packing(const csr_stats& s, type_key types, int threads) {
  constexpr double most_padding = 3, one_cache = 1 << 20;
  const double value = static_cast<double>(size_of(types.value));
  if (!floating(types)) return "integers stay in CSR";
  if (s.sell_sorted_padding > most_padding) return "neighbouring rows differ too much to share a slice";
  if (s.rows < 256 * threads) return "there are too few rows for slices";
  if (s.gather_sectors > scattered_sectors && s.mean >= 8 && s.cols * value > one_cache) {
    return "reading x takes longer than reading A";
  }
  return nullptr;
}

spmv_choice choose_cpu(const csr_stats& s, type_key types, const device_info& device) {
  const int threads = device.multiprocessors;
  if (s.nnz < serial_nnz) {
    return {"csr.serial", fmt::format("{} nonzeros take less time than waking {} threads", s.nnz, threads)};
  }
  if (const char* reason = not_worth_packing(s, types, threads)) {
    return {"csr.balanced", fmt::format("equal nonzeros for each of {} threads (mean row {:.1f}, longest {}); {}", threads,
                                        s.mean, s.max, reason)};
  }
  return {"packed", fmt::format("slices of 32 rows like each other (mean row {:.1f}, longest {}) need 0 to 4 bytes an index",
                                s.mean, s.max)};
}

}  // namespace

spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy) {
  if (device.backend == backend_kind::cpu) return choose_cpu(stats, types, device);
  if (policy == spmv_policy::simple) return choose_simple_cuda(stats, types);
  return choose_standard_cuda(stats, types, device);
}

}  // namespace tulle
