// Named matrices that are hard on conversions, and the contexts that they are tried on.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle::testing {

/// A CSR in plain vectors; values are exact in every type unless `floating_only`.
struct matrix {
  std::string name;
  index_t rows = 0;
  index_t cols = 0;
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colind;
  std::vector<double> values;
  bool floating_only = false;  // holds NaN, infinities or -0

  [[nodiscard]] std::int64_t nnz() const { return static_cast<std::int64_t>(colind.size()); }
  [[nodiscard]] std::int64_t length(index_t r) const { return rowptr[r + 1] - rowptr[r]; }
};

/// The matrices, small ones first.
const std::vector<matrix>& battery();

/// "cpu1", "cpu2", "cpu5" (by threads) and "cuda".
const std::vector<std::string>& backends();
/// Empty for "cuda" where there is no device.
std::optional<context> make_context(const std::string& backend);

template <class To, class From>
std::vector<To> convert(const std::vector<From>& from) {
  return {from.begin(), from.end()};
}

/// The matrix in a context's memory.
template <scalar T, offset O>
csr<T, O> upload(const context& ctx, const matrix& m) {
  return {m.rows, m.cols, to_buffer(ctx, convert<O>(m.rowptr)), to_buffer(ctx, m.colind),
          to_buffer(ctx, convert<T>(m.values))};
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

/// The same bits; 0 differs from -0, but any NaN equals any other.
template <class T>
bool same_bits(T got, T want) {
  if (got != got && want != want) return true;
  return std::memcmp(&got, &want, sizeof(T)) == 0;
}
template <class T>
::testing::AssertionResult same_bits(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << got.size() << " elements instead of " << want.size();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!same_bits(got[i], want[i])) {
      return ::testing::AssertionFailure() << "element " << i << " is " << got[i] << " instead of " << want[i];
    }
  }
  return ::testing::AssertionSuccess();
}

template <scalar T, offset O>
void expect_csr(const context& ctx, const csr<T, O>& got, const matrix& want) {
  EXPECT_EQ(got.rows, want.rows);
  EXPECT_EQ(got.cols, want.cols);
  EXPECT_TRUE(same_bits(to_vector(ctx, got.rowptr), convert<O>(want.rowptr)));
  EXPECT_TRUE(same_bits(to_vector(ctx, got.colind), want.colind));
  EXPECT_TRUE(same_bits(to_vector(ctx, got.values), convert<T>(want.values)));
}

/// The status that f() throws; SUCCESS when it throws none.
template <class F>
status status_of(F&& f, std::string* message = nullptr) {
  try {
    f();
  } catch (const error& e) {
    if (message != nullptr) *message = e.what();
    return e.code();
  }
  return status::success;
}

/// Tests of one matrix on one backend.
class on_battery : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  void SetUp() override {
    ctx_ = make_context(std::get<0>(GetParam()));
    if (!ctx_) GTEST_SKIP() << cuda_unavailable_reason();
  }
  [[nodiscard]] const context& ctx() const { return *ctx_; }
  [[nodiscard]] static const matrix& subject() { return battery()[static_cast<std::size_t>(std::get<1>(GetParam()))]; }

 private:
  std::optional<context> ctx_;
};

/// Tests on one backend.
class on_backend : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ctx_ = make_context(GetParam());
    if (!ctx_) GTEST_SKIP() << cuda_unavailable_reason();
  }
  [[nodiscard]] const context& ctx() const { return *ctx_; }

 private:
  std::optional<context> ctx_;
};

/// "cpu2_dense_row".
std::string backend_and_matrix(const ::testing::TestParamInfo<std::tuple<std::string, int>>& info);

}  // namespace tulle::testing
