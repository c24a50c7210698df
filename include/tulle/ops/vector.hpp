/// @file
/// Vector operations that solvers are made of, fused where solvers use them together, on both backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/span.hpp>
#include <tulle/core/types.hpp>
#include <tulle/core/vector_ref.hpp>
#include <type_traits>

namespace tulle {

/// factor * numerator / denominator, computed in f64 when the work runs: a quotient of two dot products that are in the
/// memory of a device, like alpha = r.z / p.q of conjugate gradients, never visits the host.
class coefficient {
 public:
  /// A number that the host knows.
  constexpr coefficient(double factor) noexcept : factor_(factor) {}
  /// A number in memory, read when the work runs.
  constexpr coefficient(const scalar_ref& numerator) noexcept : coefficient(1, numerator) {}
  /// factor * numerator / denominator.
  constexpr coefficient(double factor, const scalar_ref& numerator, const scalar_ref& denominator = 1.0) noexcept
      : factor_(factor), numerator_(numerator), denominator_(denominator) {}

  /// Of the host.
  [[nodiscard]] constexpr double factor() const noexcept { return factor_; }
  /// 1 where none was given.
  [[nodiscard]] constexpr const scalar_ref& numerator() const noexcept { return numerator_; }
  /// 1 where none was given.
  [[nodiscard]] constexpr const scalar_ref& denominator() const noexcept { return denominator_; }

  /// With the factor -factor().
  friend constexpr coefficient operator-(const coefficient& c) noexcept {
    return {-c.factor_, c.numerator_, c.denominator_};
  }

 private:
  double factor_;
  scalar_ref numerator_ = 1.0;
  scalar_ref denominator_ = 1.0;
};

namespace detail {
template <class R>
concept host_indices =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && offset<std::ranges::range_value_t<R>>;
}

/// Numbers of elements, in 32 or 64 bits, that `gather` reads at and `scatter` writes at.
struct permutation_ref {
  offset_type type = offset_type::i32;      ///< of the numbers: 32 or 64 bits
  const void* data = nullptr;               ///< the first
  std::int64_t size = 0;                    ///< how many there are
  memory_space space = memory_space::host;  ///< where they are
  int device = -1;                          ///< the number of the device, -1: not known, or the host

  constexpr permutation_ref() noexcept = default;
  /// Of everything, one by one, in the order of the members.
  constexpr permutation_ref(offset_type t, const void* d, std::int64_t n, memory_space where, int on = -1) noexcept
      : type(t), data(d), size(n), space(where), device(on) {}
  /// Numbers in a range on the host.
  template <detail::host_indices R>
  constexpr permutation_ref(const R& r) noexcept
      : permutation_ref(offset_type_of<std::ranges::range_value_t<R>>, std::ranges::data(r),
                        static_cast<std::int64_t>(std::ranges::size(r)), memory_space::host) {}
  /// Numbers on a device; on which is not known.
  template <class O>
  requires offset<std::remove_const_t<O>>
  constexpr permutation_ref(device_span<O> s) noexcept
      : permutation_ref(offset_type_of<std::remove_const_t<O>>, s.data(), static_cast<std::int64_t>(s.size()),
                        memory_space::device) {}
  /// Numbers in a buffer.
  template <offset O>
  permutation_ref(const buffer<O>& b) noexcept
      : permutation_ref(offset_type_of<O>, b.data(), static_cast<std::int64_t>(b.size()), b.space(), b.device()) {}
};

/// y = a x + b y.
struct axpby_term {
  coefficient a;       ///< of x
  const_vector_ref x;  ///< is read
  coefficient b;       ///< of y
  vector_ref y;        ///< is read and written; where b is 0, written alone
};

/// Two vectors whose dot product is wanted.
struct dot_pair {
  const_vector_ref x;  ///< of the size and type of the other
  const_vector_ref y;  ///< of the size and type of the other
};

/// The vector operations of a context, with the memory that sums need. Make it once: making it allocates and waits; its
/// operations do neither, and can be captured in a graph. They run on the context's stream, or on `stream`, which must
/// be of the same device. The sums of one object share its memory: one operation at a time, and those on different
/// streams ordered by the caller.
///
/// All arithmetic is deterministic: sums are added in an order that depends on the size alone (on a GPU, also on its
/// number of multiprocessors), so a CPU gives the same bits for any number of threads. Sums are carried in f64 and
/// rounded to the vectors' type at the end: the error of a dot product of n elements is at most gamma(n) |x|.|y| in f64
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), and that rounding besides for f32. What
/// sums are written to may be f64 where the vectors are f32, and then nothing is rounded.
///
/// Vectors are f32 or f64 (fill, copy, gather and scatter: also i32), all of a call alike, in the context's memory,
/// with elements side by side. What is written overlaps nothing else of the call. Throws INVALID_ARGUMENT,
/// INVALID_DIMENSIONS, NULL_POINTER, and UNSUPPORTED for a stride, naming the argument.
class vector_ops {
 public:
  using on_stream = std::optional<stream_view>;  ///< none: the context's

