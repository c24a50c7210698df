// The products that every SpGEMM kernel is tried on, before they get their types.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "conformance/battery.hpp"

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
};

/// Shapes, patterns, orders and values.
void add_shape_products(std::vector<product_recipe>& all);
void add_value_products(std::vector<product_recipe>& all);
/// Rows with k products, k entries or a span of k columns, for every k at which a kernel may change its way and one
/// less and one more.
void add_boundary_products(std::vector<product_recipe>& all);

using columns = std::vector<index_t>;

/// Row r has the columns row_of(r). Values are random.
battery_matrix matrix_of(index_t rows, index_t cols, const std::function<columns(index_t)>& row_of);
/// `count` distinct columns in [first, last), ascending.
columns random_columns(std::mt19937_64& random, index_t count, index_t first, index_t last);
columns range(index_t first, index_t last);
/// With sorted rows.
battery_matrix transposed(const battery_matrix& m);

}  // namespace tulle::test
