// Products held to the library's own check, and the any_csr that they come as.
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
template <class T>
bool has_narrow_offsets(const any_csr<T>& c) {
  return std::holds_alternative<csr<T, std::int32_t>>(c);
}
/// C in plain vectors, with offsets that are no wider than C needs.
template <class T>
plain_csr<T> read_back(const context& ctx, const any_csr<T>& c) {
  EXPECT_TRUE(has_narrow_offsets(c)) << "offsets are as narrow as they can be";
  return plain(ctx, c);
}
template <scalar T, offset O = std::int64_t>
void expect_product(const spgemm_expectation<T, O>& expected, const context& ctx, const any_csr<T>& c) {
  expect_product(expected, read_back(ctx, c));
}

template <class T>
std::size_t bytes_of(const any_csr<T>& c) {
  return std::visit([](const auto& m) { return m.rowptr.bytes() + m.colind.bytes() + m.values.bytes(); }, c);
}
template <class T>
std::vector<T> values_of(const context& ctx, const any_csr<T>& c) {
  return std::visit([&](const auto& m) { return to_vector(ctx, m.values); }, c);
}

}  // namespace tulle::test
