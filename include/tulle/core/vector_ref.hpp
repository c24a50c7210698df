/// @file
/// Vectors and scalars as values that any backend, language and solver can hold: their types are known at run time.
///
/// A ref does not own what it points to. Whatever holds numbers in a row converts to one: std::vector, std::array,
/// std::span, host_span, device_span, buffer. What is written must outlive the call, so a temporary container does not
/// convert to vector_ref.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tulle/core/buffer.hpp>
#include <tulle/core/span.hpp>
#include <tulle/core/types.hpp>

namespace tulle {

namespace detail {

template <class From, class Void>
concept keeps_const = std::is_const_v<Void> || !std::is_const_v<From>;

/// A container or span of numbers on the host whose elements may be handed on as Void*.
template <class R, class Void>
concept host_numbers = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       scalar<std::ranges::range_value_t<R>> &&
                       keeps_const<std::remove_reference_t<std::ranges::range_reference_t<R>>, Void> &&
                       (std::is_const_v<Void> || std::ranges::borrowed_range<R>);

}  // namespace detail

/// `size` numbers, element i at data[i * stride], in host memory or in that of `device` (-1: not known, or the host).
template <class Void>
struct basic_vector_ref {
  scalar_type type = scalar_type::f64;      ///< of the elements
  Void* data = nullptr;                     ///< element 0
  std::int64_t size = 0;                    ///< elements
  std::int64_t stride = 1;                  ///< from one element to the next, in elements
  memory_space space = memory_space::host;  ///< where they are
  int device = -1;                          ///< the number of the device, -1: not known, or the host

  constexpr basic_vector_ref() noexcept = default;
  /// Of everything, one by one: type, first element, elements, memory, device, stride.
  constexpr basic_vector_ref(scalar_type t, Void* d, std::int64_t n, memory_space where, int on = -1,
                             std::int64_t step = 1) noexcept
      : type(t), data(d), size(n), stride(step), space(where), device(on) {}

  /// A contiguous range of numbers on the host.
  template <detail::host_numbers<Void> R>
  constexpr basic_vector_ref(R&& r) noexcept
      : basic_vector_ref(scalar_type_of<std::ranges::range_value_t<R>>, std::ranges::data(r),
                         static_cast<std::int64_t>(std::ranges::size(r)), memory_space::host) {}
  /// A span of device memory; of which device is not known.
  template <class T>
    requires detail::keeps_const<T, Void>
  constexpr basic_vector_ref(device_span<T> s) noexcept
      : basic_vector_ref(scalar_type_of<std::remove_const_t<T>>, s.data(), static_cast<std::int64_t>(s.size()),
                         memory_space::device) {}
  /// A buffer that may be written.
  template <scalar T>
  basic_vector_ref(buffer<T>& b) noexcept
      : basic_vector_ref(scalar_type_of<T>, b.data(), static_cast<std::int64_t>(b.size()), b.space(), b.device()) {}
  /// A buffer that is read.
  template <scalar T>
    requires std::is_const_v<Void>
  basic_vector_ref(const buffer<T>& b) noexcept
      : basic_vector_ref(scalar_type_of<T>, b.data(), static_cast<std::int64_t>(b.size()), b.space(), b.device()) {}
  /// What may be written may be read.
  template <std::same_as<void> Written>
    requires std::is_const_v<Void>
  constexpr basic_vector_ref(const basic_vector_ref<Written>& v) noexcept
      : basic_vector_ref(v.type, v.data, v.size, v.space, v.device, v.stride) {}
};

/// A vector that is written, or read and written.
using vector_ref = basic_vector_ref<void>;
/// A vector that is read.
using const_vector_ref = basic_vector_ref<const void>;

/// Numbers that are read later as well: a temporary container, which would be gone by then, is refused.
template <class R>
  requires(std::is_lvalue_reference_v<R> || std::ranges::borrowed_range<R> || !std::ranges::range<R>)
const_vector_ref lent(R&& r) {
  return const_vector_ref(std::forward<R>(r));
}

/// How several vectors lie in one array: element by element of all of them, or vector by vector.
enum class vector_order : std::uint8_t {
  row_major,     ///< element i of all vectors side by side
  column_major,  ///< the elements of a vector side by side
};
/// "row", "column".
constexpr std::string_view name(vector_order o) { return o == vector_order::row_major ? "row" : "column"; }

/// `count` dense vectors of `rows` elements each. Element i of vector j is at i * ld + j when row_major (ld >= count),
/// at i + j * ld when column_major (ld >= rows).
template <class Void>
struct basic_multivector_ref {
  scalar_type type = scalar_type::f64;  ///< of the elements
  index_t rows = 0;                     ///< elements of each vector
  index_t count = 0;                    ///< vectors
  std::int64_t ld = 0;                  ///< from one row (row_major) or vector (column_major) to the next, in elements
  vector_order order = vector_order::row_major;  ///< how they lie
  Void* data = nullptr;                          ///< element 0 of vector 0
  memory_space space = memory_space::host;       ///< where they are
  int device = -1;                               ///< the number of the device, -1: not known, or the host

