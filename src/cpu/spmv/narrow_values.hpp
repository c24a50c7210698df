// Which values of a matrix can be stored in fewer bytes without losing a bit, and how they are written so.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tulle/core/types.hpp>
#include <type_traits>
#include <vector>

#include "kernels/value_bound.hpp"
#include "kernels/value_words.hpp"

namespace tulle::cpu {

/// At most most_listed_values different numbers, told apart by their bits, and the places of these in a list.
template <class T>
class value_set {
 public:
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

  /// False, and nothing changes, where there is no room for one more.
  bool add(T value) {
    const bits of_value = std::bit_cast<bits>(value);
    std::size_t at = find(of_value);
    if (place_[at] != none) return true;
    if (size_ == most_listed_values) return false;
    bits_[at] = of_value;
    place_[at] = static_cast<std::int16_t>(size_++);
    return true;
  }
  /// Of a value that was added: how many others were before.
  [[gnu::always_inline]] std::uint8_t place_of(T value) const {
    return static_cast<std::uint8_t>(place_[find(std::bit_cast<bits>(value))]);
  }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// In increasing order of their bits.
  [[nodiscard]] std::vector<T> sorted() const;

 private:
  static constexpr std::size_t slots = 1024;
  static constexpr std::int16_t none = -1;
  static constexpr std::array<std::int16_t, slots> no_places = [] {
    std::array<std::int16_t, slots> all{};
    all.fill(none);
    return all;
  }();

  /// Where it is, or could be.
  [[gnu::always_inline]] std::size_t find(bits value) const {
    const std::uint64_t wide = value;
    std::size_t at = (wide ^ wide >> 32) * 0x9e3779b97f4a7c15u >> 54;
    static_assert(slots == std::size_t{1} << (64 - 54));
    while (place_[at] != none && bits_[at] != value) at = (at + 1) % slots;
    return at;
  }

  std::array<bits, slots> bits_{};
  std::array<std::int16_t, slots> place_ = no_places;
  int size_ = 0;
};

/// How an array of T can be stored without losing a bit.
template <class T>
struct value_kinds {
  bool f32 = false;  // not of floats: they are whole
  bool bf16 = false;
  std::vector<T> list = {};  // the different values in increasing order of their bits; empty where they are too many
};

/// Looks at each of `count` values, and stops early where nothing can come of it.
template <class T>
value_kinds<T> kinds_of(int threads, const T* values, std::int64_t count);

/// Writes values as they are stored.
template <class T>
class value_writer {
 public:
  /// `list`: of `listed`, every value that there is. `low`: of `words`, bytes from a high word to its low one.
  value_writer(value_storage storage, const std::vector<T>& list, std::ptrdiff_t low = 0)
      : storage_(storage), low_(low) {
    for (const T value : list) places_.add(value);
  }
  [[nodiscard]] std::size_t slot_bytes() const { return bytes_of(storage_, sizeof(T)); }
  /// From now on values are stored in this form.
  void enter(row_form form) {
    form_ = form;
    storage_ = storage_of(form);
  }

  /// Returns the end of what it wrote.
  [[gnu::always_inline]] std::byte* write(const T* values, int count, std::byte* to) const {
    switch (storage_) {
      case value_storage::f32:
        for (int i = 0; i < count; ++i) put(static_cast<float>(values[i]), i, to);
        break;
      case value_storage::f16:
        for (int i = 0; i < count; ++i) put(to_f16(values[i], form_), i, to);
        break;
      case value_storage::bf16:
        for (int i = 0; i < count; ++i) {
          put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(values[i])) >> 16), i, to);
        }
        break;
      case value_storage::listed:
        for (int i = 0; i < count; ++i) put(places_.place_of(values[i]), i, to);
        break;
      case value_storage::words:
        for (int i = 0; i < count; ++i) {
          const value_words w = words_of(values[i]);
          put(w.high, i, to);
          put(w.low, i, to + low_);
        }
        break;
      default:
        std::memcpy(to, values, static_cast<std::size_t>(count) * sizeof(T));
    }
    return to + static_cast<std::size_t>(count) * slot_bytes();
  }

 private:
  template <class S>
  [[gnu::always_inline]] static void put(S value, int i, std::byte* to) {
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(S), &value, sizeof(S));
  }

  value_storage storage_;
  std::ptrdiff_t low_;
  row_form form_ = whole_form;
  value_set<T> places_ = {};
};

}  // namespace tulle::cpu
