// The choice of a kernel is a pure function: these are its rules, on statistics made by hand.
#include "plan/choose_spmv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/column_blocks.hpp"
#include "plan/spmv_costs_cuda.hpp"

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

/// As a plan sees a matrix on a device.
struct sample {
  index_t rows, cols;
  std::int64_t nnz;
  index_t max;
  double sell_padding, tile_padding, slice_padding, offset_bytes;
  csr_stats::x_reads f64, f32;
  std::array<double, 9> block_fill;
};
csr_stats sampled(const sample& of) {
  csr_stats s;
  s.rows = of.rows, s.cols = of.cols, s.nnz = of.nnz, s.max = of.max;
  s.mean = static_cast<double>(of.nnz) / of.rows;
  s.skew = s.ell_padding = s.max / s.mean;
  s.sell_padding = s.sell_sorted_padding = of.sell_padding;
  s.tile_padding = of.tile_padding, s.slice_padding = of.slice_padding, s.offset_bytes = of.offset_bytes;
  s.reads_f64 = of.f64, s.reads_f32 = of.f32;
  s.block_fill = of.block_fill;
  return s;
}

// Of bench/spmv_families.hpp, each where one kernel was clearly the fastest on an NVIDIA H200.
const csr_stats stencil = sampled({438'976,
                                   438'976,
                                   11'543'176,
                                   27,
                                   1.01,
                                   1.01,
                                   1.01,
                                   0.935,
                                   {0.42, 0.313, 0.287, 0.0946, 0.0317, 0.041},
                                   {0.349, 0.296, 0.166, 0.0516, 0.0159, 0.0215},
                                   {0, 0, 0.502, 0.426, 0.256, 0.256, 0.214, 0.183, 0.162}});
const csr_stats mesh_of_blocks = sampled({250'000,
                                          250'000,
                                          12'967'168,
                                          54,
                                          1.02,
                                          1.04,
                                          1.02,
                                          1.36,
                                          {0.342, 0.227, 0.279, 0.0569, 0.0187, 0.0387},
                                          {0.265, 0.208, 0.163, 0.0328, 0.00942, 0.0201},
                                          {0, 0, 1, 0.596, 0.507, 0.408, 0.425, 0.332, 0.32}});
const csr_stats web_pages = sampled({1'140'000,
                                     1'140'000,
                                     10'022'567,
                                     1416,
                                     4.48,
                                     1.01,
                                     4.58,
                                     4,
                                     {0.598, 0.319, 0.665, 0.204, 0.145, 0.198},
                                     {0.433, 0.257, 0.54, 0.173, 0.121, 0.168},
                                     {}});
const csr_stats tall = sampled({605'000,
                                50'000,
                                12'097'721,
                                20,
                                1,
                                1,
                                1,
                                2,
                                {0.999, 0.995, 0.995, 0.961, 0.354, 0.598},
                                {0.997, 0.989, 0.99, 0.923, 0.19, 0.407},
                                {0, 0, 0.25, 0.111, 0.0627, 0.0402, 0.028, 0.0206, 0.0158}});
const csr_stats wide = sampled({6'840'000,
                                13'680'000,
                                34'206'951,
                                9,
                                1.79,
                                1,
                                1.8,
                                4,
                                {1, 1, 1, 1, 0.995, 0.999},
                                {1, 1, 1, 1, 0.991, 0.999},
                                {0, 0, 0.25, 0.111, 0.0625, 0.04, 0.0278, 0.0204, 0.0156}});
const csr_stats dense = sampled({790,
                                 12'658,
                                 9'999'820,
                                 12'658,
                                 1.01,
                                 1.05,
                                 1.01,
                                 0,
                                 {0.266, 0.0899, 0.00016, 0.251, 0.0966, 0.000475},
                                 {0.148, 0.0605, 0.00016, 0.126, 0.0483, 0.000316},
                                 {0, 0, 1, 0.997, 0.997, 1, 0.997, 0.998, 0.997}});

TEST(ChooseSpmv, TakesWhatIsFastestByFar) {
  EXPECT_EQ(standard(stencil), "packed");
  EXPECT_EQ(standard(stencil, f32), "packed");
  EXPECT_EQ(standard(mesh_of_blocks), "bin_bsr.compact");
  EXPECT_EQ(standard(mesh_of_blocks, f32), "bin_bsr.compact");
  EXPECT_EQ(standard(web_pages), "csr5");
  EXPECT_EQ(standard(web_pages, f32), "csr5");
  EXPECT_EQ(standard(tall), "csr5.blocked");
  EXPECT_EQ(standard(wide), "csr5.blocked");
  EXPECT_EQ(standard(wide, f32), "csr5.blocked");
}