  constexpr basic_multivector_ref() noexcept = default;
  /// Of everything, one by one, in the order of the members.
  constexpr basic_multivector_ref(scalar_type t, index_t r, index_t n, std::int64_t l, vector_order o, Void* d,
                                  memory_space where, int on = -1) noexcept
      : type(t), rows(r), count(n), ld(l), order(o), data(d), space(where), device(on) {}
  /// What may be written may be read.
  template <std::same_as<void> Written>
    requires std::is_const_v<Void>
  constexpr basic_multivector_ref(const basic_multivector_ref<Written>& v) noexcept
      : basic_multivector_ref(v.type, v.rows, v.count, v.ld, v.order, v.data, v.space, v.device) {}

  /// Element i of vector j is at i * row_stride() + j * vector_stride().
  [[nodiscard]] constexpr std::int64_t row_stride() const noexcept {
    return order == vector_order::row_major ? ld : 1;
  }
  /// From an element of a vector to the same element of the next, in elements.
  [[nodiscard]] constexpr std::int64_t vector_stride() const noexcept {
    return order == vector_order::row_major ? 1 : ld;
  }
};

/// Several vectors that are written.
using multivector_ref = basic_multivector_ref<void>;
/// Several vectors that are read.
using const_multivector_ref = basic_multivector_ref<const void>;

/// One number, on the host (read when the call is made) or on a device (read when the work runs, which neither waits
/// nor copies).
class scalar_ref {
 public:
  /// A number on the host.
  constexpr scalar_ref(double value) noexcept : value_(value) {}
  /// A number in the memory of a device, or on the host at `data`; it must live until the work has run.
  constexpr scalar_ref(scalar_type type, const void* data, memory_space space) noexcept
      : type_(type), data_(data), space_(space) {}
  /// The first element of a vector.
  constexpr explicit scalar_ref(const const_vector_ref& v) noexcept : scalar_ref(v.type, v.data, v.space) {}

  /// Whether it is a number that the host knew when the ref was made.
  [[nodiscard]] constexpr bool is_value() const noexcept { return data_ == nullptr; }
  /// That number; 0 for one in memory.
  [[nodiscard]] constexpr double value() const noexcept { return value_; }
  /// Of the number in memory; f64 for one on the host.
  [[nodiscard]] constexpr scalar_type type() const noexcept { return type_; }
  /// Where the number is; null for one that the host knew.
  [[nodiscard]] constexpr const void* data() const noexcept { return data_; }
  /// Of data().
  [[nodiscard]] constexpr memory_space space() const noexcept { return space_; }

 private:
  double value_ = 0;
  scalar_type type_ = scalar_type::f64;
  const void* data_ = nullptr;
  memory_space space_ = memory_space::host;
};

}  // namespace tulle
