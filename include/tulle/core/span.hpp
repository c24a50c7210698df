/// @file
/// Non-owning ranges. Host and device spans are different types with no conversion between them.
#pragma once

#include <cstddef>
#include <ranges>
#include <type_traits>

#include <tulle/core/types.hpp>

namespace tulle {

/// `size` elements of T side by side in one memory space; trivially copyable. Only the host's can be read through.
template <class T, memory_space Space>
class basic_span {
 public:
  using element_type = T;  ///< what it holds, const or not

  constexpr basic_span() noexcept = default;
  /// The `size` elements from `data` on.
  constexpr basic_span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

  /// A span of T converts to a span of const T.
  template <class U>
    requires(std::is_const_v<T> && std::is_same_v<U, std::remove_const_t<T>>)
  constexpr basic_span(const basic_span<U, Space>& other) noexcept
      : data_(other.data()), size_(other.size()) {}

  /// A contiguous host container (std::vector, std::array, std::span) converts to a host span; a temporary one only to
  /// a span that cannot be written through.
  template <std::ranges::contiguous_range R>
    requires(Space == memory_space::host && std::ranges::sized_range<R> &&
             (std::is_const_v<T> || std::ranges::borrowed_range<R>) &&
             std::is_convertible_v<decltype(std::ranges::data(std::declval<R&>())), T*> &&
             std::is_same_v<std::remove_cv_t<std::ranges::range_value_t<R>>, std::remove_cv_t<T>>)
  constexpr basic_span(R&& range) noexcept : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}

  /// The first element, in the space of the type; null where there is none.
  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  /// Elements.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// Whether there is no element.
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  /// Of the host: an iterator to the first element.
  [[nodiscard]] constexpr T* begin() const noexcept
    requires(Space == memory_space::host)
  {
    return data_;
  }
  /// Of the host: an iterator past the last element.
  [[nodiscard]] constexpr T* end() const noexcept
    requires(Space == memory_space::host)
  {
    return data_ + size_;
  }
  /// Of the host: element i < size(), which is not checked.
  constexpr T& operator[](std::size_t i) const noexcept
    requires(Space == memory_space::host)
  {
    return data_[i];
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Elements in host memory.
template <class T>
using host_span = basic_span<T, memory_space::host>;
/// Elements in the memory of a CUDA device.
template <class T>
using device_span = basic_span<T, memory_space::device>;

}  // namespace tulle

/// @cond
// The elements of a span outlive it.
template <class T, tulle::memory_space Space>
inline constexpr bool std::ranges::enable_borrowed_range<tulle::basic_span<T, Space>> = true;
/// @endcond
