// Conversions, inspections and operations tried on every matrix of the format battery, type and backend; exact.
#pragma once

#include <tulle/tulle.hpp>
#include <tuple>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/errors.hpp"
#include "support/registered.hpp"
#include "support/types.hpp"

namespace tulle::test {

using matrix = battery_matrix;

/// The matrix in a context's memory.
template <scalar T, offset O>
csr<T, O> upload(const context& ctx, const plain_csr<>& m) {
  return typed<T, O>(m).on(ctx);
}

/// Calls f.template operator()<T, O>() for every combination that can hold the matrix's values; one in quick runs.
template <class F>
void for_each_type(const matrix& m, F&& f) {
  if (quick()) return f.template operator()<double, std::int32_t>();
  for_types_and_offsets<double, float>(f);
  if (!m.floating_only) for_types_and_offsets<std::int32_t>(f);
}

/// The elements of a buffer are these numbers, converted: 0 differs from -0, but any NaN equals any other.
template <class T, class U>
testing::AssertionResult holds(const context& ctx, const buffer<T>& buffer, const std::vector<U>& numbers) {
  std::vector<T> want;
  if constexpr (std::is_same_v<U, double>) {
    want = values_as<T>(numbers);
  } else {
    want.assign(numbers.begin(), numbers.end());
  }
  const std::vector<T> got = to_vector(ctx, buffer);
  if (same_numbers(got, want)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << testing::PrintToString(got) << " instead of " << testing::PrintToString(want);
}

template <class T>
void expect_same(const plain_csr<T>& got, const plain_csr<T>& want) {
  EXPECT_EQ(got.rows, want.rows);
  EXPECT_EQ(got.cols, want.cols);
  EXPECT_EQ(got.rowptr, want.rowptr);
  EXPECT_EQ(got.colind, want.colind);
  EXPECT_TRUE(same_numbers(got.values, want.values))
      << testing::PrintToString(got.values) << " instead of " << testing::PrintToString(want.values);
}
template <scalar T, offset O>
void expect_csr(const context& ctx, const csr<T, O>& got, const plain_csr<>& want) {
  expect_same(plain(ctx, got), typed<T>(want));
}
/// A result has these entries exactly, owns them, is in the context's memory and has 32-bit offsets (it is small).
template <class T>
void expect_entries(const context& ctx, const matrix_ref& got, const plain_csr<T>& want) {
  ASSERT_EQ(got.format, matrix_format::csr);
  ASSERT_EQ(got.types, (type_key{scalar_type_of<T>, offset_type::i32}));
  EXPECT_EQ(got.space, ctx.space());
  EXPECT_TRUE(got.owner);
  expect_same(plain<T>(ctx, got), want);
}

/// Tests of one matrix on one backend, which is named as test_on takes it.
class on_battery : public test_on<testing::TestWithParam<std::tuple<const char*, std::size_t>>> {
 protected:
  on_battery() : test_on(std::get<0>(GetParam())) {}
  [[nodiscard]] static const matrix& subject() { return format_battery()[std::get<1>(GetParam())]; }
};
inline std::string battery_name(const testing::TestParamInfo<on_battery::ParamType>& which) {
  return std::get<0>(which.param) + ("_" + format_battery()[std::get<1>(which.param)].name);
}

/// The tests of `suite` on every matrix of the battery and these backends.
#define TULLE_ON_BATTERY(suite, ...)                                                                           \
  INSTANTIATE_TEST_SUITE_P(                                                                                    \
      battery, suite,                                                                                          \
      testing::Combine(testing::Values(__VA_ARGS__), testing::Range(std::size_t{0}, format_battery().size())), \
      battery_name)

}  // namespace tulle::test
