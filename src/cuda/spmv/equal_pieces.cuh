// Which pieces of an array equal an earlier one, so that they need to be stored once: pieces are sorted by a hash of
// their words, and each is compared with the first of its hash, which is the one of the lowest number. Thus nothing
// depends on the run, and two that differ under one hash cost room, never a wrong answer. One warp per piece.
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {

/// `count` words; pieces of different kinds differ, whatever the words.
template <class Word>
struct array_piece {
  const Word* data;
  int count;
  int kind = 0;
};

/// Of each piece: the first that equals it, and where its words are to be, at a multiple of some unit.
struct shared_pieces {
  buffer<std::int64_t> first;
  buffer<std::int64_t> begin;
  std::int64_t words = 0;  // of all that are stored
};

constexpr int hash_bits = 32;

/// The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
__device__ __forceinline__ std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}

/// Pieces: array_piece operator()(std::int64_t i), on the device.
template <class Pieces>
__global__ void hash_pieces(std::int64_t count, Pieces pieces, std::uint64_t* hash, std::int64_t* number) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= count) return;
  const auto piece = pieces(i);
  std::uint64_t sum = 0;
  for (int k = lane_id(); k < piece.count; k += 32) {
    const auto word = static_cast<std::uint32_t>(piece.data[k]);
    sum += mixed((static_cast<std::uint64_t>(k) + 1) * 0x9e3779b97f4a7c15u + word);
  }
  sum = warp_sum(sum) + static_cast<std::uint64_t>(piece.count) * 2 + static_cast<std::uint64_t>(piece.kind);
  if (lane_id() != 0) return;
  hash[i] = mixed(sum) >> (64 - hash_bits);
  number[i] = i;
}

/// `number`: of the pieces by their hashes, increasing where those are the same.
template <class Pieces>
__global__ void compare_pieces(std::int64_t count, Pieces pieces, const std::uint64_t* hash, const std::int64_t* number,
                               int unit, std::int64_t* first, std::int64_t* words) {
  const std::int64_t at = grid_thread() / 32;
  if (at >= count) return;
  std::int64_t low = 0, high = at;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (hash[middle] < hash[at])
      low = middle + 1;
    else
      high = middle;
  }
  const std::int64_t i = number[at], candidate = number[low];
  const auto mine = pieces(i), other = pieces(candidate);
  bool same = mine.count == other.count && mine.kind == other.kind;
  for (int k = lane_id(); same && k < mine.count; k += 32) same = mine.data[k] == other.data[k];
  same = __all_sync(full_warp, same ? 1 : 0) != 0;
  if (lane_id() != 0) return;
  first[i] = same ? candidate : i;
  words[i] = same && candidate != i ? 0 : ceil_div(mine.count, unit) * unit;
  if (at == 0) words[count] = 0;
}

/// Waits for the stream.
template <class Pieces>
shared_pieces share_pieces(const context& ctx, std::int64_t count, const Pieces& pieces, int unit) {
  const auto n = static_cast<std::size_t>(count);
  buffer<std::uint64_t> hash(ctx, n);
  buffer<std::int64_t> number(ctx, n);
  shared_pieces out{buffer<std::int64_t>(ctx, n), buffer<std::int64_t>(ctx, n + 1)};
  const launch_shape per_piece = threads_for(count * 32);
  launch("equal_pieces.hash", hash_pieces<Pieces>, per_piece, native(ctx), count, pieces, hash.data(), number.data());
  sort_pairs(ctx, hash, number, 0, hash_bits);
  launch("equal_pieces.compare", compare_pieces<Pieces>, per_piece, native(ctx), count, pieces, hash.data(),
         number.data(), unit, out.first.data(), out.begin.data());
  exclusive_scan(ctx, out.begin);
  out.words = read_back(ctx, out.begin.data() + count);
  return out;
}

/// put(place, word) for every word that is stored.
template <class Pieces, class Put>
__global__ void copy_pieces(std::int64_t count, Pieces pieces, const std::int64_t* first, const std::int64_t* begin,
                            Put put) {
  const std::int64_t i = grid_thread() / 32;
  if (i >= count || first[i] != i) return;
  const auto piece = pieces(i);
  for (int k = lane_id(); k < piece.count; k += 32) put(begin[i] + k, piece.data[k]);
}

template <class Pieces, class Put>
void copy_shared(const context& ctx, const shared_pieces& shared, const Pieces& pieces, const Put& put) {
  const auto count = static_cast<std::int64_t>(shared.first.size());
  launch("equal_pieces.copy", copy_pieces<Pieces, Put>, threads_for(count * 32), native(ctx), count, pieces,
         shared.first.data(), shared.begin.data(), put);
}

}  // namespace tulle::cuda