TEST(ChooseSpmv, TakesNoBlocksWhereFewLanesWouldHaveOne) {
  for (const type_key t : {f64, f32}) {
    const std::string kernel = standard(dense, t);
    EXPECT_TRUE(kernel == "packed" || kernel == "csr5") << kernel;
  }
}

TEST(ChooseSpmv, TakesNoBlocksWithManyHoles) {
  csr_stats s = mesh_of_blocks;
  for (double& fill : s.block_fill) fill *= 0.39;
  EXPECT_NE(standard(s), "bin_bsr.compact");
  s.block_fill = {};  // not looked at
  EXPECT_NE(standard(s), "bin_bsr.compact");
}

TEST(ChooseSpmv, TakesBsrForLongRowsOfManyBlocksOf8) {
  csr_stats s = mesh_of_blocks;
  s.rows = s.cols = 400'000, s.nnz = 400'000 * 96ll, s.mean = 96, s.max = 104, s.skew = s.ell_padding = 104.0 / 96;
  s.block_fill = {0, 0, 1, 0.6, 1, 0.5, 0.5, 0.4, 1};
  EXPECT_EQ(standard(s), "bsr");
  s.block_fill[8] = 0.5;  // blocks of 4 then
  EXPECT_EQ(standard(s), "bin_bsr.compact");
}

