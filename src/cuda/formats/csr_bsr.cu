// CSR <-> BSR. Full blocks are copied (full_blocks.cuh). Other sorted rows are merged (block_merge.cuh), eight lanes per block row, once to count blocks and once to
// store them; entries that repeat are added in their order. For rows that are not sorted, one thread per entry looks for
// its block and stores its value there; where entries repeat, one thread per row adds them in their order.
#include <optional>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/formats/block_merge.cuh"
#include "cuda/formats/block_structure.hpp"
#include "cuda/formats/collect_rows.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/formats/full_blocks.cuh"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

/// Where the entries of a CSR go in a BSR.
template <class O>
struct block_places {
  index_t block;
  const O* rowptr;
  const index_t* colind;

  /// The block of (row, column), or -1 when there is none.
  __device__ std::int64_t find(index_t row, index_t column) const {
    const std::int64_t begin = rowptr[row / block];
    const std::int64_t length = rowptr[row / block + 1] - begin;
    const std::int64_t at = lower_bound(colind + begin, length, column / block);
    return at < length && colind[begin + at] == column / block ? begin + at : -1;
  }
  /// The bit of (row, column) in its block's mask, and its place among the block's values.
  __device__ int place(index_t row, index_t column) const { return row % block * block + column % block; }
};

/// Sets the masks and counts their bits.
template <class O>
__global__ void set_masks(index_t rows, const O* rowptr, const index_t* colind, block_places<O> to,
                          unsigned long long* mask, unsigned long long* places) {
  unsigned long long mine = 0;
  for_each_entry(rows, rowptr, [&](index_t row, std::int64_t k, bool active) {
    if (!active) return;
    const unsigned long long bit = 1ull << to.place(row, colind[k]);
    const std::int64_t block = to.find(row, colind[k]);  // there is one: the blocks are those of this pattern
    mine += (atomicOr(mask + block, bit) & bit) == 0 ? 1 : 0;
  });
  mine = warp_sum(mine);
  if (lane_id() == 0 && mine > 0) atomicAdd(places, mine);
}

/// Of an entry of A among the BSR's values; sets *missing and returns null when the BSR has no such block.
template <class T, class O>
struct value_places {
  block_places<O> to;
  T* values;
  int* missing;

  __device__ T* find(index_t row, index_t column) const {
    const std::int64_t block = to.find(row, column);
    if (block >= 0) return values + block * to.block * to.block + to.place(row, column);
    atomicOr(missing, 1);
    return nullptr;
  }
};

/// False when an entry has no block.
template <class T, class O>
bool fill_values(const context& ctx, csr_view<T, O> a, bsr<T, O>& to) {
  auto missing = device_value<int>(ctx);
  T* const values = to.values.data();
  const value_places<T, O> places{{to.block, to.rowptr.data(), to.colind.data()}, values, missing.data()};
  if (to.nnz == a.nnz) {  // no entry repeats another
    fill_bytes(ctx, values, memory_space::device, 0, to.values.bytes());
    const auto store = [a, places] __device__(index_t row, std::int64_t k) {
      if (T* const value = places.find(row, a.colind[k])) *value = a.values[k];
    };
    for_each_entry(ctx, "bsr.store_values", a.nnz, a.rows, a.rowptr, store);
  } else {
    // -0, the neutral element of addition, in the places of the pattern; 0 in the others.
    const auto clear = [values, area = to.block * to.block, mask = to.mask.data()] __device__(std::int64_t i) {
      const bool used = mask == nullptr || (mask[i / area] >> (i % area) & 1) != 0;
      values[i] = used ? static_cast<T>(-0.0) : T{0};
    };
    for_each_item(ctx, "bsr.clear_values", static_cast<std::int64_t>(to.values.size()), clear);
    const auto add_row = [a, places] __device__(std::int64_t row) {
      for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
        if (T* const value = places.find(static_cast<index_t>(row), a.colind[k])) *value = add(*value, a.values[k]);
      }
    };
    for_each_item(ctx, "bsr.add_values", a.rows, add_row);
  }
  return read_back(ctx, missing.data()) == 0;
}

/// What merging found.
struct merged_counts {
  unsigned long long places;  // entries, those that repeat another left out
  int unsorted;               // or, of values for blocks that exist: the pattern is another one
};

template <class O>
__global__ void __launch_bounds__(block_threads)
    count_merged(index_t rows, index_t block_rows, const O* rowptr, const index_t* colind, index_t block,
                 std::int64_t* blocks, merged_counts* counts) {
  const std::int64_t block_row = grid_thread() / merge_lanes;
  merged_row<O> row(rows, rowptr, colind, block, block_row);
  std::int64_t count = 0;
  unsigned long long places = 0;
  row.for_each_block([&](O, index_t, O first) {
    ++count;
    for (O k = first; k < row.at; ++k) places += k == first || colind[k] != colind[k - 1] ? 1 : 0;
  });
  if (block_row < block_rows && threadIdx.x % merge_lanes == 0) blocks[block_row] = count;
  places = warp_sum(places);
  if (lane_id() == 0 && places > 0) atomicAdd(&counts->places, places);
  if (row.unsorted) atomicOr(&counts->unsorted, 1);
}

