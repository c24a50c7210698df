// Makes the packed storage: sort the windows and count their slices; place the windows; describe the slices
// (packed_windows.cuh); choose how each slice stores its columns; write bases and offsets; write values. The last three
// take a warp per slice.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/place_records.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_source.cuh"
#include "cuda/spmv/packed_windows.cuh"
#include "cuda/spmv/row_reading.cuh"
#include "cuda/spmv/value_place.cuh"
#include "kernels/value_words.hpp"

namespace tulle::cuda {
namespace {

/// Slices from which looking for bases that repeat is worth its time.
constexpr std::int64_t least_shared_slices = 8192;
constexpr index_t most_index = 0x7fffffff;
constexpr index_t least_index = -most_index - 1;

template <int Halves, class O>
__global__ void choose_offsets(packed_pattern a, const O* rowptr, const index_t* colind, int part_length,
                               packed_slice* slices, std::int64_t* words) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  constexpr int origins = 4;
  index_t origin[Halves][origins];
  for (int h = 0; h < Halves; ++h) {
    for (int o = 0; o < origins; ++o) origin[h][o] = origin_of(static_cast<packed_origin>(o), source.lane[h], a.block);
  }
  std::uint32_t spread[origins] = {};
  if (a.block == 1) spread[static_cast<int>(packed_origin::block)] = ~0u;
  std::uint32_t entries = 0;
  for (int p = 0; p < s.width; ++p) {
    index_t low[origins], high[origins];
    for (int o = 0; o < origins; ++o) low[o] = most_index, high[o] = least_index;
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      if (k < 0) continue;
      ++entries;
      const index_t column = colind[k];
      for (int o = 0; o < origins; ++o) {
        low[o] = min(low[o], column - origin[h][o]);
        high[o] = max(high[o], column - origin[h][o]);
      }
    }
#pragma unroll
    for (int o = 0; o < origins; ++o) {
      if (spread[o] > 0xffff) continue;  // the same for all lanes
      spread[o] =
          max(spread[o], static_cast<std::uint32_t>(warp_max(high[o])) - static_cast<std::uint32_t>(warp_min(low[o])));
    }
  }
  entries = warp_sum(entries);
  if (lane_id() != 0) return;
  int best = 0;
  for (int o = 1; o < origins; ++o) best = spread[o] < spread[best] ? o : best;
  const std::uint32_t most = spread[best];
  const int bytes = s.width == 0 || most == 0 ? 0 : most <= 0xff ? 1 : most <= 0xffff ? 2 : 4;
  slices[i].offset_bytes = static_cast<std::uint8_t>(bytes);
  slices[i].origin = bytes == 4 ? packed_origin::zero : static_cast<packed_origin>(best);
  words[i] = (std::int64_t{entries} * bytes + 3) / 4;
  if (i == 0) words[a.slices] = 0;
}

template <int Halves, class O>
__global__ void write_offsets(packed_pattern a, const O* rowptr, const index_t* colind, int part_length,
                              const std::int64_t* words, packed_slice* slices, index_t* base, std::uint32_t* offsets) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  const unsigned below = lanes_before();
  index_t* const bases = base + std::int64_t{s.bases} * packed_base_group;
  std::uint32_t* const out = offsets + words[i];
  int before = 0;
  for (int p = 0; p < s.width; ++p) {
    index_t shifted[Halves];
    index_t low = most_index;
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      shifted[h] = k >= 0 ? colind[k] - origin_of(s.origin, source.lane[h], a.block) : most_index;
      low = min(low, shifted[h]);
    }
    low = s.offset_bytes == 4 ? 0 : warp_min(low);
    if (lane_id() == 0) bases[p] = low;
    for (int h = 0; h < Halves; ++h) {
      const bool live = p < source.lane[h].count;
      const unsigned active = __ballot_sync(full_warp, live);
      const int at = before + __popc(active & below);
      before += __popc(active);
      if (!live) continue;
      const auto offset = static_cast<std::uint32_t>(shifted[h] - low);
      if (s.offset_bytes == 1) reinterpret_cast<std::uint8_t*>(out)[at] = static_cast<std::uint8_t>(offset);
      if (s.offset_bytes == 2) reinterpret_cast<std::uint16_t*>(out)[at] = static_cast<std::uint16_t>(offset);
      if (s.offset_bytes == 4) out[at] = offset;
    }
  }
  if (lane_id() < groups_of(s.width) * packed_base_group - s.width) bases[s.width + lane_id()] = 0;
  if (lane_id() == 0) slices[i].offsets = static_cast<std::uint32_t>(words[i]);
}

