// BSR -> bin_bsr.compact (kernels/bin_bsr.hpp). Each lane copies its own blocks: it reads a block from end to end and
// writes it in pieces of 16 bytes that lie beside those of the other lanes. Four warps share a bin.
#include <cstdlib>
#include "core/instantiate.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/formats/sell_order.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {


/// The block row of a lane, or -1.
__device__ index_t lane_row(const index_t* perm, std::int64_t lane, index_t block_rows) {
  if (perm != nullptr) return perm[lane];
  return lane < block_rows ? static_cast<index_t>(lane) : -1;
}

/// Where the arrays are written; no columns and masks when only values change.
template <class T>
struct compact_arrays {
  const std::int64_t* binptr;
  const index_t* perm;
  index_t* colind;
  std::uint64_t* mask;
  T* values;
};

/// 16 bytes of a block, or what there is of them; zeros where the slot is not used. `wide`: blocks begin where 16 bytes do.
template <class T>
struct alignas(16) piece {
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};

template <class T>
__device__ __forceinline__ piece<T> load_piece(const T* from, bool used, bool wide) {
  piece<T> p{};
  if (!used) return p;
  if (wide) return *reinterpret_cast<const piece<T>*>(from);
#pragma unroll
  for (int i = 0; i < piece<T>::size; ++i) p.v[i] = from[i];
  return p;
}

/// `Slots` slots of a row, one after the other in the BSR: the pieces of all, `Together` of each at once, are read before
/// any is written. `used`, `filled`: so many slots are used, and there.
template <int Slots, int Together, class T>
__device__ __forceinline__ void copy_slots(const T* from, std::int64_t used, std::int64_t filled, bool wide, int area,
                                           int lane, T* to) {
  constexpr int vector = piece<T>::size;
  const int whole = area / vector * vector;
  for (int e = 0; e < whole; e += Together * vector) {
    piece<T> p[Slots][Together];
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
#pragma unroll
      for (int u = 0; u < Together; ++u) {
        const int at = e + u * vector;
        p[s][u] = load_piece(from + s * area + at, s < used && at < whole, wide);
      }
    }
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
#pragma unroll
      for (int u = 0; u < Together; ++u) {
        const int at = e + u * vector;
        if (at < whole && s < filled)
          *reinterpret_cast<piece<T>*>(to + s * bin_rows * area + compact_place<T>(area, lane, at)) = p[s][u];
      }
    }
  }
  for (int e = whole; e < area; ++e) {
    T odd[Slots];
#pragma unroll
    for (int s = 0; s < Slots; ++s) odd[s] = s < used ? from[s * area + e] : T{0};
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
      if (s < filled) to[s * bin_rows * area + compact_place<T>(area, lane, e)] = odd[s];
    }
  }
}

template <int Slots, int Together, class T, class O>
void fill_by(const context& ctx, bsr_view<T, O> a, index_t bins, compact_arrays<T> to, int warps_a_bin, bool wide) {
  const auto copy = [a, to, wide, warps_a_bin] __device__(std::int64_t i) {
    const int lane = static_cast<int>(i % bin_rows);
    const std::int64_t bin = i / (bin_rows * warps_a_bin);
    const index_t R = lane_row(to.perm, bin * bin_rows + lane, a.block_rows);
    const std::int64_t begin = R >= 0 ? a.rowptr[R] : 0, end = R >= 0 ? a.rowptr[R + 1] : 0;
    const int area = a.block * a.block;
    const std::int64_t width = (to.binptr[bin + 1] - to.binptr[bin]) / bin_rows;
    for (std::int64_t s = i / bin_rows % warps_a_bin * Slots; s < width; s += warps_a_bin * Slots) {
      const std::int64_t at = to.binptr[bin] + s * bin_rows, k = begin + s;
      for (std::int64_t u = 0; u < Slots && s + u < width; ++u) {
        if (to.colind != nullptr) to.colind[at + u * bin_rows + lane] = k + u < end ? a.colind[k + u] : -1;
        if (to.mask != nullptr) to.mask[at + u * bin_rows + lane] = k + u < end ? a.mask[k + u] : 0;
      }
      copy_slots<Slots, Together>(a.values + k * area, end - k, width - s, wide, area, lane, to.values + at * area);
    }
  };
  for_each_item(ctx, "compact.fill", std::int64_t{bins} * bin_rows * warps_a_bin, copy);
}

