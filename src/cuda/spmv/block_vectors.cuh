// What the kernels of bins of blocks read and add: a block's piece of x, and the piece times the block.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/load.cuh"

namespace tulle::cuda {

/// Values of the widest load that every block's piece of an aligned x can begin with.
template <int B, class V>
constexpr int piece_width = B * sizeof(V) % 16 == 0 ? 16 / static_cast<int>(sizeof(V))
                            : B % 2 == 0            ? 2
                                                    : 1;

template <int B, class V>
__device__ __forceinline__ bool wide_pieces(const V* x) {
  return reinterpret_cast<std::uintptr_t>(x) % (piece_width<B, V> * sizeof(V)) == 0;
}

/// piece = x[0 .. B - 1], by wide loads where x allows them.
template <int B, class V>
__device__ __forceinline__ void load_piece(const V* x, bool wide, V (&piece)[B]) {
  constexpr int width = piece_width<B, V>;
  if (width > 1 && wide) {
#pragma unroll
    for (int c = 0; c < B / width; ++c) {
      if constexpr (width == 4) {
        const float4 f = __ldg(reinterpret_cast<const float4*>(x) + c);
        piece[c * width] = f.x, piece[c * width + 1] = f.y, piece[c * width + 2] = f.z, piece[c * width + 3] = f.w;
      } else if constexpr (width == 2 && sizeof(V) == 4) {
        const float2 f = __ldg(reinterpret_cast<const float2*>(x) + c);
        piece[c * width] = f.x, piece[c * width + 1] = f.y;
      } else if constexpr (width == 2) {
        const double2 f = __ldg(reinterpret_cast<const double2*>(x) + c);
        piece[c * width] = f.x, piece[c * width + 1] = f.y;
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < B; ++j) piece[j] = __ldg(x + j);
  }
}

/// The piece of x that a block's columns are: those from `first` on, of which `cols` end the vector; zeros past it.
/// `whole`: no block reaches past it. What is not in a block's pattern is read too, and must not be multiplied.
template <int B, class V>
__device__ __forceinline__ void load_piece(const V* x, std::int64_t first, index_t cols, bool whole, bool wide,
                                           V (&piece)[B]) {
  if (whole) return load_piece(x + first, wide, piece);
#pragma unroll
  for (int j = 0; j < B; ++j) piece[j] = first + j < cols ? __ldg(x + first + j) : V{0};
}

}  // namespace tulle::cuda