/// The values of blocks whose offsets are known; `Pattern`: and their columns and masks, else those are compared.
template <bool Pattern, class T, class O>
__global__ void __launch_bounds__(block_threads)
    store_merged(csr_view<T, O> a, index_t block, index_t block_rows, const O* rowptr, index_t* colind, T* values,
                 std::uint64_t* masks, merged_counts* counts) {
  const std::int64_t block_row = grid_thread() / merge_lanes;
  const int lane = static_cast<int>(threadIdx.x) % merge_lanes;
  const unsigned group = 0xffu << (lane_id() - lane);
  const O begin = block_row < block_rows ? rowptr[block_row] : O{0};
  const O end = block_row < block_rows ? rowptr[block_row + 1] : O{0};
  merged_row<O> row(a.rows, a.rowptr, a.colind, block, block_row);
  O seen = 0;
  bool other = false;
  row.for_each_block([&](O k, index_t column, O first) {
    seen = k + 1;
    if (!Pattern) {
      other |= begin + k >= end || colind[begin + k] != column || row.unsorted;
      if (__any_sync(group, other)) return;
    }
    T* const to = values + (std::int64_t{begin + k} * block + lane) * block;
    std::uint64_t bits = 0;
    O at = first;
    for (index_t j = 0; lane < block && j < block; ++j) {
      T value{0};
      bool has = false;
      for (; at < row.at && a.colind[at] == column * block + j; ++at) {
        value = has ? add(value, a.values[at]) : a.values[at];
        has = true;
      }
      to[j] = value;
      bits |= static_cast<std::uint64_t>(has) << j;
    }
    bits <<= lane < block ? lane * block : 0;
#pragma unroll
    for (int d = merge_lanes / 2; d > 0; d /= 2) bits |= __shfl_xor_sync(group, bits, d);
    if (lane != 0) return;
    if (Pattern) {
      colind[begin + k] = column;
      masks[begin + k] = bits;
    } else {
      other |= masks != nullptr && (bits & ~masks[begin + k]) != 0;
    }
  });
  other |= row.unsorted || (!Pattern && lane < block && seen != end - begin);
  if (other) atomicOr(&counts->unsorted, 1);
}

/// Nothing where a block is not full or rows are not sorted.
template <class T, class O>
std::optional<bsr<T, O>> copy_full_blocks(const context& ctx, csr_view<T, O> a, index_t block) {
  if (a.nnz == 0 || !is_full(ctx, a.rows, a.cols, a.rowptr, a.colind, block)) return std::nullopt;
  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz;
  out.block = block;
  out.block_rows = a.rows / block;
  out.rowptr = buffer<O>(ctx, static_cast<std::size_t>(out.block_rows) + 1);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(a.nnz / (block * block)));
  out.values = buffer<T>(ctx, static_cast<std::size_t>(a.nnz));
  launch_items(ctx, "bsr.store_full", store_full<T, O>, std::int64_t{a.rows} * 32, a, block, out.rowptr.data(),
               out.colind.data(), out.values.data());
  return out;
}

/// False where blocks are not full, or others.
template <class T, class O>
bool copy_full_values(const context& ctx, csr_view<T, O> a, bsr<T, O>& to) {
  if (to.mask.data() != nullptr || a.nnz != static_cast<O>(to.values.size())) return false;
  if (!is_full(ctx, a.rows, a.cols, a.rowptr, a.colind, to.block, to.colind.data(),
               static_cast<O>(to.colind.size())))
    return false;
  launch_items(ctx, "bsr.store_full", store_full<T, O>, std::int64_t{a.rows} * 32, a, to.block,
               static_cast<O*>(nullptr), static_cast<index_t*>(nullptr), to.values.data());
  return true;
}

/// Nothing where rows are not sorted.
template <class T, class O>
std::optional<bsr<T, O>> merge_to_bsr(const context& ctx, csr_view<T, O> a, index_t block) {
  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.block = block;
  out.block_rows = static_cast<index_t>(ceil_div(a.rows, block));
  buffer<std::int64_t> offsets = zero_counts(ctx, out.block_rows);
  auto counts = device_value<merged_counts>(ctx);
  const launch_shape shape = threads_for(std::int64_t{out.block_rows} * merge_lanes);
  launch("bsr.count_merged", count_merged<O>, shape, native(ctx), a.rows, out.block_rows, a.rowptr, a.colind, block,
         offsets.data(), counts.data());
  exclusive_scan(ctx, offsets);
  const merged_counts found = read_back(ctx, counts.data());
  if (found.unsorted != 0) return std::nullopt;
  const auto blocks = static_cast<std::size_t>(read_back(ctx, offsets.data() + out.block_rows));
  const std::size_t slots = blocks * static_cast<std::size_t>(block * block);
  out.nnz = static_cast<std::int64_t>(found.places);
  out.rowptr = buffer<O>(ctx, static_cast<std::size_t>(out.block_rows) + 1);
  for_each_item(ctx, "bsr.block_offsets", std::int64_t{out.block_rows} + 1,
                [from = offsets.data(), to = out.rowptr.data()] __device__(std::int64_t r) {
                  to[r] = static_cast<O>(from[r]);
                });
  out.colind = buffer<index_t>(ctx, blocks);
  out.values = buffer<T>(ctx, slots);
  out.mask = buffer<std::uint64_t>(ctx, blocks);
  launch("bsr.store_merged", store_merged<true, T, O>, shape, native(ctx), a, block, out.block_rows,
         static_cast<const O*>(out.rowptr.data()), out.colind.data(), out.values.data(), out.mask.data(),
         counts.data());
  if (found.places == slots) out.mask = {};
  return out;
}

