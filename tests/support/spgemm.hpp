// Checks of products by the library's own verification, and the matrix_ref that they come as.
#pragma once

#include <gtest/gtest.h>

#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/verify.hpp>

#include "support/plain_csr.hpp"

namespace tulle::test {

/// C, on the host, is what was asked for: its pattern exactly and sorted, its values within their bounds.
template <scalar T, offset O = std::int64_t>
void expect_product(const spgemm_expectation<T, O>& expected, const plain_csr<T>& c) {
  const spgemm_verdict verdict = check_spgemm(context::cpu(2), expected, c.view());
  EXPECT_EQ(verdict.wrong, "");
  EXPECT_LE(verdict.error_ratio, 1);
}
/// C in plain vectors, with offsets that are no wider than C needs.
template <scalar T = double>
plain_csr<T> read_back(const context& ctx, const matrix_ref& c) {
  EXPECT_EQ(c.format, matrix_format::csr);
  EXPECT_EQ(c.types, (type_key{scalar_type_of<T>, offset_type::i32})) << "offsets are as narrow as they can be";
  return plain<T>(ctx, c);
}
template <scalar T, offset O = std::int64_t>
void expect_product(const spgemm_expectation<T, O>& expected, const context& ctx, const matrix_ref& c) {
  expect_product(expected, read_back<T>(ctx, c));
}

template <scalar T, offset O>
spgemm_terms terms_of(const spgemm_expectation<T, O>& expected) {
  spgemm_terms terms;
  if (expected.mask) terms.mask = *expected.mask;
  if (expected.d) terms.d = *expected.d;
  return terms;
}
/// What `multiply` makes is right, and what `numeric` makes of it after other factors is the same.
template <scalar T, offset O>
void expect_plan(spgemm_plan<T>& plan, const spgemm_expectation<T, O>& expected) {
  const matrix_ref c = plan.multiply(expected.alpha, expected.beta);
  expect_product(expected, plan.ctx(), c);
  const matrix_ref again = plan.multiply(3);
  plan.numeric(again, expected.alpha, expected.beta);
  EXPECT_TRUE(same_bits(read_back<T>(plan.ctx(), c), read_back<T>(plan.ctx(), again))) << "multiply and numeric";
}

inline std::size_t bytes_of(const matrix_ref& c) {
  const auto offsets = static_cast<std::size_t>(c.rows) + 1, entries = static_cast<std::size_t>(c.nnz);
  return offsets * size_of(c.types.offset) + entries * (sizeof(index_t) + size_of(c.types.value));
}
inline std::vector<double> values_of(const context& ctx, const matrix_ref& c) {
  return read_array<double>(ctx, c.values, c.nnz);
}

}  // namespace tulle::test
