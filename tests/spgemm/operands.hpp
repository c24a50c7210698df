// The products that every SpGEMM kernel is tried on, before they get their types.
#pragma once

#include "support/battery.hpp"

namespace tulle::test {

struct operands {
  battery_matrix a;
  battery_matrix b;  // sorted, without duplicates
};

/// Operands that are made when they are asked for, the same in every run.
struct product_recipe {
  std::string name;
  std::function<operands()> make;
  bool quick = true;      // also under TULLE_CONFORMANCE=quick
  bool boundary = false;  // of a class of rows
  bool cpu_only = false;
};

/// Shapes, patterns, orders and values.
void add_shape_products(std::vector<product_recipe>& all);
void add_value_products(std::vector<product_recipe>& all);
/// Rows with k products, k entries or a span of k columns, for every k at which a kernel may change its way and one
/// less and one more.
void add_boundary_products(std::vector<product_recipe>& all);
/// Rows that the CPU's kernels take together: those with the columns of the row before, and of neighbouring columns.
void add_cpu_products(std::vector<product_recipe>& all);

/// Products of the matrix files beside the source tree: all pairs of small matrices of ../shared/matrices whose shapes
/// fit, and A A^T of the rectangular ones. Empty where the files are absent.
const std::vector<product_recipe>& shared_products();

inline battery_matrix matrix_of(index_t rows, index_t cols, const std::function<columns(index_t)>& row_of) {
  return matrix_of("", rows, cols, row_of);
}
inline battery_matrix full(index_t rows, index_t cols) {
  return matrix_of(rows, cols, [=](index_t) { return range(0, cols); });
}

}  // namespace tulle::test
