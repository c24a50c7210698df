#include "ops/spmv_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tulle::detail {
namespace {

[[noreturn]] void refuse(std::string_view what, int value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

[[noreturn]] void refuse_overlap(std::string_view a, std::string_view b) {
  throw error(status::invalid_argument, fmt::format("{} and {} overlap", a, b));
}

void check_space(std::string_view name, memory_space space, const argument_rules& rules) {
  if (space == (rules.backend == backend_kind::cpu ? memory_space::host : memory_space::device)) return;
  throw error(status::invalid_argument, fmt::format("{} is in {} memory, the plan runs on {}", name, tulle::name(space),
                                                    tulle::name(rules.backend)));
}

void check_pointer(std::string_view name, const void* data, bool needed) {
  if (needed && data == nullptr) throw error(status::null_pointer, fmt::format("{} is null", name));
}

void check_extent(const vector_argument& v, index_t extent, std::string_view unit, const argument_rules& rules) {
  check_space(v.name, v.space, rules);
  if (v.size != static_cast<std::size_t>(extent)) {
    throw error(status::invalid_dimensions,
                fmt::format("{} has {} elements, {} has {} {}", v.name, v.size, rules.matrix, extent, unit));
  }
  check_pointer(v.name, v.data, v.size > 0);
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

/// Elements that lie together, and how often: a row of a row-major multivector, a vector of a column-major one.
struct stripes {
  std::int64_t length;
  std::int64_t times;
};

stripes stripes_of(const multivector_argument& v) {
  return v.order == vector_order::row_major ? stripes{v.count, v.rows} : stripes{v.rows, v.count};
}

/// From the first element to the one after the last; 0 when there is none.
std::int64_t span_of(const multivector_argument& v) {
  const stripes s = stripes_of(v);
  return s.length == 0 || s.times == 0 ? 0 : (s.times - 1) * v.ld + s.length;
}

void check_multivector(const multivector_argument& v, index_t rows, std::string_view unit,
                       const argument_rules& rules) {
  check_space(v.name, v.space, rules);
  if (v.order > vector_order::column_major)
    refuse("order", static_cast<int>(v.order), "row_major (0) or column_major (1)");
  if (v.rows != rows) {
    throw error(status::invalid_dimensions,
                fmt::format("{} has {} rows, {} has {} {}", v.name, v.rows, rules.matrix, rows, unit));
  }
  if (v.count < 0) throw error(status::invalid_dimensions, fmt::format("{} has {} vectors", v.name, v.count));
  const stripes s = stripes_of(v);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16 / std::max<std::int64_t>(s.times, 1);
  if (v.ld < s.length || v.ld > most) {
    throw error(status::invalid_dimensions,
                fmt::format("{} has ld = {}: must be at least {} in {}-major order, and within memory", v.name, v.ld,
                            s.length, name(v.order)));
  }
  check_pointer(v.name, v.data, span_of(v) > 0);
}

/// Stripes side by side in the same rows of storage do not touch, though their spans do.
bool interleaved(const multivector_argument& x, const multivector_argument& y, std::size_t width) {
  if (x.order != y.order || x.ld != y.ld || x.ld == 0) return false;
  const auto distance =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(y.data) - reinterpret_cast<std::intptr_t>(x.data));
  const auto bytes = static_cast<std::int64_t>(width);
  if (distance % bytes != 0) return false;
  const std::int64_t shift = ((distance / bytes) % x.ld + x.ld) % x.ld;
  return shift >= stripes_of(x).length && shift + stripes_of(y).length <= x.ld;
}

}  // namespace

void check_options(const spmv_options& o) {
  if (o.block_size != 0 && (o.block_size < 32 || o.block_size > 1024 || o.block_size % 32 != 0)) {
    refuse("block_size", o.block_size, "a multiple of 32 up to 1024");
  }
  if (o.lanes != 0 && (o.lanes < 1 || o.lanes > 32 || (o.lanes & (o.lanes - 1)) != 0)) {
    refuse("lanes", o.lanes, "1, 2, 4, 8, 16 or 32");
  }
  if (o.sigma != 0 && o.sigma != 1 && (o.sigma < 32 || o.sigma % 32 != 0))
    refuse("sigma", o.sigma, "1 or a multiple of 32");
  if (o.block != 0 && (o.block < 2 || o.block > 8)) refuse("block", o.block, "2 to 8");
  if (o.effort > spmv_effort::max) refuse("effort", static_cast<int>(o.effort), "none (0), standard (1) or max (2)");
  if (o.policy > spmv_policy::simple) refuse("policy", static_cast<int>(o.policy), "standard (0) or simple (1)");
}

void check_cols(const vector_argument& v, const argument_rules& rules) {
  check_extent(v, rules.a.cols, "columns", rules);
}
void check_rows(const vector_argument& v, const argument_rules& rules) { check_extent(v, rules.a.rows, "rows", rules); }

void check_size(const vector_argument& v, std::size_t size, const argument_rules& rules) {
  check_space(v.name, v.space, rules);
  if (v.size != size) {
    throw error(status::invalid_dimensions, fmt::format("{} has {} elements, {} are needed", v.name, v.size, size));
  }
  check_pointer(v.name, v.data, size > 0);
}

void check_apart(const vector_argument& written, std::initializer_list<vector_argument> others,
                 const argument_rules& rules) {
  const std::size_t width = size_of(rules.type);
  for (const vector_argument& other : others) {
    if (overlap(other.data, other.size * width, written.data, written.size * width))
      refuse_overlap(other.name, written.name);
  }
}

void check_multivectors(const multivector_argument& x, const multivector_argument& y, const argument_rules& rules) {
  check_multivector(x, rules.a.cols, "columns", rules);
  check_multivector(y, rules.a.rows, "rows", rules);
  if (x.count != y.count) {
    throw error(status::invalid_dimensions, fmt::format("X has {} vectors, Y has {}", x.count, y.count));
  }
  const std::size_t width = size_of(rules.type);
  const bool touch = overlap(x.data, static_cast<std::size_t>(span_of(x)) * width, y.data,
                             static_cast<std::size_t>(span_of(y)) * width);
  if (touch && !interleaved(x, y, width)) refuse_overlap("X", "Y");
}

}  // namespace tulle::detail
