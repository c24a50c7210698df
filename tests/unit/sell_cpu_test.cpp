// `sell` on a CPU: single loads of x and gathers give the same bits, whichever a plan takes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "cpu/spmv/isa.hpp"
#include "kernels/processor.hpp"

namespace tulle::test {
namespace {

/// 60,000 rows of 0 to 50 entries anywhere: so large for one thread that it is streamed, and not for eight.
template <class T>
csr<T, std::int32_t> scattered_matrix(index_t cols) {
  constexpr index_t rows = 60'000;
  std::mt19937 random(7);
  std::vector<std::int32_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;
  for (index_t row = 0; row < rows; ++row) {
    const auto n = static_cast<index_t>(random() % 51);
    const index_t stride = n == 0 ? 1 : cols / n;
    for (index_t k = 0; k < n; ++k) {
      colind.push_back(k * stride + static_cast<index_t>(random() % static_cast<unsigned>(stride)));
      values.push_back(static_cast<T>(std::sin(static_cast<double>(values.size()))));
    }
    rowptr.push_back(static_cast<std::int32_t>(values.size()));
  }
  const context host = context::cpu();
  return {rows, cols, to_buffer(host, rowptr), to_buffer(host, colind), to_buffer(host, values)};
}

template <class T>
struct product {
  std::string explained;
  std::vector<T> y;
};

template <class T>
product<T> sell_product(int threads, const csr<T, std::int32_t>& a, const std::vector<T>& x) {
  const context ctx = context::cpu(threads);
  spmv_options options;
  options.kernel = "sell";
  const spmv_plan<T> plan(ctx, a, options);
  buffer<T> y(ctx, static_cast<std::size_t>(a.rows));
  plan.apply(T{1}, to_buffer(ctx, x), T{0}, y);
  return {plan.explain(), to_vector(ctx, y)};
}

template <class T>
void expect_same_bits() {
  constexpr index_t cols = 500'000;
  const auto a = scattered_matrix<T>(cols);
  std::vector<T> x(cols);
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = static_cast<T>(std::cos(static_cast<double>(c) * 1.7));
  x[0] = std::numeric_limits<T>::quiet_NaN();  // which padding must not read
  const product<T> streamed = sell_product<T>(1, a, x), cached = sell_product<T>(8, a, x);
  EXPECT_EQ(std::memcmp(streamed.y.data(), cached.y.data(), streamed.y.size() * sizeof(T)), 0);
  const auto takes = [](const product<T>& p, cpu::isa level) {
    return p.explained.find("isa=" + std::string(name(level)) + " ") != std::string::npos;
  };
  if (this_processor() == processor_class::loads) {
    EXPECT_TRUE(takes(streamed, cpu::isa::avx512)) << streamed.explained;
    EXPECT_TRUE(takes(cached, cpu::isa::avx2)) << cached.explained;
  } else {
    EXPECT_TRUE(takes(streamed, cpu::best_isa())) << streamed.explained;
  }
}

TEST(SellOnCpu, GathersGiveTheBitsOfSingleLoads) {
  expect_same_bits<double>();
  expect_same_bits<float>();
}

}  // namespace
}  // namespace tulle::test