template <class T, class O>
void fill(const context& ctx, bsr_view<T, O> a, index_t bins, compact_arrays<T> to) {
  const std::size_t bytes = static_cast<std::size_t>(a.block) * static_cast<std::size_t>(a.block) * sizeof(T);
  const bool wide = reinterpret_cast<std::uintptr_t>(a.values) % 16 == 0 && bytes % 16 == 0;
  const char* const t = std::getenv("TULLE_TRY");
  const int way = t != nullptr ? std::atoi(t) : 0;
  const bool few = std::int64_t{bins} * 128 < std::int64_t{ctx.info().multiprocessors} * 512;
  const int warps = few ? 16 : way >= 10 ? way / 10 : 4;
  if (way % 10 == 9) return fill_by<1, 4>(ctx, a, bins, to, warps, wide);
  if (way % 10 == 8) return fill_by<2, 4>(ctx, a, bins, to, warps, wide);
  if (way % 10 == 7) return fill_by<1, 8>(ctx, a, bins, to, warps, wide);
  if (bytes <= 16) return fill_by<4, 1>(ctx, a, bins, to, warps, wide);
  if (bytes <= 72) return fill_by<2, 2>(ctx, a, bins, to, warps, wide);
  fill_by<1, 4>(ctx, a, bins, to, warps, wide);
}

}  // namespace

template <scalar T, offset O>
compact_bin_bsr<T> bsr_to_compact(const context& ctx, bsr_view<T, O> a, index_t sigma) {
  compact_bin_bsr<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.blocks = a.blocks;
  out.block = a.block;
  out.bins = static_cast<index_t>(ceil_div(a.block_rows, bin_rows));
  out.perm = sell_order(ctx, a.block_rows, a.rowptr, sigma);
  out.binptr = zero_counts(ctx, out.bins);
  const auto count = [a, perm = out.perm.data(), binptr = out.binptr.data()] __device__(std::int64_t lane) {
    const index_t R = lane_row(perm, lane, a.block_rows);  // one thread per lane, whole warps
    const std::int64_t width = warp_max(R < 0 ? std::int64_t{0} : std::int64_t{a.rowptr[R + 1]} - a.rowptr[R]);
    if (lane_id() == 0) binptr[lane / bin_rows] = width * bin_rows;
  };
  for_each_item(ctx, "compact.count_slots", std::int64_t{out.bins} * bin_rows, count);
  exclusive_scan(ctx, out.binptr);
  const auto slots = static_cast<std::size_t>(read_back(ctx, out.binptr.data() + out.bins));
  out.colind = buffer<index_t>(ctx, slots);
  out.values = buffer<T>(ctx, slots * static_cast<std::size_t>(a.block * a.block));
  if (a.mask != nullptr) out.mask = buffer<std::uint64_t>(ctx, slots);
  fill(ctx, a, out.bins,
       compact_arrays<T>{out.binptr.data(), out.perm.data(), out.colind.data(), out.mask.data(), out.values.data()});
  return out;
}

template <scalar T, offset O>
void update_compact(const context& ctx, bsr_view<T, O> a, compact_bin_bsr<T>& out) {
  fill(ctx, a, out.bins, compact_arrays<T>{out.binptr.data(), out.perm.data(), nullptr, nullptr, out.values.data()});
}

#define TULLE_INSTANTIATE(T, O)                                                              \
  template compact_bin_bsr<T> bsr_to_compact<T, O>(const context&, bsr_view<T, O>, index_t); \
  template void update_compact<T, O>(const context&, bsr_view<T, O>, compact_bin_bsr<T>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
