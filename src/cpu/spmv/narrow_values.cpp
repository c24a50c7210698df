// In one pass, whether each value is a float, whether each is a bf16, and which different ones there are while they are
// few. Bytes: those of the values, or next to none where values soon turn out to be of all kinds.
#include "cpu/spmv/narrow_values.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/parallel.hpp"

namespace tulle::cpu {
namespace {

/// What all values looked at so far are.
struct qualities {
  bool f32 = true;
  bool bf16 = true;
  bool few = true;
};

/// Values that are looked at before threads tell each other what they found: they stay in the first-level cache.
constexpr std::int64_t block = 2048;

template <class T>
void look_at_widths(const T* values, std::int64_t count, qualities& all) {
  using bits = typename value_set<T>::bits;
  bits lost = 0;
  std::uint32_t low = 0;
#pragma omp simd reduction(| : lost, low)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto narrow = static_cast<float>(values[i]);
    lost |= std::bit_cast<bits>(static_cast<T>(narrow)) ^ std::bit_cast<bits>(values[i]);
    low |= std::bit_cast<std::uint32_t>(narrow) & 0xffff;
  }
  all.f32 = all.f32 && lost == 0;
  all.bf16 = all.bf16 && lost == 0 && low == 0;
}

template <class T>
bool add_all(const T* values, std::int64_t count, value_set<T>& seen) {
  using bits = typename value_set<T>::bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool again = i > 0 && std::bit_cast<bits>(values[i]) == std::bit_cast<bits>(values[i - 1]);
    if (!again && !seen.add(values[i])) return false;
  }
  return true;
}

}  // namespace

template <class T>
std::vector<T> value_set<T>::sorted() const {
  std::vector<bits> found;
  for (std::size_t at = 0; at < slots; ++at) {
    if (place_[at] != none) found.push_back(bits_[at]);
  }
  std::ranges::sort(found);
  std::vector<T> out;
  for (const bits b : found) out.push_back(std::bit_cast<T>(b));
  return out;
}

template <class T>
value_kinds<T> kinds_of(int threads, const T* values, std::int64_t count) {
  if (count == 0) return {};
  std::atomic<bool> f32 = sizeof(T) == 8, bf16 = true, few = true;
  std::mutex joining;
  value_set<T> seen;
  for_each_part(threads, [&](int part) {
    const auto first = [&](int p) { return count / threads * p + count % threads * p / threads; };
    value_set<T> mine;
    qualities all;
    const std::int64_t end = first(part + 1);
    for (std::int64_t at = first(part); at < end; at += block) {
      const std::int64_t some = std::min(block, end - at);
      all = {f32, bf16, few};
      if (!all.f32 && !all.bf16 && !all.few) return;
      if (all.f32 || all.bf16) look_at_widths(values + at, some, all);
      if (all.few) all.few = add_all(values + at, some, mine);
      if (!all.f32) f32 = false;
      if (!all.bf16) bf16 = false;
      if (!all.few) few = false;
    }
    const std::scoped_lock hold(joining);
    for (const T value : mine.sorted()) {
      if (!seen.add(value)) few = false;
    }
  });
  return {f32, bf16, few ? seen.sorted() : std::vector<T>{}};
}

#define TULLE_INSTANTIATE(T)   \
  template class value_set<T>; \
  template value_kinds<T> kinds_of(int, const T*, std::int64_t);
TULLE_INSTANTIATE(float)
TULLE_INSTANTIATE(double)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cpu
