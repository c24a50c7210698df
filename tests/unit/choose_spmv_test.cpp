// The choice of a kernel is a pure function: these are its rules, on statistics made by hand.
#include "plan/choose_spmv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/backends.hpp"
#include "kernels/column_blocks.hpp"

namespace tulle {
namespace {

constexpr type_key f64{scalar_type::f64, offset_type::i32};
constexpr type_key f32{scalar_type::f32, offset_type::i32};
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

csr_stats with_longest(csr_stats s, index_t longest) {
  s.max = longest;
  s.skew = longest / s.mean;
  return s;
}
csr_stats with(csr_stats s, double csr_stats::*member, double value) {
  s.*member = value;
  return s;
}

std::string simple(const csr_stats& s, type_key t = f64) {
  return choose_spmv(s, t, gpu(), spmv_policy::simple).kernel;
}

TEST(ChooseSpmvSimple, FollowsMeanAndSkew) {
  EXPECT_EQ(simple(regular(100'000, 2.5)), "csr.thread");
  EXPECT_EQ(simple(regular(100'000, 30)), "csr.warp");
  EXPECT_EQ(simple(with_longest(regular(100'000, 30), 4700)), "csr.merge");
}

TEST(ChooseSpmvSimple, PadsWhereThatCostsLittle) {
  csr_stats s = with(regular(100'000, 30), &csr_stats::sell_sorted_padding, 1.05);
  EXPECT_EQ(simple(s), "sell");
  s.ell_padding = 1.01;
  EXPECT_EQ(simple(s), "ell");
  EXPECT_EQ(simple(s, i32), "csr.warp");  // integers have the CSR family alone
}

std::string standard(const csr_stats& s, type_key t = f64) {
  return choose_spmv(s, t, gpu(), spmv_policy::standard).kernel;
}

TEST(ChooseSpmv, PacksLargeMatrices) {
  EXPECT_EQ(standard(regular(8'000'000, 27)), "packed");
  EXPECT_EQ(standard(regular(1'500'000, 80)), "packed");
  EXPECT_EQ(standard(regular(1'000'000, 7)), "packed");
  EXPECT_EQ(standard(regular(800, 2100)), "packed");
  const csr_stats skewed = with_longest(regular(4'000'000, 16), 170'000);
  EXPECT_EQ(standard(skewed), "packed");
  EXPECT_EQ(standard(with(skewed, &csr_stats::gather_sectors, 30)), "csr5");
  EXPECT_EQ(standard(with(regular(4'000'000, 16), &csr_stats::gather_sectors, 30)), "packed");
}

/// `nodes` block rows of `blocks` blocks of `b` x `b`, `fill` full, whose rows differ in length where they have holes.
csr_stats of_blocks(index_t nodes, double blocks, index_t b, double fill) {
  csr_stats s = regular(nodes * b, blocks * b * fill);
  s.gather_sectors = 16;
  s = with_longest(s, static_cast<index_t>(s.mean * (fill < 1 ? 1.2 : 1.04)));
  for (index_t other = 2; other <= 8; ++other) s.block_fill[static_cast<std::size_t>(other)] = 0.3;
  s.block_fill[static_cast<std::size_t>(b)] = fill;
  return s;
}
TEST(ChooseSpmv, TakesBlocksWhereTheyAreFullEnough) {
  csr_stats s = with(regular(384'000, 155), &csr_stats::gather_sectors, 16);
  EXPECT_EQ(standard(s), "packed");  // blocks were not looked at
  EXPECT_EQ(standard(of_blocks(64'000, 26, 6, 1)), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(64'000, 26, 6, 1), f32), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(64'000, 26, 6, 0.8)), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(64'000, 26, 6, 0.6), f32), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(64'000, 26, 6, 0.6)), "csr5");
  EXPECT_EQ(standard(with_longest(of_blocks(64'000, 26, 6, 0.6), 94)), "packed");  // rows of one length
  EXPECT_EQ(standard(with_longest(of_blocks(64'000, 26, 6, 1), 155 * 20)), "packed");
  EXPECT_EQ(standard(of_blocks(5'000, 9, 3, 1)), "csr5");  // few
  s = with_longest(regular(800'000, 20), 26);
  s.block_fill.fill(0.6);
  EXPECT_EQ(standard(s), "packed");  // a band of runs
  s = with_longest(with(regular(2'097'152, 26), &csr_stats::gather_sectors, 13), 27);
  s.block_fill = {0, 0, 0.62, 0.38, 0.34, 0.23, 0.2, 0.18, 0.18};
  EXPECT_EQ(standard(s), "packed");  // 27 points
  EXPECT_EQ(standard(s, f32), "packed");
}

TEST(ChooseSpmv, WeighsWhatBlocksOfF64TakeBesideTheirBytes) {
  // 11.8 bytes a nonzero for csr5's 12.5 and more: too little where all of it takes 40 us.
  EXPECT_EQ(standard(of_blocks(25'000, 12, 7, 0.7)), "csr5");
  EXPECT_EQ(standard(of_blocks(250'000, 12, 7, 0.7)), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(25'000, 12, 7, 0.7), f32), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(25'000, 12, 7, 0.8)), "bin_bsr.compact");
  EXPECT_EQ(standard(of_blocks(530'000, 7, 2, 0.7)), "csr5");
  EXPECT_EQ(standard(of_blocks(530'000, 7, 2, 0.9)), "bin_bsr.compact");  // a mask takes a byte
}

TEST(ChooseSpmv, TakesBsrForLongRowsOfBlocksOf8) {
  EXPECT_EQ(standard(of_blocks(20'000, 12, 8, 1)), "bsr");
  EXPECT_EQ(standard(of_blocks(20'000, 12, 8, 1), f32), "bsr");
  EXPECT_EQ(standard(of_blocks(25'000, 9, 8, 1)), "bsr");
  EXPECT_EQ(standard(of_blocks(25'000, 9, 8, 1), f32), "bin_bsr.compact");  // 2.3 KB
  EXPECT_EQ(standard(of_blocks(45'000, 5, 8, 1)), "bin_bsr.compact");
}

TEST(ChooseSpmv, TakesBsrWhereBlocksStayInL2) {
  EXPECT_EQ(standard(of_blocks(5'000, 24, 7, 1), f32), "bsr");  // 23.5 MB
  EXPECT_EQ(standard(of_blocks(5'000, 24, 7, 0.8), f32), "bsr");
  EXPECT_EQ(standard(of_blocks(5'000, 24, 7, 0.8)), "bsr");  // 49 MB
  EXPECT_EQ(standard(of_blocks(10'600, 25, 5, 1), f32), "bsr");
  EXPECT_EQ(standard(of_blocks(12'000, 24, 7, 1), f32), "bin_bsr.compact");  // 57 MB of 63
  EXPECT_EQ(standard(of_blocks(25'000, 12, 5, 1), f32), "bin_bsr.compact");  // 1.2 KB a row
  EXPECT_EQ(standard(of_blocks(7'000, 24, 6, 1), f32), "bin_bsr.compact");   // idle lanes
  device_info unknown = gpu();
  unknown.l2_bytes = 0;
  EXPECT_EQ(choose_spmv(of_blocks(5'000, 24, 7, 1), f32, unknown, spmv_policy::standard).kernel, "bin_bsr.compact");
}

TEST(ChooseSpmv, PacksShortRowsOfBlocksInAStencil) {
  const csr_stats scattered = of_blocks(750'000, 5, 2, 1), plane = with(scattered, &csr_stats::gather_sectors, 6);
  EXPECT_EQ(standard(scattered), "bin_bsr.compact");
  EXPECT_EQ(standard(plane), "packed");
  EXPECT_EQ(standard(plane, f32), "packed");
  EXPECT_EQ(standard(with_longest(plane, 11)), "bin_bsr.compact");  // a mesh
  const auto near = [](csr_stats s) { return with(s, &csr_stats::gather_sectors, 6); };
  EXPECT_EQ(standard(near(of_blocks(138'000, 27, 2, 1))), "bin_bsr.compact");  // long rows
  EXPECT_EQ(standard(near(of_blocks(330'000, 5, 3, 1))), "bin_bsr.compact");   // an index of 9 values is little
}

TEST(ChooseSpmv, TilesSmallOnesAndShortRows) {
  EXPECT_EQ(standard(regular(24'000, 73)), "csr5");
  EXPECT_EQ(standard(regular(260'000, 2.8)), "csr5");
  EXPECT_EQ(standard(regular(25, 5160)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(325'000, 10), 2700)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(8'000'000, 2.5), 4)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(8'000'000, 3), 3)), "packed");  // three diagonals
}

TEST(ChooseSpmv, TilesWhatReadsXFromAllOverL2) {
  const csr_stats mesh = regular(1'000'000, 27);
  EXPECT_EQ(standard(mesh), "packed");
  EXPECT_EQ(standard(with(mesh, &csr_stats::gather_sectors, 31.9)), "csr5");  // renumbered
}

/// As gen:uniform gives.
csr_stats from_all_over(index_t rows, double mean) {
  csr_stats s = regular(rows, mean);
  s.gather_sectors = 31.99;
  s.gather_span = s.cols * std::min(0.94, 32 / mean);
  return s;
}

TEST(ChooseSpmv, BlocksColumnsWhereRowsReadAllOfAnXBeyondL2) {
  EXPECT_EQ(standard(from_all_over(1 << 24, 8)), "csr5.blocked");
  EXPECT_EQ(standard(from_all_over(1 << 24, 8), f32), "csr5.blocked");
  EXPECT_EQ(standard(from_all_over(1 << 24, 100)), "csr5.blocked");  // 32 entries are a third of a row
  EXPECT_EQ(standard(from_all_over(1 << 24, 8), i32), "csr.stream");
  EXPECT_EQ(standard(from_all_over(7'500'000, 8)), "packed");  // x fits
  EXPECT_EQ(standard(from_all_over(10'000'000, 8), f32), "packed");
  EXPECT_EQ(standard(from_all_over(1 << 24, 3)), "csr5");    // y would cost more than x
  EXPECT_EQ(standard(from_all_over(1 << 28, 8)), "packed");  // so it would in 32 blocks
}

TEST(ChooseSpmv, LeavesColumnsTogetherWhereL2HoldsWhatIsRead) {
  const csr_stats s = from_all_over(1 << 24, 8);
  EXPECT_EQ(standard(with_longest(s, 100'000)), "csr5");                     // as R-MAT has
  EXPECT_EQ(standard(with(s, &csr_stats::gather_sectors, 30)), "packed");    // some columns are read often
  EXPECT_EQ(standard(with(s, &csr_stats::gather_span, 100'000)), "packed");  // a band
}

TEST(ChooseSpmv, ColumnBlocksCoverAllColumnsAndFitL2) {
  for (const index_t cols : {0, 1, 2, 3, 5, 7, 1000, 1 << 24, 1 << 30, std::numeric_limits<index_t>::max()}) {
    const column_blocks blocks = column_blocks_for(cols, 8, gpu().l2_bytes);
    SCOPED_TRACE(cols);
    EXPECT_GE(blocks.count, cols < 2 ? 1 : 2);
    EXPECT_EQ(blocks.end(blocks.count - 1, cols), cols);
    EXPECT_LE(blocks.first(blocks.count - 1), cols);
    for (index_t b = 1; b < blocks.count; ++b) EXPECT_EQ(blocks.first(b), blocks.end(b - 1, cols));
  }
  EXPECT_EQ(column_blocks_for(1 << 24, 8, gpu().l2_bytes).count, 4);
  EXPECT_EQ(column_blocks_for(1 << 24, 4, gpu().l2_bytes).count, 2);
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

std::string on_cpu(const csr_stats& s, type_key t = f64, bool gathers = true) {
  return choose_spmv_cpu(s, t, 2, gathers).kernel;
}
constexpr bool classes_of_processors[] = {true, false};

TEST(ChooseSpmvCpu, ThreadsShareLargeMatricesOnly) {
  EXPECT_EQ(on_cpu(regular(1'000, 5), i32), "csr.serial");
  EXPECT_EQ(on_cpu(regular(100'000, 5)), "packed");
  EXPECT_EQ(on_cpu(regular(100'000, 5), i32), "csr.balanced");
}

TEST(ChooseSpmvCpu, PacksSmallMatricesWhoseRowsRepeat) {
  csr_stats few = regular(6, 65);
  few.sell_padding = few.sell_sorted_padding = 2.9;  // lanes without rows
  for (const bool gathers : classes_of_processors) {
    EXPECT_EQ(on_cpu(with(regular(900, 8.6), &csr_stats::diagonal, 1), f64, gathers), "packed");
    EXPECT_EQ(on_cpu(with(regular(494, 3.4), &csr_stats::diagonal, 1), f32, gathers), "packed");
    EXPECT_EQ(on_cpu(few, f64, gathers), "csr.serial");
    EXPECT_EQ(on_cpu(few, f32, gathers), "csr.serial");
  }
}

TEST(ChooseSpmvCpu, TakesBlocksThatAreFull) {
  csr_stats s = regular(600, 23);
  s.block_fill = {0, 0, 0.6, 0.5, 1, 0.4, 0.4, 0.3, 0.4};
  for (const bool gathers : classes_of_processors) {
    for (const type_key t : {f64, f32}) {
      const std::string chosen = on_cpu(s, t, gathers);
      EXPECT_TRUE(chosen == "bsr" || chosen == "bin_bsr.compact") << chosen;
    }
  }
  s.block_fill.fill(0);  // not looked at
  EXPECT_EQ(on_cpu(s).find("bsr"), std::string::npos);
  s.block_fill.fill(0.2);
  EXPECT_EQ(on_cpu(s).find("bsr"), std::string::npos);
}

TEST(ChooseSpmvCpu, KeepsColumnsAsTheyAreWhereGathersAreSlow) {
  csr_stats s = regular(2'000, 6);
  s.stddev = 2.4, s.sell_padding = 1.6, s.sell_sorted_padding = 1.02, s.gather_sectors = 26;
  EXPECT_EQ(on_cpu(s, f64, true), "packed");
  EXPECT_EQ(on_cpu(s, f64, false), "sell");
}

TEST(ChooseSpmvCpu, GivesNoReasonWhereNoneIsAskedFor) {
  for (const csr_stats& s : {regular(6, 65), regular(900, 8.6), regular(100'000, 5), regular(500, 100)}) {
    const spmv_choice told = choose_spmv_cpu(s, f64, 2, true), silent = choose_spmv_cpu(s, f64, 2, true, false);
    EXPECT_EQ(told.kernel, silent.kernel);
    EXPECT_NE(told.reason, "");
    EXPECT_EQ(silent.reason, "");
  }
}

TEST(ChooseSpmvCpu, PacksWhereReadingTheMatrixIsWhatCosts) {
  EXPECT_EQ(on_cpu(regular(500, 100)), "csr.balanced");  // too few slices
  EXPECT_EQ(on_cpu(with(regular(100'000, 5), &csr_stats::sell_sorted_padding, 7)), "csr.balanced");
  csr_stats scattered = with(regular(1'000'000, 16), &csr_stats::gather_sectors, 32);
  EXPECT_EQ(on_cpu(scattered), "csr.balanced");
  scattered.rows = scattered.cols = 50'000;  // x stays near
  EXPECT_EQ(on_cpu(scattered), "packed");
  EXPECT_EQ(on_cpu(regular(200'000, 80)), "packed");
}

TEST(ChooseSpmv, EveryChoiceIsInTheTableForItsTypesAndSaysWhyWithNumbers) {
  for (const auto policy : {spmv_policy::simple, spmv_policy::standard}) {
    for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
      if (spmv_kernels(backend).empty()) continue;
      device_info d = gpu();
      d.backend = backend;
      for (const type_key types : {f64, i32}) {
        for (const double mean : {0.0, 0.5, 3.0, 27.0, 400.0}) {
          for (const double skew : {1.0, 5.0, 2000.0}) {
            const auto choice = choose_spmv(with(regular(50'000, mean), &csr_stats::skew, skew), types, d, policy);
            const auto is_it = [&](const spmv_kernel& k) {
              return k.name == choice.kernel && contains(k.types, types) && k.role != kernel_role::vendor;
            };
            EXPECT_TRUE(std::ranges::any_of(spmv_kernels(backend), is_it)) << choice.kernel;
            EXPECT_NE(choice.reason.find_first_of("0123456789"), std::string::npos) << choice.reason;
          }
        }
      }
    }
  }
}

TEST(UnsupportedReason, SaysWhyAKernelCannotTakeAMatrix) {
  device_info cpu;
  csr_stats uneven = regular(50'000, 3);
  uneven.ell_padding = 1000;
  uneven.block_fill.fill(1);
  for (const kernel_info& k : kernels(backend_kind::cpu)) {
    if (k.operation == kernel_operation::spgemm || k.operation == kernel_operation::cg) {
      EXPECT_THROW(unsupported_reason(k, uneven, f64, cpu), error) << k.name;
      continue;
    }
    EXPECT_EQ(unsupported_reason(k, uneven, i32, cpu),
              k.takes(type_key_of<std::int32_t, std::int32_t>) ? "" : "not built for i32 values")
        << k.name;
    EXPECT_EQ(unsupported_reason(k, uneven, f64, cpu).empty(), k.name != "ell") << k.name;
  }
  kernel_info unknown;
  unknown.name = "nothing";
  EXPECT_THROW(unsupported_reason(unknown, uneven, f64, cpu), error);
}

}  // namespace
}  // namespace tulle
