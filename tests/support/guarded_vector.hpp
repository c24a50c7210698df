// A vector in a context's memory between two bands that nobody may write and whose numbers poison what reads them.
#pragma once

#include <cstring>
#include <limits>
#include <tulle/core/buffer.hpp>
#include <vector>

namespace tulle::test {

template <scalar T>
class guarded_vector {
 public:
  /// NaN, or a number that nothing else is.
  static constexpr T canary() {
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) return std::numeric_limits<T>::quiet_NaN();
    return static_cast<T>(0x5a5a5a5a);
  }

  /// `misaligned`: the vector starts one element after an aligned address.
  guarded_vector(const context& ctx, const std::vector<T>& values, bool misaligned)
      : ctx_(ctx), guard_(misaligned ? 65 : 64), size_(values.size()), memory_(ctx, size_ + 2 * guard_) {
    image_.assign(size_ + 2 * guard_, canary());
    std::copy(values.begin(), values.end(), image_.begin() + static_cast<std::ptrdiff_t>(guard_));
    copy_bytes(ctx_, memory_.data(), ctx_.space(), image_.data(), memory_space::host, memory_.bytes());
  }
  /// Of canaries.
  guarded_vector(const context& ctx, std::size_t size) : guarded_vector(ctx, std::vector<T>(size, canary()), true) {}

  [[nodiscard]] T* data() { return memory_.data() + guard_; }
  [[nodiscard]] std::vector<T> values() const {
    const std::vector<T> now = to_vector(ctx_, memory_);
    return {now.begin() + static_cast<std::ptrdiff_t>(guard_), now.end() - static_cast<std::ptrdiff_t>(guard_)};
  }
  /// Whether nothing was written before element `first` and behind the last.
  [[nodiscard]] bool guards_intact(std::size_t first = 0) const {
    const std::vector<T> now = to_vector(ctx_, memory_);
    return same(now, 0, guard_ + first) && same(now, guard_ + size_, guard_);
  }
  [[nodiscard]] bool unchanged() const { return same(to_vector(ctx_, memory_), 0, image_.size()); }

 private:
  [[nodiscard]] bool same(const std::vector<T>& now, std::size_t first, std::size_t count) const {
    return std::memcmp(now.data() + first, image_.data() + first, count * sizeof(T)) == 0;
  }

  context ctx_;
  std::size_t guard_;
  std::size_t size_;
  buffer<T> memory_;
  std::vector<T> image_;  // what was written, bands included
};

}  // namespace tulle::test
