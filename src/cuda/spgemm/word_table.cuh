// A hash table of words in shared memory, owned by one warp: linear probing, words enter by compare-and-swap of integers.
#pragma once

#include <bit>

#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Slots is a power of two; up to half of them may be used, then find and insert are sure to end.
template <int Slots>
struct word_table {
  static constexpr unsigned none = ~0u;

  unsigned* key;

  __device__ static unsigned first_slot(unsigned word) { return word * 0x9e3779b1u >> (32 - log2_slots); }

  /// To be followed by __syncwarp().
  __device__ void clear() const {
    for (int i = lane_id(); i < Slots; i += 32) key[i] = none;
  }

  /// Where the word is or came to be, or Slots where there was no room; `added` counts the words that were new.
  __device__ int insert(unsigned word, int& added) const {
    unsigned slot = first_slot(word);
    for (int probe = 0; probe < Slots; ++probe) {
      unsigned found = key[slot];
      if (found == none) {
        found = atomicCAS(key + slot, none, word);
        if (found == none) {
          ++added;
          return static_cast<int>(slot);
        }
      }
      if (found == word) return static_cast<int>(slot);
      slot = (slot + 1) % Slots;
    }
    return Slots;
  }

  /// Where a word that is in the table is.
  __device__ __forceinline__ unsigned find(unsigned word) const {
    unsigned slot = first_slot(word);
    while (key[slot] != word) slot = (slot + 1) % Slots;
    return slot;
  }

 private:
  static constexpr int log2_slots = std::bit_width(static_cast<unsigned>(Slots)) - 1;
};

}  // namespace tulle::cuda