constexpr std::int64_t value_alignment = 32;  // bytes: a sector

__device__ row_form warp_joined(row_form form) {
  for (int d = 16; d > 0; d /= 2) form = joined(form, static_cast<row_form>(__shfl_xor_sync(full_warp, form, d)));
  return form;
}

/// Whether a slice is the first, or the only one, of its rows.
__device__ bool begins_rows(const packed_pattern& a, const packed_slice& s) {
  return s.rows != 0 || a.long_row[a.part_row[s.order]].first == s.order;
}

/// The form of a slice's values, which takes all of its rows, and their bytes.
template <int Halves, class O>
__global__ void measure_values(packed_pattern a, const O* rowptr, const row_form* of_row, int part_length,
                               packed_slice* slices, std::int64_t* bytes, form_counts* counts) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  row_form form = any_form;
  int entries = 0;
  for (int h = 0; h < Halves; ++h) {
    entries += source.lane[h].count;
    if (source.lane[h].count > 0) form = joined(form, of_row[source.lane[h].row]);
  }
  form = warp_joined(form);
  if (form == any_form) form = whole_form;
  entries = warp_sum(entries);
  if (lane_id() != 0) return;
  slices[i].form = form;
  const std::int64_t size = entries * static_cast<std::int64_t>(bytes_of(storage_of(form), sizeof(double)));
  bytes[i] = ceil_div(size, value_alignment) * value_alignment;
  if (i == 0) bytes[a.slices] = 0;
  const std::size_t k = place_of(form);
  if (begins_rows(a, s)) add_count(&counts->rows[k], s.rows == 0 ? 1 : s.rows & ~packed_contiguous);
  add_count(&counts->entries[k], entries);
  add_count(&counts->bytes[k], size);
}

/// `form`: of the slice, where slices differ.
template <class T>
__device__ void write(const packed_writer<T>& to, row_form form, std::int64_t at, T value) {
  switch (to.by_slice ? storage_of(form) : to.storage) {
    case value_storage::whole:
      static_cast<T*>(to.data)[at] = value;
      break;
    case value_storage::f32:
      static_cast<float*>(to.data)[at] = static_cast<float>(value);
      break;
    case value_storage::bf16:
      static_cast<std::uint16_t*>(to.data)[at] = static_cast<std::uint16_t>(bits_of(static_cast<float>(value)) >> 16);
      break;
    case value_storage::f16:
      static_cast<std::uint16_t*>(to.data)[at] = to_f16(value, form);
      break;
    case value_storage::listed:
      static_cast<std::uint8_t*>(to.data)[at] = place_in(to.list, to.listed, value);
      break;
    case value_storage::words: {
      const value_words w = words_of(value);
      static_cast<std::uint32_t*>(to.data)[at] = w.high;
      to.low[at] = w.low;
      break;
    }
  }
}

template <int Halves, class T, class O>
__global__ void write_values(packed_pattern a, const O* rowptr, int part_length, const T* values, packed_writer<T> to) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  const unsigned below = lanes_before();
  std::int64_t before = s.values;
  for (int p = 0; p < s.width; ++p) {
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      const unsigned active = __ballot_sync(full_warp, k >= 0);
      if (k >= 0) write(to, s.form, before + __popc(active & below), values[k]);
      before += __popc(active);
    }
  }
}

/// `bytes`: before each slice.
__global__ void place_slices(std::int64_t slices, const std::int64_t* bytes, packed_slice* slice) {
  for (std::int64_t i = grid_thread(); i < slices; i += grid_stride()) {
    slice[i].values = bytes[i] / static_cast<std::int64_t>(bytes_of(storage_of(slice[i].form), sizeof(double)));
  }
}

}  // namespace