TEST(ChooseSpmv, TilesWhatIsNotSampled) {
  EXPECT_EQ(standard(regular(24'000, 20)), "csr5");
  EXPECT_EQ(standard(regular(25, 5160)), "csr5");
  EXPECT_EQ(standard(with_longest(regular(32'500, 10), 2700)), "csr5");
}

TEST(ChooseSpmv, DoesNotNeedSamples) {
  csr_stats s = regular(8'000'000, 27);
  EXPECT_EQ(standard(s), "packed");
  s.gather_sectors = 32;
  s.cols = 40'000'000;
  EXPECT_EQ(standard(s), "csr5.blocked");  // x read from all over, beyond L2
}

TEST(SpmvCosts, AreThoseOfTheDeviceOrScaledToIt) {
  const spmv_device_class& measured = spmv_device_classes().front();
  device_info same = gpu();
  same.compute_capability = measured.compute_capability;
  same.multiprocessors = measured.multiprocessors;
  same.memory_gbs = measured.memory_gbs;
  EXPECT_EQ(&class_of(same), &measured);
  device_info laptop = same;
  laptop.compute_capability = 75;
  laptop.multiprocessors /= 4;
  laptop.memory_gbs /= 10;
  const spmv_device_class& from = class_of(laptop);
  using terms = spmv_terms_cuda;
  for (int t = 0; t < terms::count; ++t) {
    terms one;
    one[t] = 1;
    const double before = predicted_microseconds(one, 0, 8, same, from),
                 after = predicted_microseconds(one, 0, 8, laptop, from);
    EXPECT_DOUBLE_EQ(after, before * (terms::by_bandwidth(t) ? 10 : terms::by_multiprocessors(t) ? 4 : 1)) << t;
  }
  device_info unknown = same;
  unknown.memory_gbs = 0;
  terms bytes;
  bytes[terms::bytes] = 1;
  EXPECT_DOUBLE_EQ(predicted_microseconds(bytes, 0, 4, unknown, from), from.f32[0][terms::bytes]);
}

TEST(SpmvCosts, ChargeEveryKernelForBytes) {
  for (const spmv_device_class& c : spmv_device_classes()) {
    for (const auto* table : {&c.f64, &c.f32}) {
      for (const auto& costs : *table) {
        EXPECT_GT(costs[spmv_terms_cuda::bytes], 0);
        for (const double cost : costs) EXPECT_GE(cost, 0);
      }
    }
  }
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

std::string on_cpu(const csr_stats& s, type_key t = f64, processor_class processor = processor_class::gathers) {
  return choose_spmv_cpu(s, t, 2, processor).kernel;
}
constexpr processor_class classes_of_processors[] = {processor_class::gathers, processor_class::loads,
                                                     processor_class::narrow};

TEST(MostPromisingFirst, PutsWhatIsPredictedBeforeWhatIsNot) {
  const auto kernels = [](std::initializer_list<const char*> names) {
    std::vector<spmv_kernel> out;
    for (const char* name : names) out.push_back({.name = name});
    return out;
  };
  const std::vector<spmv_kernel> table = kernels({"csr.thread", "csr.warp", "ell", "packed", "csr5"});
  const auto ordered = [&](const csr_stats& s, type_key t, const device_info& device) {
    std::vector<const spmv_kernel*> all;
    for (const spmv_kernel& k : table) all.push_back(&k);
    std::vector<std::string_view> names;
    for (const spmv_kernel* k : most_promising_first(all, s, t, device)) names.push_back(k->name);
    return names;
  };
  const csr_stats few_long = with_longest(regular(25, 1'200'000), 1'210'000);
  const auto of_few_long = ordered(few_long, f64, gpu());
  const auto place = [&](std::string_view name) { return std::ranges::find(of_few_long, name) - of_few_long.begin(); };
  EXPECT_LT(place("packed"), place("csr.thread"));
  EXPECT_LT(place("csr5"), place("csr.thread"));
  EXPECT_LT(place("csr.thread"), place("csr.warp"));  // neither is predicted: as they were

  const std::vector<std::string_view> as_they_were = {"csr.thread", "csr.warp", "ell", "packed", "csr5"};
  EXPECT_EQ(ordered(few_long, i32, gpu()), as_they_were);
  device_info cpu;
  cpu.backend = backend_kind::cpu;
  EXPECT_EQ(ordered(few_long, f64, cpu), as_they_were);
}

TEST(ChooseSpmvCpu, ThreadsShareLargeMatricesOnly) {
  EXPECT_EQ(on_cpu(regular(1'000, 5), i32), "csr.serial");
  EXPECT_EQ(on_cpu(regular(100'000, 5)), "packed");
  EXPECT_EQ(on_cpu(regular(100'000, 5), i32), "csr.balanced");
}

TEST(ChooseSpmvCpu, PacksSmallMatricesWhoseRowsRepeat) {
  csr_stats few = regular(6, 65);
  few.cols = 130, few.gather_sectors = 20;
  few.sell_padding = few.sell_sorted_padding = 2.9;  // lanes without rows
  for (const processor_class processor : classes_of_processors) {
    EXPECT_EQ(on_cpu(with(regular(900, 8.6), &csr_stats::diagonal, 1), f64, processor), "packed");
    EXPECT_EQ(on_cpu(with(regular(494, 3.4), &csr_stats::diagonal, 1), f32, processor), "packed");
    EXPECT_EQ(on_cpu(few, f64, processor), "csr.serial");
    EXPECT_EQ(on_cpu(few, f32, processor), "csr.serial");
  }
}

TEST(ChooseSpmvCpu, TakesBlocksThatAreFull) {
  csr_stats s = regular(600, 23);
  s.stddev = 3.2, s.sell_padding = s.sell_sorted_padding = 1.15, s.gather_sectors = 6.2, s.diagonal = 0.94;
  s.block_fill = {0, 0, 1, 0.5, 1, 0.4, 0.4, 0.3, 0.4};
  for (const processor_class processor : classes_of_processors) {
    for (const type_key t : {f64, f32}) {
      const std::string chosen = on_cpu(s, t, processor);
      EXPECT_TRUE(chosen == "bsr" || chosen == "bin_bsr.compact") << chosen;
    }
  }
  s.block_fill.fill(0);  // not looked at
  EXPECT_EQ(on_cpu(s).find("bsr"), std::string::npos);
  s.block_fill.fill(0.2);
  EXPECT_EQ(on_cpu(s).find("bsr"), std::string::npos);
}

TEST(ChooseSpmvCpu, KeepsColumnsAsTheyAreWhereGathersAreSlow) {
  csr_stats s = with_longest(regular(84'000, 5), 10);  // every other row is empty
  s.stddev = 5, s.sell_padding = 2, s.sell_sorted_padding = 1.03, s.gather_sectors = 30, s.gather_span = 1900;
  EXPECT_EQ(on_cpu(s, f64, processor_class::gathers), "packed");
  EXPECT_EQ(on_cpu(s, f64, processor_class::loads), "csr.balanced");  // 233 us on a Zen 4, sell 337, packed 335
}

TEST(ChooseSpmvCpu, GivesNoReasonWhereNoneIsAskedFor) {
  for (const csr_stats& s : {regular(6, 65), regular(900, 8.6), regular(100'000, 5), regular(500, 100)}) {
    const spmv_choice told = choose_spmv_cpu(s, f64, 2, processor_class::gathers),
                      silent = choose_spmv_cpu(s, f64, 2, processor_class::gathers, false);
    EXPECT_EQ(told.kernel, silent.kernel);
    EXPECT_NE(told.reason, "");
    EXPECT_EQ(silent.reason, "");
  }
}

TEST(ChooseSpmvCpu, PacksWhereReadingTheMatrixIsWhatCosts) {
  EXPECT_EQ(on_cpu(with(regular(500, 100), &csr_stats::gather_sectors, 28)), "csr.balanced");  // too few slices
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
    if (k.operation != kernel_operation::spmv && k.operation != kernel_operation::spmv_transposed) {
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