/// False where the entries are not those of the blocks, or not sorted.
template <class T, class O>
bool merge_values(const context& ctx, csr_view<T, O> a, bsr<T, O>& to) {
  auto counts = device_value<merged_counts>(ctx);
  launch("bsr.store_merged", store_merged<false, T, O>, threads_for(std::int64_t{to.block_rows} * merge_lanes),
         native(ctx), a, to.block, to.block_rows, static_cast<const O*>(to.rowptr.data()), to.colind.data(),
         to.values.data(), to.mask.data(), counts.data());
  return read_back(ctx, counts.data()).unsorted == 0;
}

/// The places of every row, by block and then by column, for collect_rows.
template <class T, class O>
struct bsr_rows {
  bsr_view<T, O> a;

  __device__ index_t row(std::int64_t thread) const { return static_cast<index_t>(thread); }
  template <class F>
  __device__ void for_each(std::int64_t row, F f) const {
    const index_t i = static_cast<index_t>(row) % a.block;
    for (O k = a.rowptr[row / a.block]; k < a.rowptr[row / a.block + 1]; ++k) {
      for (index_t j = 0; j < a.block; ++j) {
        const index_t place = i * a.block + j;
        const std::int64_t column = std::int64_t{a.colind[k]} * a.block + j;
        if (column >= a.cols || (a.mask != nullptr && (a.mask[k] >> place & 1) == 0)) continue;
        f(static_cast<index_t>(column), std::int64_t{k} * a.block * a.block + place);
      }
    }
  }
};

}  // namespace

template <scalar T, offset O>
bsr<T, O> csr_to_bsr(const context& ctx, csr_view<T, O> a, index_t block) {
  if (auto copied = copy_full_blocks(ctx, a, block)) return std::move(*copied);
  if (auto merged = merge_to_bsr(ctx, a, block)) return std::move(*merged);
  auto [rowptr, colind] = find_blocks(ctx, a.rows, a.cols, a.nnz, a.rowptr, a.colind, block);
  const std::size_t blocks = colind.size();
  const std::size_t slots = blocks * static_cast<std::size_t>(block * block);
  buffer<std::uint64_t> mask(ctx, blocks);
  fill_bytes(ctx, mask.data(), memory_space::device, 0, mask.bytes());
  auto places = device_value<unsigned long long>(ctx);
  launch_entries(ctx, "bsr.set_masks", set_masks<O>, a.nnz, a.rows, a.rowptr, a.colind,
                 block_places<O>{block, rowptr.data(), colind.data()},
                 reinterpret_cast<unsigned long long*>(mask.data()), places.data());

  bsr<T, O> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = static_cast<std::int64_t>(read_back(ctx, places.data()));
  out.block = block;
  out.block_rows = static_cast<index_t>(ceil_div(a.rows, block));
  out.rowptr = std::move(rowptr);
  out.colind = std::move(colind);
  out.values = buffer<T>(ctx, slots);
  if (out.nnz != static_cast<std::int64_t>(slots)) out.mask = std::move(mask);
  fill_values(ctx, a, out);
  return out;
}

template <scalar T, offset O>
void update_bsr(const context& ctx, csr_view<T, O> from, bsr<T, O>& to) {
  if (!copy_full_values(ctx, from, to) && !merge_values(ctx, from, to) && !fill_values(ctx, from, to)) {
    throw error(status::invalid_structure, "update_values: the CSR has an entry outside the BSR's blocks");
  }
}

template <scalar T, offset O>
csr<T, O> bsr_to_csr(const context& ctx, bsr_view<T, O> a) {
  return collect_rows<T, O>(ctx, a, a.rows, bsr_rows<T, O>{a});
}

#define TULLE_INSTANTIATE(T, O)                                                 \
  template bsr<T, O> csr_to_bsr<T, O>(const context&, csr_view<T, O>, index_t); \
  template csr<T, O> bsr_to_csr<T, O>(const context&, bsr_view<T, O>);          \
  template void update_bsr<T, O>(const context&, csr_view<T, O>, bsr<T, O>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