template <offset O>
packed_storage::packed_storage(const context& ctx, index_t rows, const O* rowptr, const index_t* colind,
                               index_t longest, const packed_shape& shape, const row_form* form)
    : rows_(rows),
      shape_(shape),
      order_(ctx, static_cast<std::size_t>(rows)),
      length_(ctx, static_cast<std::size_t>(rows)) {
  if (rows == 0) return;
  const device_guard guard(ctx.device());
  const std::int64_t windows = ceil_div(rows, packed_window);
  buffer<packed_totals> totals(ctx, static_cast<std::size_t>(windows) + 1);
  const int length_bits = std::max(1, bits_for(std::min<std::int64_t>(longest, 65535) + 1));
  const launch_shape per_window{windows, window_threads};
  launch("packed.sort_windows", sort_windows<O>, per_window, native(ctx), rows, rowptr, form, length_bits, shape,
         order_.data(), length_.data(), totals.data());
  const packed_totals all = place_records(ctx, totals);
  parts_ = all.parts;
  long_rows_ = all.long_rows;
  slices_ = parts_ + all.slices;
  slice_ = buffer<packed_slice>(ctx, static_cast<std::size_t>(slices_));
  base_ = buffer<index_t>(ctx, static_cast<std::size_t>(all.bases) * packed_base_group);
  part_row_ = buffer<std::uint32_t>(ctx, static_cast<std::size_t>(parts_));
  part_length_ = buffer<std::uint16_t>(ctx, static_cast<std::size_t>(parts_));
  long_row_ = buffer<packed_long_row>(ctx, static_cast<std::size_t>(long_rows_));
  launch("packed.describe_slices", describe_slices<O>, per_window, native(ctx), rows, rowptr, shape, order_.data(),
         length_.data(), totals.data(),
         packed_arrays{slice_.data(), part_row_.data(), part_length_.data(), long_row_.data()});
  buffer<std::int64_t> words(ctx, static_cast<std::size_t>(slices_) + 1);
  const bool two = shape_.height == 64;
  launch_slices(ctx, "packed.choose_offsets", two ? choose_offsets<2, O> : choose_offsets<1, O>, slices_, view(),
                rowptr, colind, shape.part_length, slice_.data(), words.data());
  exclusive_scan(ctx, words);
  offsets_ = buffer<std::uint32_t>(ctx, static_cast<std::size_t>(read_back(ctx, words.data() + slices_)));
  launch_slices(ctx, "packed.write_offsets", two ? write_offsets<2, O> : write_offsets<1, O>, slices_, view(), rowptr,
                colind, shape.part_length, words.data(), slice_.data(), base_.data(), offsets_.data());
  if (slices_ >= least_shared_slices) share_bases(ctx, slice_, base_);
  if (form != nullptr) place_values(ctx, rowptr, form);
}

template <offset O>
void packed_storage::place_values(const context& ctx, const O* rowptr, const row_form* form) {
  buffer<std::int64_t> bytes(ctx, static_cast<std::size_t>(slices_) + 1);
  auto counts = device_value<form_counts>(ctx);
  launch_slices(ctx, "packed.measure_values", shape_.height == 64 ? measure_values<2, O> : measure_values<1, O>,
                slices_, view(), rowptr, form, shape_.part_length, slice_.data(), bytes.data(), counts.data());
  exclusive_scan(ctx, bytes);
  value_bytes_ = read_back(ctx, bytes.data() + slices_);
  counts_ = read_back(ctx, counts.data());
  launch_items(ctx, "packed.place_values", place_slices, slices_, slices_, bytes.data(), slice_.data());
}

packed_pattern packed_storage::view() const {
  return {slices_,        slice_.data(),    base_.data(),        offsets_.data(),  order_.data(),
          length_.data(), part_row_.data(), part_length_.data(), long_row_.data(), shape_.block};
}

std::size_t packed_storage::bytes() const noexcept {
  return slice_.bytes() + base_.bytes() + offsets_.bytes() + order_.bytes() + length_.bytes() + part_row_.bytes() +
         part_length_.bytes() + long_row_.bytes();
}

template <scalar T, offset O>
void packed_storage::fill_values(const context& ctx, const O* rowptr, const T* values,
                                 const packed_writer<T>& to) const {
  const device_guard guard(ctx.device());
  launch_slices(ctx, "packed.write_values", shape_.height == 64 ? write_values<2, T, O> : write_values<1, T, O>,
                slices_, view(), rowptr, shape_.part_length, values, to);
}

#define TULLE_INSTANTIATE(O)                                                                                       \
  template packed_storage::packed_storage(const context&, index_t, const O*, const index_t*, index_t,              \
                                          const packed_shape&, const row_form*);                                   \
  template void packed_storage::fill_values(const context&, const O*, const float*, const packed_writer<float>&)   \
      const;                                                                                                       \
  template void packed_storage::fill_values(const context&, const O*, const double*, const packed_writer<double>&) \
      const;
TULLE_INSTANTIATE(std::int32_t)
TULLE_INSTANTIATE(std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
