// The matrices that every kernel is tried on: shapes, row lengths, orders and values that have broken kernels before.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <tulle/core/types.hpp>
#include <vector>

namespace tulle::test {

/// A CSR matrix on the host, before it gets its types.
struct battery_matrix {
  std::string name;
  index_t rows = 0;
  index_t cols = 0;
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colind;
  std::vector<double> values;     // in [-1, 1], or not finite
  std::vector<double> x_special;  // NaN or infinity for columns that no entry touches, 0 elsewhere; may be empty
  bool misaligned = false;        // every array starts one element off its alignment
  bool floating_only = false;     // holds what no integer can
};

/// Built once, the same in every run.
const std::vector<battery_matrix>& battery();
const battery_matrix& battery_matrix_named(const std::string& name);

/// A number of the battery as a T: integers get three digits, so that sums wrap.
template <scalar T>
T value_as(double v) {
  if constexpr (scalar_type_of<T> == scalar_type::i32) return static_cast<T>(std::lround(v * 1000));
  return static_cast<T>(v);
}

/// The same numbers in [-1, 1] for the same seed on every machine.
std::vector<double> random_numbers(std::size_t count, std::uint64_t seed);

}  // namespace tulle::test
