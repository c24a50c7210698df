// The choice of a kernel is a pure function: these are its rules, on statistics made by hand.
#include <string>

#include <gtest/gtest.h>

#include "core/backends.hpp"
#include "plan/choose_spmv.hpp"

namespace tulle {
namespace {

constexpr type_key f64{scalar_type::f64, offset_type::i32};
constexpr type_key i32{scalar_type::i32, offset_type::i32};

device_info gpu() {
  device_info d;
  d.backend = backend_kind::cuda;
  d.multiprocessors = 132;
  d.compute_capability = 90;
  d.l2_bytes = 60u << 20;
  d.shared_bytes = 227u << 10;
  return d;
}

csr_stats regular(index_t rows, double mean) {
  csr_stats s;
  s.rows = s.cols = rows;
  s.nnz = static_cast<std::int64_t>(rows * mean);
  s.mean = mean;
  s.max = static_cast<index_t>(mean * 1.5);
  s.skew = s.max / mean;
  s.ell_padding = 1.5;
  s.sell_padding = s.sell_sorted_padding = 1.3;
  return s;
}

std::string simple(const csr_stats& s, type_key t = f64) { return choose_spmv(s, t, gpu(), spmv_policy::simple).kernel; }

TEST(ChooseSpmvSimple, FollowsMeanAndSkew) {
  EXPECT_EQ(simple(regular(100'000, 2.5)), "csr.thread");
  EXPECT_EQ(simple(regular(100'000, 30)), "csr.warp");
  csr_stats skewed = regular(100'000, 30);
  skewed.max = 4700;
  skewed.skew = 4700.0 / 30;
  EXPECT_EQ(simple(skewed), "csr.merge");
}

TEST(ChooseSpmvSimple, PadsWhereThatCostsLittle) {
  csr_stats s = regular(100'000, 30);
  s.sell_sorted_padding = 1.05;
  EXPECT_EQ(simple(s), "sell");
  s.ell_padding = 1.01;
  EXPECT_EQ(simple(s), "ell");
  EXPECT_EQ(simple(s, i32), "csr.warp");  // integers have the CSR family alone
}

std::string standard(const csr_stats& s, type_key t = f64) { return choose_spmv(s, t, gpu(), spmv_policy::standard).kernel; }

csr_stats with_longest(csr_stats s, index_t longest) {
  s.max = longest;
  s.skew = longest / s.mean;
  return s;
}

TEST(ChooseSpmv, PacksLargeMatrices) {
  EXPECT_EQ(standard(regular(8'000'000, 27)), "packed");
  EXPECT_EQ(standard(regular(1'500'000, 80)), "packed");
  EXPECT_EQ(standard(regular(1'000'000, 7)), "packed");
  EXPECT_EQ(standard(regular(800, 2100)), "packed");
  csr_stats skewed = with_longest(regular(4'000'000, 16), 170'000);
  EXPECT_EQ(standard(skewed), "packed");
  skewed.gather_sectors = 30;
  EXPECT_EQ(standard(skewed), "csr5");
  csr_stats scattered = regular(4'000'000, 16);
  scattered.gather_sectors = 30;
  EXPECT_EQ(standard(scattered), "packed");
}

TEST(ChooseSpmv, TilesSmallOnesAndShortRows) {
  EXPECT_EQ(standard(regular(24'000, 73)), "csr5");
  EXPECT_EQ(standard(regular(260'000, 2.8)), "csr5");
  EXPECT_EQ(standard(regular(25, 5160)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(325'000, 10), 2700)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(8'000'000, 2.5), 4)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(8'000'000, 3), 3)), "packed");  // three diagonals
}

TEST(ChooseSpmv, LeavesEmptyRowsInPlace) {
  EXPECT_EQ(standard(regular(100'000'000, 0.01)), "csr.stream");
  EXPECT_EQ(standard(regular(100'000'000, 0.5)), "csr.stream");
}

TEST(ChooseSpmv, LeavesIntegersInPlace) {
  EXPECT_EQ(standard(regular(8'000'000, 27), i32), "csr.stream");
  EXPECT_EQ(standard(regular(24'000, 73), i32), "csr.stream");
  EXPECT_EQ(standard(regular(260'000, 2.8), i32), "csr.thread");
  EXPECT_EQ(standard(regular(3'100, 46), i32), "csr.warp");
}

std::string on_cpu(const csr_stats& s, type_key t = f64) {
  device_info cpu;
  cpu.multiprocessors = 2;
  return choose_spmv(s, t, cpu, spmv_policy::standard).kernel;
}

TEST(ChooseSpmvCpu, ThreadsShareLargeMatricesOnly) {
  EXPECT_EQ(on_cpu(regular(1'000, 5)), "csr.serial");
  EXPECT_EQ(on_cpu(regular(100'000, 5)), "packed");
  EXPECT_EQ(on_cpu(regular(100'000, 5), i32), "csr.balanced");
}

TEST(ChooseSpmvCpu, PacksWhereReadingTheMatrixIsWhatCosts) {
  EXPECT_EQ(on_cpu(regular(500, 100)), "csr.balanced");  // too few slices
  csr_stats skewed = regular(100'000, 5);
  skewed.sell_sorted_padding = 7;
  EXPECT_EQ(on_cpu(skewed), "csr.balanced");
  csr_stats scattered = regular(1'000'000, 16);
  scattered.gather_sectors = 32;
  EXPECT_EQ(on_cpu(scattered), "csr.balanced");
  scattered.rows = scattered.cols = 50'000;  // x stays near
  EXPECT_EQ(on_cpu(scattered), "packed");
  EXPECT_EQ(on_cpu(regular(200'000, 80)), "packed");
}

TEST(ChooseSpmv, EveryChoiceIsInTheTableForItsTypesAndSaysWhyWithNumbers) {
  for (const auto policy : {spmv_policy::simple, spmv_policy::standard}) {
    for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
      if (spmv_kernels(backend).empty()) continue;
      for (const type_key types : {f64, i32}) {
        for (const double mean : {0.0, 0.5, 3.0, 27.0, 400.0}) {
          for (const double skew : {1.0, 5.0, 2000.0}) {
            csr_stats s = regular(50'000, mean);
            s.skew = skew;
            device_info d = gpu();
            d.backend = backend;
            const auto choice = choose_spmv(s, types, d, policy);
            bool found = false;
            for (const auto& k : spmv_kernels(backend)) {
              found = found || (k.name == choice.kernel && contains(k.types, types) && !k.reference_only);
            }
            EXPECT_TRUE(found) << choice.kernel;
            EXPECT_NE(choice.reason.find_first_of("0123456789"), std::string::npos) << choice.reason;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tulle
