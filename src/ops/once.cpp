#include "kernels/once.hpp"

#include <fmt/format.h>

#include <tulle/core/status.hpp>

#include "ops/strided.hpp"
#include "ops/vector_checks.hpp"

namespace tulle {
namespace {

void check(const context& ctx, scalar_type type, shape a, const const_multivector_ref& x, const multivector_ref& y) {
  if (ctx.backend() != backend_kind::cpu) throw error(status::unsupported, "apply_once works on the host alone");
  detail::vector_rules{memory_space::host, -1, type, a}.check_multivectors(x, y);
  if (x.order != vector_order::row_major || y.order != vector_order::row_major) {
    throw error(status::unsupported, "apply_once takes row-major X and Y");
  }
}

void check_blocks(const blocks_ref& a, const char* name) {
  const auto divides = [](index_t block, index_t n) { return block >= 1 && n % block == 0; };
  if (divides(a.block_rows, a.rows) && divides(a.block_cols, a.cols)) return;
  throw error(status::invalid_dimensions, fmt::format("{} is {} x {}: blocks of {} x {} do not divide it", name, a.rows,
                                                      a.cols, a.block_rows, a.block_cols));
}

}  // namespace

void apply_once(const context& ctx, const matrix_ref& a, const const_multivector_ref& x, const multivector_ref& y) {
  if (a.format != matrix_format::coo) throw error(status::unsupported, "apply_once takes a COO, diagonals or blocks");
  check(ctx, a.types.value, a.dimensions(), x, y);
  if (x.count > 0) cpu::apply_coo(a, strided(x), strided(y));
}

void apply_once(const context& ctx, const diagonals_ref& a, const const_multivector_ref& x, const multivector_ref& y) {
  check(ctx, a.type, {a.rows, a.cols}, x, y);
  if (x.count > 0) cpu::apply_diagonals(ctx, a, strided(x), strided(y));
}

void apply_once(const context& ctx, const blocks_ref& a, const const_multivector_ref& x, const multivector_ref& y) {
  check(ctx, a.types.value, {a.rows, a.cols}, x, y);
  check_blocks(a, "A");
  if (x.count > 0) cpu::apply_blocks(ctx, a, strided(x), strided(y));
}

block_matrix multiply_blocks(const context& ctx, const blocks_ref& a, const blocks_ref& b) {
  if (ctx.backend() != backend_kind::cpu) throw error(status::unsupported, "multiply_blocks works on the host alone");
  check_blocks(a, "A");
  check_blocks(b, "B");
  if (a.cols != b.rows || a.block_cols != b.block_rows) {
    throw error(status::invalid_dimensions,
                fmt::format("A is {} x {} in blocks of {} x {}, B {} x {} in blocks of {} x {}", a.rows, a.cols,
                            a.block_rows, a.block_cols, b.rows, b.cols, b.block_rows, b.block_cols));
  }
  if (a.types.value != b.types.value) {
    throw error(status::invalid_argument,
                fmt::format("A holds {}, B {} values", name(a.types.value), name(b.types.value)));
  }
  return cpu::multiply_blocks(ctx, a, b);
}

std::optional<block_matrix> multiply_small(const context& ctx, const matrix_ref& a, const matrix_ref& b,
                                           std::int64_t most_products) {
  if (ctx.backend() != backend_kind::cpu) throw error(status::unsupported, "multiply_small works on the host alone");
  if (a.format != matrix_format::csr || b.format != matrix_format::csr)
    throw error(status::unsupported, "multiply_small takes CSR");
  if (a.cols != b.rows) {
    throw error(status::invalid_dimensions, fmt::format("A is {} x {}, B {} x {}", a.rows, a.cols, b.rows, b.cols));
  }
  if (a.types.value != b.types.value) {
    throw error(status::invalid_argument,
                fmt::format("A holds {}, B {} values", name(a.types.value), name(b.types.value)));
  }
  if (b.cols > most_products || a.nnz > most_products) return {};
  const std::int64_t products = cpu::count_products(a, b, most_products);
  if (products > most_products) return {};
  return cpu::multiply_rows(ctx, a, b, products);
}

diagonal_matrix multiply_diagonals(const context& ctx, const diagonals_ref& a, const diagonals_ref& b) {
  if (ctx.backend() != backend_kind::cpu)
    throw error(status::unsupported, "multiply_diagonals works on the host alone");
  if (a.cols != b.rows) {
    throw error(status::invalid_dimensions, fmt::format("A is {} x {}, B {} x {}", a.rows, a.cols, b.rows, b.cols));
  }
  if (a.type != b.type) {
    throw error(status::invalid_argument, fmt::format("A holds {}, B {} values", name(a.type), name(b.type)));
  }
  return cpu::multiply_diagonals(ctx, a, b);
}

}  // namespace tulle
