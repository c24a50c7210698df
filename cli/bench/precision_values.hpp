// The values that a study of storages gives to the pattern of a matrix.
#pragma once

#include <array>
#include <string_view>
#include <tulle/formats/matrix_ref.hpp>
#include <vector>

namespace tulle::cli::bench {

/// A value of an entry, made of the one that the matrix has there.
struct value_kind {
  std::string_view name;
  double (*make)(double given, std::int64_t entry, index_t row, index_t column);
};

/// Nothing can be left out of these; otherwise they are what was given but for 2^-40 of it.
extern const value_kind whole_values;
/// Four rows in five (regions: of 4096 rows) are 2^-12 of what was given: a norm-wise promise of 2^-30 lets those go
/// into f32, and no others.
extern const std::array<value_kind, 2> graded_values;
/// Values that fewer bytes hold with every bit: floats, bf16, 256 and 16 different ones, and one on the diagonal
/// and another elsewhere.
extern const std::array<value_kind, 5> lossless_values;

/// Those of `kind` in the order of `a`, a CSR on the host with 64-bit offsets, whose values are at `given`.
void make_values(const matrix_ref& a, const double* given, const value_kind& kind, int threads,
                 std::vector<double>& into);

}  // namespace tulle::cli::bench
