// A hash table of the words of a row in shared memory, owned by one warp: linear probing, words enter by
// compare-and-swap of integers. They come from a walk over a row of A B in which order does not matter, so that groups
// of lanes take rows of B side by side.
#pragma once

#include <bit>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// The entries of a row of A that a warp holds, 32 at a time: calls visit(word, mask) with `Lanes` lanes per row of B,
/// until enough() holds for a lane; that is asked when a group is through with its rows.
template <int Lanes, bool Words, class O, class Visit, class Enough>
__device__ __forceinline__ void walk_words(const word_rows<O>& b, O start, O end, int entries, Visit visit,
                                           Enough enough) {
  constexpr int side_by_side = 32 / Lanes, depth = 2;  // rows of B that a group has in flight
  const int lane = lane_id() % Lanes, group = lane_id() / Lanes;
  // Groups take entries of A that are far apart: rows of B that are neighbours would meet in the same words.
  const int share = (entries + side_by_side - 1) / side_by_side;
  for (int j = 0; j < share; j += depth) {
    O q[depth], last[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const int source = group * share + j + u;  // lanes beyond the entries hold empty rows
      q[u] = __shfl_sync(full_warp, start, source % 32) + lane;
      last[u] = __shfl_sync(full_warp, end, source % 32);
      if (j + u >= share || source >= 32) last[u] = 0;
    }
    bool more = true;
    while (more) {
      uint2 word[depth];
#pragma unroll
      for (int u = 0; u < depth; ++u) word[u] = q[u] < last[u] ? b.template at<Words>(q[u]) : uint2{0, 0};
      more = false;
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (word[u].y != 0) visit(word[u].x, word[u].y);
        q[u] += Lanes;
        more = more || q[u] < last[u];
      }
    }
    if (__any_sync(full_warp, enough())) return;
  }
}

/// A word and a place, of which there are up to 512, share 32 bits: so a probe brings all of an entry.
constexpr int place_bits = 9;
/// Words of more columns would not fit: no slot would ever match them.
constexpr index_t most_hashed_columns = ((1 << (32 - place_bits)) - 1) * 32;

/// Slots is a power of two, of which up to half are used.
template <int Slots>
struct word_table {
  static constexpr unsigned none = ~0u;
  static constexpr int most = Slots / 2;
  static_assert(none >> place_bits == most_hashed_columns / 32);

  uint2 entry[Slots];  // mask of the columns; the word and, in its low bits, the place of the first of them, or none
  int used;

  __device__ static unsigned word_of(uint2 entry) { return entry.y >> place_bits; }
  __device__ static unsigned place_of(uint2 entry) { return entry.y % (1u << place_bits); }
  __device__ static unsigned word_at(unsigned word, unsigned place) { return word << place_bits | place; }

  __device__ void clear() {
    for (int i = lane_id(); i < Slots; i += 32) entry[i] = {0, none};
    if (lane_id() == 0) used = 0;
    __syncwarp();
  }

  /// Adds columns of a word; the place counts where the word is new. False where more than `most` words are in the
  /// table.
  __device__ bool add(unsigned word, unsigned mask, unsigned place = 0) {
    unsigned slot = first_slot(word);
    for (int probe = 1;; ++probe) {
      uint2 found = entry[slot];
      if (found.y == none) {
        found = {0, atomicCAS(&entry[slot].y, none, word_at(word, place))};
        if (found.y == none) {
          if (atomicAdd(&used, 1) >= most) return false;
          found.y = word_at(word, place);
        }
      }
      if (word_of(found) == word) {
        if ((mask & ~found.x) != 0) atomicOr(&entry[slot].x, mask);
        return true;
      }
      if (probe % 16 == 0 && *static_cast<volatile int*>(&used) > most) return false;
      slot = (slot + 1) % Slots;
    }
  }

  /// A word that is in the table.
  __device__ __forceinline__ uint2 find(unsigned word) const {
    unsigned slot = first_slot(word);
    uint2 found = entry[slot];
    while (word_of(found) != word) {
      slot = (slot + 1) % Slots;
      found = entry[slot];
    }
    return found;
  }

  /// The words of a row of A B, with their masks. False where they are more than `most`.
  template <int Lanes, bool Words, class O>
  __device__ bool collect(const product_pattern<O>& m, const word_rows<O>& b, index_t row) {
    clear();
    const O end = m.a_rowptr[row + 1];
    for (O base = m.a_rowptr[row]; base < end; base += 32) {
      const O mine = base + lane_id();
      O first = 0, last = 0;
      if (mine < end) {
        const index_t inner = __ldg(m.a_colind + mine);
        first = __ldg(b.begin + inner);
        last = __ldg(b.end + inner);
      }
      bool full = false;
      walk_words<Lanes, Words>(
          b, first, last, end - base < 32 ? static_cast<int>(end - base) : 32,
          [&](unsigned word, unsigned mask) { full = full || !add(word, mask); }, [&] { return full; });
      if (__any_sync(full_warp, full)) return false;
    }
    __syncwarp();
    return true;
  }

 private:
  static constexpr int log2_slots = std::bit_width(static_cast<unsigned>(Slots)) - 1;

  __device__ static unsigned first_slot(unsigned word) { return word * 0x9e3779b1u >> (32 - log2_slots); }
};

}  // namespace tulle::cuda
