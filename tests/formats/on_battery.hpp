// Conversions and inspections tried on every matrix of the format battery, type and backend; exact.
#pragma once

#include <tulle/tulle.hpp>
#include <tuple>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/errors.hpp"

namespace tulle::test {

using matrix = battery_matrix;

/// The matrix in a context's memory.
template <scalar T, offset O>
csr<T, O> upload(const context& ctx, const matrix& m) {
  return {m.rows, m.cols, to_buffer(ctx, std::vector<O>(m.rowptr.begin(), m.rowptr.end())), to_buffer(ctx, m.colind),
          to_buffer(ctx, values_as<T>(m.values))};
}

/// Calls f.template operator()<T, O>() for every combination that can hold the matrix's values.
template <class F>
void for_each_type(const matrix& m, F&& f) {
  f.template operator()<double, std::int64_t>();
  f.template operator()<double, std::int32_t>();
  f.template operator()<float, std::int64_t>();
  f.template operator()<float, std::int32_t>();
  if (m.floating_only) return;
  f.template operator()<std::int32_t, std::int64_t>();
  f.template operator()<std::int32_t, std::int32_t>();
}

/// The elements of a buffer are these numbers, converted: 0 differs from -0, but any NaN equals any other.
template <class T, class U>
testing::AssertionResult holds(const context& ctx, const buffer<T>& buffer, const std::vector<U>& numbers) {
  const std::vector<T> got = to_vector(ctx, buffer);
  if (got.size() != numbers.size()) {
    return testing::AssertionFailure() << got.size() << " elements instead of " << numbers.size();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    T want;
    if constexpr (std::is_same_v<U, double>) {
      want = value_as<T>(numbers[i]);
    } else {
      want = static_cast<T>(numbers[i]);
    }
    if ((got[i] != got[i] && want != want) || std::memcmp(&got[i], &want, sizeof(T)) == 0) continue;
    return testing::AssertionFailure() << "element " << i << " is " << got[i] << " instead of " << want;
  }
  return testing::AssertionSuccess();
}

template <scalar T, offset O>
void expect_csr(const context& ctx, const csr<T, O>& got, const matrix& want) {
  EXPECT_EQ(got.rows, want.rows);
  EXPECT_EQ(got.cols, want.cols);
  EXPECT_TRUE(holds(ctx, got.rowptr, want.rowptr));
  EXPECT_TRUE(holds(ctx, got.colind, want.colind));
  EXPECT_TRUE(holds(ctx, got.values, want.values));
}

/// Every row sorted by column, duplicates added up in storage order.
matrix sorted_and_summed(const matrix& m);

/// Tests of one matrix on one backend: "cpu1", "cpu2", "cpu5" (by threads) or "cuda".
class on_battery : public testing::TestWithParam<std::tuple<const char*, int>>, public with_context {
 protected:
  void SetUp() override { set_up(std::get<0>(GetParam())); }
  [[nodiscard]] static const matrix& subject() {
    return format_battery()[static_cast<std::size_t>(std::get<1>(GetParam()))];
  }
};

const auto every_backend = testing::Values("cpu1", "cpu2", "cpu5", "cuda");

#define TULLE_ON_BATTERY(suite)                                                                                      \
  INSTANTIATE_TEST_SUITE_P(                                                                                          \
      battery, suite, testing::Combine(every_backend, testing::Range(0, static_cast<int>(format_battery().size()))), \
      [](const auto& which) {                                                                                        \
        return std::get<0>(which.param) +                                                                            \
               ("_" + format_battery()[static_cast<std::size_t>(std::get<1>(which.param))].name);                    \
      })
#define TULLE_ON_EVERY_BACKEND(suite)                      \
  INSTANTIATE_TEST_SUITE_P(backends, suite, every_backend, \
                           [](const auto& backend) { return std::string(backend.param); })

}  // namespace tulle::test