  /// For `ctx`. Allocates the memory that sums need, and waits; throws OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY.
  explicit vector_ops(const context& ctx);

  /// Where it runs.
  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }

  /// y = value in every element. With one element, arithmetic on scalars that are on a device.
  void fill(const coefficient& value, const vector_ref& y, on_stream stream = {}) const;
  /// y = x.
  void copy(const const_vector_ref& x, const vector_ref& y, on_stream stream = {}) const;
  /// y = a y. a = 0 overwrites y, NaN included.
  void scale(const coefficient& a, const vector_ref& y, on_stream stream = {}) const;
  /// y = a x + b y. b = 0 overwrites y, NaN included; a = 0 is no exception: a NaN of x reaches y.
  void axpby(const coefficient& a, const const_vector_ref& x, const coefficient& b, const vector_ref& y,
             on_stream stream = {}) const;
  /// The same, and from the same pass dots[0] = w . y and dots[1] = y . y of the new y. w may be x or y.
  void axpby_dots(const coefficient& a, const const_vector_ref& x, const coefficient& b, const vector_ref& y,
                  const const_vector_ref& w, const vector_ref& dots, on_stream stream = {}) const;
  /// Two updates in one pass, with the dot products of the second: x += alpha p, r -= alpha q and r . r of conjugate
  /// gradients. Neither update reads what the other writes; w may be any vector but first.y.
  void axpby_pair_dots(const axpby_term& first, const axpby_term& second, const const_vector_ref& w,
                       const vector_ref& dots, on_stream stream = {}) const;

  /// y = a D x + b y with the diagonal matrix D in d: d[i] x[i], element by element. b = 0 overwrites y.
  void multiply(const coefficient& a, const const_vector_ref& d, const const_vector_ref& x, const coefficient& b,
                const vector_ref& y, on_stream stream = {}) const;
  /// The same, and from the same pass dots[0] = w . y and dots[1] = y . y of the new y. w may be x, d or y.
  void multiply_dots(const coefficient& a, const const_vector_ref& d, const const_vector_ref& x, const coefficient& b,
                     const vector_ref& y, const const_vector_ref& w, const vector_ref& dots,
                     on_stream stream = {}) const;

  /// result[0] = x . y.
  void dot(const const_vector_ref& x, const const_vector_ref& y, const vector_ref& result, on_stream stream = {}) const;
  /// results[i] = pairs[i].x . pairs[i].y, all of one size: one pass for every 8 pairs.
  void dots(std::span<const dot_pair> pairs, const vector_ref& results, on_stream stream = {}) const;
  /// result[0] = the Euclidean norm of x. The squares must not overflow f64.
  void norm2(const const_vector_ref& x, const vector_ref& result, on_stream stream = {}) const;

  /// y[i] = x[from[i]]. The numbers must be below the size of x, which is not checked: they may be on a device.
  void gather(const permutation_ref& from, const const_vector_ref& x, const vector_ref& y, on_stream stream = {}) const;
  /// y[to[i]] = x[i]. The numbers must be distinct and below the size of y, which is not checked.
  void scatter(const permutation_ref& to, const const_vector_ref& x, const vector_ref& y, on_stream stream = {}) const;
  /// Uniform in [-1, 1): the same numbers for a seed and a type on every backend, element i for any size of y.
  void random(std::uint64_t seed, const vector_ref& y, on_stream stream = {}) const;

 private:
  [[nodiscard]] stream_view stream_of(on_stream given) const { return given.value_or(ctx_.stream()); }
  void update(std::string_view what, std::span<const axpby_term> terms, const const_vector_ref* d,
              const const_vector_ref* w, const vector_ref* dots, on_stream stream) const;
  void sum(std::string_view what, std::span<const dot_pair> pairs, bool root, const vector_ref& results,
           on_stream stream) const;

  context ctx_;
  mutable buffer<std::byte> workspace_;
};

}  // namespace tulle
