#include "ops/vector_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tulle::detail {
namespace {

/// Elements that lie together, and how often: a row of a row-major multivector, a vector of a column-major one.
struct stripes {
  std::int64_t length;
  std::int64_t times;
};

stripes stripes_of(const const_multivector_ref& v) {
  return v.order == vector_order::row_major ? stripes{v.count, v.rows} : stripes{v.rows, v.count};
}

std::size_t span_of(const const_multivector_ref& v) {
  const stripes s = stripes_of(v);
  return s.length == 0 || s.times == 0 ? 0 : static_cast<std::size_t>((s.times - 1) * v.ld + s.length) * size_of(v.type);
}

/// Stripes side by side in the same rows of storage do not touch, though their spans do.
bool interleaved(const const_multivector_ref& x, const const_multivector_ref& y) {
  if (x.order != y.order || x.ld != y.ld || x.ld == 0) return false;
  const auto distance =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(y.data) - reinterpret_cast<std::intptr_t>(x.data));
  const auto bytes = static_cast<std::int64_t>(size_of(x.type));
  if (distance % bytes != 0) return false;
  const std::int64_t shift = ((distance / bytes) % x.ld + x.ld) % x.ld;
  return shift >= stripes_of(x).length && shift + stripes_of(y).length <= x.ld;
}

void check_pointer(std::string_view name, const void* data, bool needed) {
  if (needed && data == nullptr) throw error(status::null_pointer, fmt::format("{} is null", name));
}

}  // namespace

void refuse_overlap(std::string_view a, std::string_view b) {
  throw error(status::invalid_argument, fmt::format("{} and {} overlap", a, b));
}

void require_no_stride(std::string_view what, std::initializer_list<named_vector> vectors) {
  for (const auto& [name, v] : vectors) {
    if (!is_strided(v)) continue;
    throw error(
        status::unsupported,
        fmt::format("{} takes vectors whose elements are side by side: {} has a stride of {}", what, name, v.stride));
  }
}

void check_factor(std::string_view name, double factor, scalar_type type) {
  using limits = std::numeric_limits<std::int32_t>;
  if (type == scalar_type::boolean && factor != 0 && factor != 1) {
    throw error(status::invalid_argument, fmt::format("{} = {}: must be 0 or 1 for bool values", name, factor));
  }
  constexpr double exact = 9007199254740992;  // 2^53: every whole number up to it is a double
  if (type == scalar_type::i64 && !(std::fabs(factor) <= exact && factor == std::trunc(factor))) {
    throw error(status::invalid_argument,
                fmt::format("{} = {}: must be a whole number of at most 2^53 for i64 values", name, factor));
  }
  if ((type == scalar_type::f32 || type == scalar_type::c64) && std::isfinite(factor) && !std::isfinite(static_cast<float>(factor))) {
    throw error(status::invalid_argument, fmt::format("{} = {}: too large for {} values", name, factor, tulle::name(type)));
  }
  if (type != scalar_type::i32) return;
  if (!(factor >= limits::min() && factor <= limits::max() && static_cast<std::int32_t>(factor) == factor)) {
    throw error(status::invalid_argument,
                fmt::format("{} = {}: must be a 32-bit integer for i32 values", name, factor));
  }
}

void vector_rules::check_place(std::string_view name, scalar_type held, memory_space where, int on) const {
  if (where != space) {
    throw error(status::invalid_argument, fmt::format("{} is in {} memory, the work is on {} memory", name,
                                                      tulle::name(where), tulle::name(space)));
  }
  if (space == memory_space::device && on >= 0 && on != device) {
    throw error(status::invalid_argument,
                fmt::format("{} is in the memory of device {}, the work is on device {}", name, on, device));
  }
  if (held != type) {
    throw error(status::invalid_argument,
                fmt::format("{} holds {} elements, {} are needed", name, tulle::name(held), tulle::name(type)));
  }
}

std::string_view vector_rules::matrix_label() const {
  return transposed ? "A^T" : of != nullptr ? of->matrix_label() : "A";
}

void vector_rules::refuse(std::string_view name, const const_vector_ref& v, std::int64_t size, const char* unit) const {
  if (v.size != size) {
    const std::string needed =
        unit == nullptr ? fmt::format("{} are needed", size) : fmt::format("{} has {} {}", matrix_label(), size, unit);
    throw error(status::invalid_dimensions, fmt::format("{} has {} elements, {}", name, v.size, needed));
  }
  if (v.size > 0) check_place(name, v.type, v.space, v.device);
  if (v.size > 1 && v.stride < 1) {
    throw error(status::invalid_argument, fmt::format("{} has a stride of {}: must be positive", name, v.stride));
  }
  check_pointer(name, v.data, v.size > 0);
}

void vector_rules::check_multivector(std::string_view name, const const_multivector_ref& v, index_t extent,
                                     std::string_view unit) const {
  check_place(name, v.type, v.space, v.device);
  if (v.order > vector_order::column_major) {
    throw error(status::invalid_argument,
                fmt::format("order = {}: must be row_major (0) or column_major (1)", static_cast<int>(v.order)));
  }
  if (v.rows != extent) {
    throw error(status::invalid_dimensions,
                fmt::format("{} has {} rows, {} has {} {}", name, v.rows, matrix_label(), extent, unit));
  }
  if (v.count < 0) throw error(status::invalid_dimensions, fmt::format("{} has {} vectors", name, v.count));
  const stripes s = stripes_of(v);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16 / std::max<std::int64_t>(s.times, 1);
  if (v.ld < s.length || v.ld > most) {
    throw error(status::invalid_dimensions,
                fmt::format("{} has ld = {}: must be at least {} in {}-major order, and within memory", name, v.ld,
                            s.length, tulle::name(v.order)));
  }
  check_pointer(name, v.data, span_of(v) > 0);
}

void vector_rules::check_multivectors(const const_multivector_ref& x, const const_multivector_ref& y) const {
  check_multivector("X", x, a.cols, "columns");
  check_multivector("Y", y, a.rows, "rows");
  if (x.count != y.count) {
    throw error(status::invalid_dimensions, fmt::format("X has {} vectors, Y has {}", x.count, y.count));
  }
  if (overlap(x.data, span_of(x), y.data, span_of(y)) && !interleaved(x, y)) refuse_overlap("X", "Y");
}

void vector_rules::check_factors(const const_multivector_ref& u, const const_multivector_ref& v) const {
  check_multivector("U", u, a.rows, "rows");
  check_multivector("V", v, a.cols, "columns");
  if (u.count != v.count) {
    throw error(status::invalid_dimensions, fmt::format("U has {} features, V has {}", u.count, v.count));
  }
}

void vector_rules::check_apart(std::string_view name, const const_vector_ref& v, std::string_view other_name,
                               const const_multivector_ref& other) {
  if (overlap(other.data, span_of(other), v.data, detail::span_of(v))) refuse_overlap(other_name, name);
}

}  // namespace tulle::detail
