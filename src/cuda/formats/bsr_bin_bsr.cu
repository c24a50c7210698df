// BSR <-> bin_bsr (formats/views.hpp). One thread per scalar row walks its slots: the 32 of a bin side by side.
#include <cstdlib>
#include "core/instantiate.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "kernels/bin_rows.hpp"

namespace tulle::cuda {
namespace {

/// Where the arrays of a bin_bsr are written; no columns and masks where only values change.
template <class T>
struct bin_arrays {
  index_t* colptr;
  std::uint8_t* mask;
  T* values;
};

/// All of a row's slots, used or not; the row may be past the matrix.
template <class T, class O>
__device__ void fill_slots(const bsr_view<T, O>& a, const std::int64_t* rowptr, std::int64_t r,
                           const bin_arrays<T>& to) {
  const index_t b = a.block;
  const std::int64_t first = rowptr[r / bin_rows * bin_rows], end = rowptr[(r / bin_rows + 1) * bin_rows];
  std::int64_t k = r < a.rows ? a.rowptr[r / b] : 0;
  const std::int64_t last = r < a.rows ? a.rowptr[r / b + 1] : 0;
  for (std::int64_t slot = first + r % bin_rows; slot < end; slot += bin_rows, ++k) {
    const bool used = k < last;
    if (to.colptr != nullptr) to.colptr[slot] = used ? a.colind[k] : -1;
    if (to.mask != nullptr) to.mask[slot] = used ? row_bits(a.mask[k], static_cast<index_t>(r % b), b) : 0;
    copy_row(a.values + (k * b + r % b) * b, 1, to.values + bin_place(slot, static_cast<index_t>(r), b), bin_rows, b,
             used);
  }
}

/// The longest row of those whose slots share a sector of so many bytes with this lane's.
template <class T>
__device__ __forceinline__ std::int64_t longest_in_sector(std::int64_t length) {
  constexpr int lanes = 32 / static_cast<int>(sizeof(T));
#pragma unroll
  for (int d = lanes / 2; d > 0; d /= 2) length = max(length, __shfl_xor_sync(full_warp, length, d));
  return length;
}

template <int Most, int Together, bool Skip, int Warps, class T, class O>
void try_update(const context& ctx, bsr_view<T, O> a, bin_bsr<T>& out) {
  for_each_item(ctx, "bin_bsr.update", std::int64_t{out.bins} * bin_rows * Warps,
                [a, rowptr = out.rowptr.data(), values = out.values.data()] __device__(std::int64_t at) {
                  const index_t b = a.block;
                  const std::int64_t bin = at / (bin_rows * Warps);
                  const std::int64_t r = bin * bin_rows + at % bin_rows;
                  const index_t i = static_cast<index_t>(r % b);
                  const std::int64_t first = rowptr[bin * bin_rows];
                  const std::int64_t begin = r < a.rows ? a.rowptr[r / b] : 0;
                  const std::int64_t length = r < a.rows ? a.rowptr[r / b + 1] - begin : 0;
                  const std::int64_t width =
                      Skip ? longest_in_sector<T>(length) : (rowptr[(bin + 1) * bin_rows] - first) / bin_rows;
                  const T* const from = a.values + (begin * b + i) * b;
                  T* const to = values + first * b + at % bin_rows;
                  const index_t area = b * b;
                  for (std::int64_t s = at / bin_rows % Warps * Together; s < width; s += Warps * Together) {
                    T row[Together][Most];
#pragma unroll
                    for (int u = 0; u < Together; ++u) {
#pragma unroll
                      for (int j = 0; j < Most; ++j)
                        row[u][j] = j < b && s + u < length ? from[(s + u) * area + j] : T{0};
                    }
#pragma unroll
                    for (int u = 0; u < Together; ++u) {
#pragma unroll
                      for (int j = 0; j < Most; ++j) {
                        if (j < b && s + u < width) to[((s + u) * b + j) * bin_rows] = row[u][j];
                      }
                    }
                  }
                });
}

}  // namespace

template <scalar T, offset O>
void update_bin_bsr(const context& ctx, bsr_view<T, O> a, bin_bsr<T>& out) {
  if constexpr (!std::is_integral_v<T>) {
    const char* const t = std::getenv("TULLE_TRY");
    const int way = t != nullptr ? std::atoi(t) : 1;
    if (way == 1) {
      if (a.block <= 2) return try_update<2, 8, true, 2>(ctx, a, out);
      if (a.block <= 4) return try_update<4, 4, true, 2>(ctx, a, out);
      return try_update<8, 2, true, 4>(ctx, a, out);
    }
    if (way == 2) {
      if (a.block <= 2) return try_update<2, 8, true, 1>(ctx, a, out);
      if (a.block <= 4) return try_update<4, 4, true, 4>(ctx, a, out);
      return try_update<8, 2, true, 2>(ctx, a, out);
    }
    if (way == 3) {
      if (a.block <= 2) return try_update<2, 8, true, 4>(ctx, a, out);
      if (a.block <= 4) return try_update<4, 4, true, 1>(ctx, a, out);
      return try_update<8, 2, true, 8>(ctx, a, out);
    }
    if (way == 4) {
      if (a.block <= 2) return try_update<4, 4, true, 2>(ctx, a, out);
      if (a.block <= 4) return try_update<8, 2, true, 4>(ctx, a, out);
      return try_update<8, 4, true, 4>(ctx, a, out);
    }
  }
  // Unused slots, too: sectors that are half written cost more than whole ones.
  const bin_arrays<T> to{nullptr, nullptr, out.values.data()};
  for_each_item(ctx, "bin_bsr.update", std::int64_t{out.bins} * bin_rows,
                [a, to, rowptr = out.rowptr.data()] __device__(std::int64_t r) { fill_slots(a, rowptr, r, to); });
}

template <scalar T, offset O>
bin_bsr<T> bsr_to_bin_bsr(const context& ctx, bsr_view<T, O> a) {
  bin_bsr<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.block = a.block;
  out.bins = static_cast<index_t>(ceil_div(a.rows, bin_rows));
  const std::int64_t lanes = std::int64_t{out.bins} * bin_rows;
  buffer<std::int64_t> slots = zero_counts(ctx, out.bins);
  for_each_item(ctx, "bin_bsr.count_slots", lanes, [a, slots = slots.data()] __device__(std::int64_t r) {
    const std::int64_t R = r / a.block;  // one thread per lane, whole warps
    const std::int64_t width = warp_max(r < a.rows ? std::int64_t{a.rowptr[R + 1]} - a.rowptr[R] : std::int64_t{0});
    if (lane_id() == 0) slots[r / bin_rows] = width * bin_rows;
  });
  exclusive_scan(ctx, slots);
  out.rowptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(lanes + bin_rows));
  for_each_item(ctx, "bin_bsr.rowptr", lanes + bin_rows,
                [slots = slots.data(), rowptr = out.rowptr.data()] __device__(std::int64_t r) {
                  rowptr[r] = slots[r / bin_rows] + r % bin_rows;
                });
  const auto all = static_cast<std::size_t>(read_back(ctx, slots.data() + out.bins));
  out.colptr = buffer<index_t>(ctx, all);
  out.values = buffer<T>(ctx, all * static_cast<std::size_t>(a.block));
  if (a.mask != nullptr) out.mask = buffer<std::uint8_t>(ctx, all);
  const bin_arrays<T> to{out.colptr.data(), out.mask.data(), out.values.data()};
  for_each_item(ctx, "bin_bsr.fill", lanes,
                [a, to, rowptr = out.rowptr.data()] __device__(std::int64_t r) { fill_slots(a, rowptr, r, to); });
  return out;
}

