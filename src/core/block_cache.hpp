// Blocks of host memory that were given back, for the next that want as much. The pages of a new block are cleared by
// the system when they are first touched, which takes longer than many products.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <mutex>

namespace tulle {

class block_cache {
 public:
  static constexpr std::size_t smallest = std::size_t{64} << 10;
  static constexpr std::size_t largest = std::size_t{32} << 20;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of all blocks that are kept

  struct block {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  /// Sizes come in eight steps a power of two, so that blocks fit again: what a block of `bytes` is to take.
  static constexpr std::size_t size_for(std::size_t bytes) noexcept {
    if (bytes < smallest || bytes > largest) return bytes;
    const std::size_t step = std::bit_floor(bytes) / 8;
    return (bytes + step - 1) / step * step;
  }

  /// One of that size, or none. Where another thread is at it, or was in the parent of a fork, it keeps out.
  void* take(std::size_t bytes) noexcept {
    if (bytes < smallest || bytes > largest) return nullptr;
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (!hold) return nullptr;
    for (std::size_t i = count_; i-- > 0;) {  // the one that was given back last may still be in the caches
      if (blocks_[i].bytes == bytes) return remove(i).memory;
    }
    return nullptr;
  }

  /// Keeps a block, and calls release(block) for those that are too many, the oldest first.
  template <class Release>
  void give(const block& given, const Release& release) noexcept {
    std::unique_lock hold(lock_, std::defer_lock);
    if (given.bytes < smallest || given.bytes > largest || !hold.try_lock()) return release(given);
    while (count_ > 0 && (count_ == blocks_.size() || kept_ + given.bytes > most_bytes)) release(remove(0));
    blocks_[count_++] = given;
    kept_ += given.bytes;
  }

  /// Calls release(block) for all. Whether there were any.
  template <class Release>
  bool clear(const Release& release) noexcept {
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (!hold || count_ == 0) return false;
    while (count_ > 0) release(remove(count_ - 1));
    return true;
  }

 private:
  block remove(std::size_t i) noexcept {
    const block found = blocks_[i];
    std::move(blocks_.begin() + i + 1, blocks_.begin() + count_, blocks_.begin() + i);
    --count_;
    kept_ -= found.bytes;
    return found;
  }

  std::mutex lock_;
  std::array<block, 128> blocks_;  // in the order in which they were given back
  std::size_t count_ = 0;
  std::size_t kept_ = 0;
};

}  // namespace tulle
