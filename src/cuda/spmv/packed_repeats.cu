// What slices of a packed matrix have alike is stored once: bases, and values where those are few enough to be listed.
// A mesh with constant coefficients has a handful of different slices. One warp per slice: it writes the places of its
// values in the list, then pieces of these places are compared (equal_pieces.cuh). Where every position of a slice has
// one value that is all that is kept of it, so that slices of other heights equal it, too. Bytes: those of the values
// once and a few per entry.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/spmv/equal_pieces.cuh"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_source.cuh"
#include "cuda/spmv/value_place.cuh"

namespace tulle::cuda {
namespace {

/// Of a slice's values, in an array of places: where they begin, how many; whether each stands for a whole position.
struct listed_slice {
  std::int64_t begin;
  int count;
  bool alike;
};

template <class T>
struct value_source {
  const T* values;
  const T* list;
  int listed;

  __device__ std::uint8_t place(std::int64_t entry) const { return place_in(list, listed, values[entry]); }
};

template <int Halves, class T, class O>
__global__ void list_values(packed_pattern a, const O* rowptr, int part_length, value_source<T> from,
                            std::uint8_t* places, listed_slice* out) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= a.slices) return;
  const packed_slice s = a.slice[i];
  const packed_source<Halves, O> source(a, s, rowptr, part_length);
  const unsigned below = lanes_before();
  int before = 0;
  bool alike = true;
  for (int p = 0; p < s.width; ++p) {
    int of_position = 0;
    for (int h = 0; h < Halves; ++h) {
      const std::int64_t k = source.entry(s, h, p);
      const unsigned active = __ballot_sync(full_warp, k >= 0);
      const int place = k >= 0 ? from.place(k) : 0;
      if (h == 0) of_position = __shfl_sync(full_warp, place, 0);  // the first lane has an entry at every position
      alike = alike && (k < 0 || place == of_position);
      if (k >= 0) places[s.values + before + __popc(active & below)] = static_cast<std::uint8_t>(place);
      before += __popc(active);
    }
  }
  alike = __all_sync(full_warp, alike ? 1 : 0) != 0;
  if (alike) {
    const auto first = static_cast<std::int64_t>(__shfl_sync(full_warp, static_cast<long long>(source.first[0]), 0));
    __syncwarp();
    for (int p = lane_id(); p < s.width; p += 32)
      places[s.values + p] = from.place(first + (std::int64_t{p} << s.lanes_log2));
  }
  if (lane_id() == 0) out[i] = {s.values, alike ? s.width : before, alike};
}

struct places_of_slices {
  const std::uint8_t* places;
  const listed_slice* slice;

  __device__ array_piece<std::uint8_t> operator()(std::int64_t i) const {
    const listed_slice s = slice[i];
    return {places + s.begin, s.count, s.alike ? 1 : 0};
  }
};

struct bases_of_slices {
  const packed_slice* slice;
  const index_t* base;

  __device__ array_piece<index_t> operator()(std::int64_t i) const {
    const packed_slice& s = slice[i];
    const int groups = (s.width + packed_base_group - 1) / packed_base_group;
    return {base + std::int64_t{s.bases} * packed_base_group, groups * packed_base_group};
  }
};

}  // namespace

void share_bases(const context& ctx, buffer<packed_slice>& slices, buffer<index_t>& base) {
  const auto count = static_cast<std::int64_t>(slices.size());
  const bases_of_slices pieces{slices.data(), base.data()};
  const shared_pieces shared = share_pieces(ctx, count, pieces, packed_base_group);
  if (2 * shared.words > static_cast<std::int64_t>(base.size())) return;
  buffer<index_t> kept(ctx, static_cast<std::size_t>(shared.words));
  copy_shared(ctx, shared, pieces, [to = kept.data()] __device__(std::int64_t at, index_t v) { to[at] = v; });
  for_each_item(
      ctx, "packed.share_bases", count,
      [slice = slices.data(), first = shared.first.data(), begin = shared.begin.data()] __device__(std::int64_t i) {
        slice[i].bases = static_cast<std::uint32_t>(begin[first[i]] / packed_base_group);
      });
  base = std::move(kept);
}

template <scalar T, offset O>
buffer<std::byte> packed_storage::share_values(const context& ctx, const O* rowptr, const T* values, std::int64_t count,
                                               const buffer<T>& list) {
  if (slices_ == 0) return {};
  const device_guard guard(ctx.device());
  buffer<std::uint8_t> places(ctx, static_cast<std::size_t>(count));
  buffer<listed_slice> listed(ctx, static_cast<std::size_t>(slices_));
  launch_slices(ctx, "packed.list_values", shape_.height == 64 ? list_values<2, T, O> : list_values<1, T, O>, slices_,
                view(), rowptr, shape_.part_length, value_source<T>{values, list.data(), static_cast<int>(list.size())},
                places.data(), listed.data());
  const places_of_slices pieces{places.data(), listed.data()};
  const shared_pieces shared = share_pieces(ctx, slices_, pieces, 32 / static_cast<int>(sizeof(T)));
  const std::int64_t bytes = shared.words * static_cast<std::int64_t>(sizeof(T));
  if (2 * bytes > count) return {};
  buffer<std::byte> kept(ctx, static_cast<std::size_t>(bytes));
  copy_shared(ctx, shared, pieces,
              [to = reinterpret_cast<T*>(kept.data()), from = list.data()] __device__(
                  std::int64_t at, std::uint8_t place) { to[at] = from[place]; });
  own_values_ = buffer<std::int64_t>(ctx, static_cast<std::size_t>(slices_));
  for_each_item(ctx, "packed.share_values", slices_,
                [slice = slice_.data(), listed = listed.data(), first = shared.first.data(),
                 begin = shared.begin.data(), own = own_values_.data()] __device__(std::int64_t i) {
                  own[i] = slice[i].values;
                  slice[i].values = begin[first[i]];
                  slice[i].alike = listed[i].alike ? 1 : 0;
                });
  return kept;
}

void packed_storage::own_values(const context& ctx) {
  if (own_values_.empty()) return;
  const device_guard guard(ctx.device());
  for_each_item(ctx, "packed.own_values", slices_,
                [slice = slice_.data(), own = own_values_.data()] __device__(std::int64_t i) {
                  slice[i].values = own[i];
                  slice[i].alike = 0;
                });
  own_values_ = {};
}

#define TULLE_INSTANTIATE(T, O)                                                                             \
  template buffer<std::byte> packed_storage::share_values(const context&, const O*, const T*, std::int64_t, \
                                                          const buffer<T>&);
TULLE_INSTANTIATE(float, std::int32_t)
TULLE_INSTANTIATE(float, std::int64_t)
TULLE_INSTANTIATE(double, std::int32_t)
TULLE_INSTANTIATE(double, std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