template <scalar T, offset O>
void update_bsr_of_bins(const context& ctx, bin_bsr_view<T> a, bsr<T, O>& out) {
  const auto gather = [a, rowptr = out.rowptr.data(), values = out.values.data()] __device__(std::int64_t r) {
    gather_row(a, r, rowptr, values);
  };
  for_each_item(ctx, "bsr.update_of_bins", std::int64_t{out.block_rows} * a.block, gather);
}

template <scalar T, offset O>
bsr<T, O> bin_bsr_to_bsr(const context& ctx, bin_bsr_view<T> a) {
  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.block = a.block;
  out.block_rows = static_cast<index_t>(ceil_div(a.rows, a.block));
  buffer<std::int64_t> counts = zero_counts(ctx, out.block_rows);
  for_each_item(ctx, "bsr.count_of_bins", out.block_rows,
                [a, counts = counts.data()] __device__(std::int64_t R) { counts[R] = bin_row_length(a, R * a.block); });
  auto [rowptr, total] = offsets_of<O>(ctx, std::move(counts));
  out.rowptr = std::move(rowptr);
  const auto blocks = static_cast<std::size_t>(total);
  out.colind = buffer<index_t>(ctx, blocks);
  out.values = buffer<T>(ctx, blocks * static_cast<std::size_t>(a.block * a.block));
  if (a.mask != nullptr || a.rows % a.block != 0) out.mask = buffer<std::uint64_t>(ctx, blocks);
  const auto gather = [a, rowptr = out.rowptr.data(), colind = out.colind.data(), mask = out.mask.data()] __device__(
                          std::int64_t R) { gather_pattern(a, R, rowptr, colind, mask); };
  for_each_item(ctx, "bsr.pattern_of_bins", out.block_rows, gather);
  update_bsr_of_bins(ctx, a, out);
  return out;
}

