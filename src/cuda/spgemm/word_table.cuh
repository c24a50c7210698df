// A hash table of the words of a row in shared memory, owned by one warp: linear probing, words enter by
// compare-and-swap of integers.
#pragma once

#include <bit>

#include "cuda/spgemm/word_walk.cuh"

namespace tulle::cuda {

/// Slots is a power of two, of which up to half are used.
template <int Slots>
struct word_table {
  static constexpr unsigned none = ~0u;
  static constexpr int most = Slots / 2;

  uint2 entry[Slots];  // mask of the columns, place of the first of them
  unsigned key[Slots];
  int used;

  __device__ static unsigned first_slot(unsigned word) { return word * 0x9e3779b1u >> (32 - log2_slots); }

  __device__ void clear() {
    for (int i = lane_id(); i < Slots; i += 32) {
      key[i] = none;
      entry[i] = {0, 0};
    }
    if (lane_id() == 0) used = 0;
    __syncwarp();
  }

  /// Where the word is or came to be; Slots where more than `most` words are in the table.
  __device__ int insert(unsigned word) {
    unsigned slot = first_slot(word);
    for (int probe = 1;; ++probe) {
      unsigned found = key[slot];
      if (found == none) {
        found = atomicCAS(key + slot, none, word);
        if (found == none) {
          if (atomicAdd(&used, 1) >= most) return Slots;
          return static_cast<int>(slot);
        }
      }
      if (found == word) return static_cast<int>(slot);
      if (probe % 16 == 0 && *static_cast<volatile int*>(&used) > most) return Slots;
      slot = (slot + 1) % Slots;
    }
  }

  /// Where a word that is in the table is.
  __device__ __forceinline__ unsigned find(unsigned word) const {
    unsigned slot = first_slot(word);
    while (key[slot] != word) slot = (slot + 1) % Slots;
    return slot;
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
          [&](unsigned word, unsigned mask) {
            const int slot = full ? Slots : insert(word);
            full = slot == Slots;
            if (!full && (mask & ~entry[slot].x) != 0) atomicOr(&entry[slot].x, mask);
          },
          [&] { return full; });
      if (__any_sync(full_warp, full)) return false;
    }
    __syncwarp();
    return true;
  }

 private:
  static constexpr int log2_slots = std::bit_width(static_cast<unsigned>(Slots)) - 1;
};

}  // namespace tulle::cuda
