// The contract between vector_ops and the backends. What is constexpr here also runs on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>
#include <type_traits>

#include "core/split_mix.hpp"
#include "kernels/types.hpp"

namespace tulle {

/// A value, or where it is read when the work runs.
struct scalar_operand {
  double value = 1;
  const void* data = nullptr;
  scalar_type type = scalar_type::f64;

  [[nodiscard]] constexpr double get() const {
    if (data == nullptr) return value;
    if (type == scalar_type::f64) return *static_cast<const double*>(data);
    if (type == scalar_type::f32) return *static_cast<const float*>(data);
    return *static_cast<const std::int32_t*>(data);
  }
};

struct coefficient_operand {
  double factor = 1;
  scalar_operand numerator;
  scalar_operand denominator;

  [[nodiscard]] constexpr double get() const { return factor * numerator.get() / denominator.get(); }
};

/// y = a x + b y; b = 0 never reads y; x null: y = b y; d not null: d.x, element by element, in place of x.
struct update_operand {
  coefficient_operand a;
  const void* x = nullptr;
  coefficient_operand b;
  void* y = nullptr;
  const void* d = nullptr;
};

struct dot_operand {
  const void* x = nullptr;
  const void* y = nullptr;
};

/// Pairs of vectors that one pass multiplies.
constexpr int most_dots = 8;

/// Element i of a random vector: 53 or 24 bits of SplitMix64 at i as a fraction in [-1, 1), exactly.
template <class T>
constexpr T random_element(std::uint64_t key, std::uint64_t i) {
  const std::uint64_t word = split_mix(key + 0x9e3779b97f4a7c15ULL * (i + 1));
  if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(word >> 11) * 0x1p-52 - 1;
  } else {
    return static_cast<float>(word >> 40) * 0x1p-23F - 1;
  }
}

/// What every call is given: vectors of `n` elements of `type`.
struct vector_work {
  const context& ctx;
  stream_view stream;
  scalar_type type;
  std::int64_t n;
  void* workspace;              // workspace_bytes of it
  scalar_type sum_type = type;  // of what dot products are written to: f64, or that of the vectors
};

/// Arguments are checked and in the backend's memory. Nothing allocates or waits.
struct vector_kernels {
  /// Set to zero once, before the first sum.
  std::size_t (*workspace_bytes)(const context&);
  void (*fill)(const vector_work&, const coefficient_operand&, void* y);
  void (*copy)(const vector_work&, const void* x, void* y);
  /// One or two terms, or one with d. Where dots is not null: dots[0] = w . y, dots[1] = y . y of the last term's y; w
  /// null: w = y.
  void (*update)(const vector_work&, std::span<const update_operand>, const void* w, void* dots);
  /// 1 to most_dots pairs; their square roots where `root`.
  void (*dots)(const vector_work&, std::span<const dot_operand>, bool root, void* results);
  void (*gather)(const vector_work&, offset_type, const void* from, const void* x, void* y);
  void (*scatter)(const vector_work&, offset_type, const void* to, const void* x, void* y);
  void (*random)(const vector_work&, std::uint64_t key, void* y);
  /// y = a x, or y += a x, in f64 and then rounded to y's type: f32 and f64 in either way.
  void (*convert)(const vector_work&, double a, scalar_type from, const void* x, bool adds, void* y);
};

}  // namespace tulle
