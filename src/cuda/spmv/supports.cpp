#include "cuda/spmv/supports.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "kernels/bsr_block.hpp"

namespace tulle::cuda {
namespace {

constexpr double max_padding = 3.0;             // slots per nonzero; beyond it other kernels always win
constexpr std::int64_t small_slots = 1 << 22;   // below which padding costs little
constexpr double min_fill = 0.4;                // of the places of blocks

}  // namespace

support supports_csr_vector_shared(const csr_stats& s, type_key types, const device_info& device) {
  const std::size_t need = static_cast<std::size_t>(s.column_window) * size_of(types.value);
  if (need <= device.shared_bytes) return {};
  return {false, fmt::format("128 rows reach over {} columns: {} bytes of x do not fit {} bytes of shared memory",
                             s.column_window, need, device.shared_bytes)};
}

support supports_ell(const csr_stats& s, type_key, const device_info&) {
  if (s.ell_padding <= max_padding || static_cast<std::int64_t>(s.rows) * s.max <= small_slots) return {};
  return {false, fmt::format("the longest row has {} entries, the mean {:.1f}: {:.1f} slots per nonzero, at most {} are allowed",
                             s.max, s.mean, s.ell_padding, max_padding)};
}

support supports_sell(const csr_stats& s, type_key, const device_info&) {
  if (s.sell_sorted_padding <= max_padding || s.nnz <= small_slots) return {};
  return {false, fmt::format("sorted within windows of 1024 rows it still takes {:.1f} slots per nonzero, at most {} are allowed",
                             s.sell_sorted_padding, max_padding)};
}

support supports_bsr(const csr_stats& s, type_key types, const device_info&) {
  const index_t b = best_bsr_block(s, size_of(types.value));
  const double fill = s.block_fill[static_cast<std::size_t>(b)];
  if (fill >= min_fill || s.nnz <= small_slots) return {};
  return {false, fmt::format("the best blocks ({0} x {0}) are {1:.0f}% full, {2:.0f}% are needed", b, 100 * fill, 100 * min_fill)};
}

support supports_packed(const csr_stats& s, type_key, const device_info&) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  if (s.nnz < most) return {};
  return {false, fmt::format("{} nonzeros: column offsets are found by 32-bit numbers of 4-byte words", s.nnz)};
}

support supports_cusparse(const csr_stats& s, type_key types, const device_info&) {
  if (types.offset == offset_type::i64) return {false, "cuSPARSE takes 64-bit offsets only with 64-bit column indices"};
  if (s.nnz == 0) return {false, "cuSPARSE is not asked to multiply by a matrix without entries"};
  return {};
}

support supports_cusparse_bsr(const csr_stats& s, type_key types, const device_info& device) {
  if (const support basic = supports_cusparse(s, types, device); !basic.ok) return basic;
  return supports_bsr(s, types, device);
}

support supports_cusparse_sell(const csr_stats& s, type_key types, const device_info& device) {
  if (const support basic = supports_cusparse(s, types, device); !basic.ok) return basic;
  const double slots = s.sell_padding * static_cast<double>(s.nnz);
  if (s.sell_padding > 3 && slots > 1 << 22) return {false, fmt::format("rows in place take {:.1f} slots per nonzero", s.sell_padding)};
  if (slots > std::numeric_limits<std::int32_t>::max()) return {false, "more than 2^31 slots"};
  return {};
}

}  // namespace tulle::cuda