template <scalar T>
validation validate_bin_bsr(const context& ctx, bin_bsr_view<T> a) {
  constexpr unsigned long long none = ~0ull;
  const std::int64_t lanes = std::int64_t{a.bins} * bin_rows;
  if (read_back(ctx, a.rowptr) != 0) return {data_status::invalid_offsets, a.rows > 0 ? 0 : -1, -1};
  auto first = device_value<unsigned long long>(ctx, 0xff);
  for_each_item(ctx, "bin_bsr.check_offsets", lanes, [a, first = first.data()] __device__(std::int64_t r) {
    if (has_bad_offset(a, r)) atomicMin(first, static_cast<unsigned long long>(r));
  });
  if (const auto row = read_back(ctx, first.data()); row != none) {
    return {data_status::invalid_offsets, static_cast<std::int64_t>(row), -1};
  }
  for_each_item(ctx, "bin_bsr.check_slots", lanes, [a, first = first.data()] __device__(std::int64_t r) {
    if (bad_slot(a, r) != no_bad_slot) atomicMin(first, static_cast<unsigned long long>(r));
  });
  const auto row = read_back(ctx, first.data());
  if (row == none) return {};
  auto entry = device_value<std::int64_t>(ctx);
  for_each_item(ctx, "bin_bsr.find_slot", 1, [a, row, entry = entry.data()] __device__(std::int64_t) {
    *entry = bad_slot(a, static_cast<std::int64_t>(row));
  });
  return {data_status::index_out_of_range, static_cast<std::int64_t>(row), read_back(ctx, entry.data())};
}

#define TULLE_INSTANTIATE(T, O)                                                    \
  template bin_bsr<T> bsr_to_bin_bsr<T, O>(const context&, bsr_view<T, O>);        \
  template bsr<T, O> bin_bsr_to_bsr<T, O>(const context&, bin_bsr_view<T>);        \
  template void update_bin_bsr<T, O>(const context&, bsr_view<T, O>, bin_bsr<T>&); \
  template void update_bsr_of_bins<T, O>(const context&, bin_bsr_view<T>, bsr<T, O>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#define TULLE_INSTANTIATE_VALUE(T) template validation validate_bin_bsr<T>(const context&, bin_bsr_view<T>);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_VALUE)

}  // namespace tulle::cuda
