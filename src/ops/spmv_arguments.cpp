#include "ops/spmv_arguments.hpp"

#include <fmt/format.h>

namespace tulle::detail {
namespace {

[[noreturn]] void refuse(std::string_view what, int value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace

void check_options(const spmv_options& o) {
  if (o.block_size != 0 && (o.block_size < 32 || o.block_size > 1024 || o.block_size % 32 != 0)) {
    refuse("block_size", o.block_size, "a multiple of 32 up to 1024");
  }
  if (o.lanes != 0 && (o.lanes < 1 || o.lanes > 32 || (o.lanes & (o.lanes - 1)) != 0)) {
    refuse("lanes", o.lanes, "1, 2, 4, 8, 16 or 32");
  }
  if (o.sigma != 0 && o.sigma != 1 && (o.sigma < 32 || o.sigma % 32 != 0)) refuse("sigma", o.sigma, "1 or a multiple of 32");
  if (o.block != 0 && (o.block < 2 || o.block > 8)) refuse("block", o.block, "2 to 8");
  if (o.effort > spmv_effort::max) refuse("effort", static_cast<int>(o.effort), "none (0), standard (1) or max (2)");
  if (o.policy > spmv_policy::simple) refuse("policy", static_cast<int>(o.policy), "standard (0) or simple (1)");
}

void check_vectors(const spmv_vectors& v, shape a, scalar_type type, backend_kind backend) {
  if (v.space != (backend == backend_kind::cpu ? memory_space::host : memory_space::device)) {
    throw error(status::invalid_argument,
                fmt::format("x and y are in {} memory, the plan runs on {}", name(v.space), name(backend)));
  }
  if (v.x_size != static_cast<std::size_t>(a.cols)) {
    throw error(status::invalid_dimensions, fmt::format("x has {} elements, A has {} columns", v.x_size, a.cols));
  }
  if (v.y_size != static_cast<std::size_t>(a.rows)) {
    throw error(status::invalid_dimensions, fmt::format("y has {} elements, A has {} rows", v.y_size, a.rows));
  }
  if ((v.x_size > 0 && v.x == nullptr) || (v.y_size > 0 && v.y == nullptr)) {
    throw error(status::null_pointer, "x or y is null");
  }
  const std::size_t width = size_of(type);
  if (overlap(v.x, v.x_size * width, v.y, v.y_size * width)) throw error(status::invalid_argument, "x and y overlap");
}

}  // namespace tulle::detail
