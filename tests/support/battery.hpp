// The matrices that kernels and conversions are tried on: shapes, row lengths, orders and values that have broken them.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "support/random.hpp"

namespace tulle::test {

/// A CSR matrix before it gets its types.
struct battery_matrix : plain_csr<> {
  std::string name = {};
  std::vector<double> x_special = {};  // NaN or infinity for columns that no entry touches, 0 elsewhere; may be empty
  bool misaligned = false;             // every array starts one element off its alignment
  bool floating_only = false;          // holds what no integer can
};

/// For kernels: values in [-1, 1], or not finite. Built once, the same in every run.
const std::vector<battery_matrix>& battery();
const battery_matrix& battery_matrix_named(const std::string& name);
/// For conversions: smaller ones, with whole numbers that tell the entries of a row apart and add up exactly.
const std::vector<battery_matrix>& format_battery();

/// Row r has the columns row_of(r). Values are random.
battery_matrix matrix_of(std::string name, index_t rows, index_t cols, const std::function<columns(index_t)>& row_of);
/// Row r has length(r) random columns.
battery_matrix random_rows(std::string name, index_t rows, index_t cols, const std::function<index_t(index_t)>& length);
battery_matrix banded(std::string name, index_t n, index_t half_width);
/// The last `dense` rows have the last `dense` columns, the others have none.
battery_matrix corner(index_t n, index_t dense);
/// Diagonal, last row and last column.
battery_matrix arrow(index_t n);
/// The 27-point stencil on a grid of n^3.
battery_matrix stencil27(index_t n);

/// A number of the battery as a T: integers get three digits, so that sums wrap.
template <scalar T>
T value_as(double v) {
  if constexpr (scalar_type_of<T> == scalar_type::i32) return static_cast<T>(std::lround(v * 1000));
  return static_cast<T>(v);
}
template <scalar T>
std::vector<T> values_as(const std::vector<double>& from) {
  std::vector<T> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), value_as<T>);
  return to;
}
template <scalar T, offset O = std::int64_t>
plain_csr<T, O> typed(const plain_csr<>& m) {
  return {m.rows, m.cols, {m.rowptr.begin(), m.rowptr.end()}, m.colind, values_as<T>(m.values)};
}

}  // namespace tulle::test
