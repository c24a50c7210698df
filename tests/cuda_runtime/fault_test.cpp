// Every CUDA call of every operation fails once, in turn: the operation throws a status that fits the call, leaks
// nothing, leaves no error behind, and gives the same result when tried again.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "kernels/backends.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

using operation = std::function<std::vector<double>()>;  // its result, or nothing

/// What an operation may do without, so that its failure goes unnoticed.
enum class may_fail { nothing, allocations, anything };

/// Rows in reverse order of their columns.
csr<double> reversed(const context& ctx, const csr<double>& host) {
  plain_csr<> m = plain(host);
  for (index_t r = 0; r < m.rows; ++r) {
    std::reverse(m.colind.begin() + m.rowptr[r], m.colind.begin() + m.rowptr[r + 1]);
  }
  return m.on(ctx);
}

class cuda_fault_test : public cuda_test {
 protected:
  /// `another`: the reference for a result that another kernel may have made after a failure; without one the result
  /// must have the same bits.
  void fail_each_call(const std::string& name, const operation& run, may_fail unnoticed = may_fail::nothing,
                      const spmv_reference* another = nullptr);

  const csr<double> host_ = small_matrix(), a_ = clone(ctx(), host_.view()), unsorted_ = reversed(ctx(), host_);
};

void cuda_fault_test::fail_each_call(const std::string& name, const operation& run, may_fail unnoticed,
                                     const spmv_reference* another) {
  SCOPED_TRACE(name);
  const std::vector<double> want = run();  // makes what is kept for good, too
  const cuda_counts before = counts();
  for (std::int64_t skip = 0;; ++skip) {
    ASSERT_LT(skip, 10'000);
    fail_call_after(skip);
    std::vector<double> result;
    const auto [code, message] = failure_of([&] { result = run(); });
    const failed_call failed = stop_failing();
    SCOPED_TRACE("call " + std::to_string(skip) + ", " + (failed.name.empty() ? "none" : failed.name));
    EXPECT_FALSE(error_left_behind());
    EXPECT_EQ(counts().live_allocations(), before.live_allocations());
    EXPECT_EQ(counts().live_streams(), before.live_streams());
    if (failed.name.empty()) {
      ASSERT_EQ(code, status::success) << message;
      EXPECT_EQ(result, want);
      return;
    }
    if (code != status::success) {
      EXPECT_NE(std::ranges::find(failed.allowed, code), failed.allowed.end()) << tulle::name(code) << ": " << message;
    } else {
      const bool memory = failed.allowed.front() == status::device_out_of_memory;
      EXPECT_TRUE(unnoticed == may_fail::anything || (unnoticed == may_fail::allocations && memory))
          << "the failure went unnoticed";
      if (another != nullptr) {
        EXPECT_LE(error_ratio(*another, host_span<const double>(result)), 1);
      } else {
        EXPECT_EQ(result, want);
      }
    }
    if (HasFailure()) return;
  }
}

TEST_F(cuda_fault_test, contexts) {
  fail_each_call("context", [] {
    context::cuda();
    return std::vector<double>();
  });
}

TEST_F(cuda_fault_test, copies) {
  fail_each_call("clone", [&] { return to_vector(ctx(), clone(ctx(), host_.view()).values); });
  fail_each_call("fill", [&] {
    buffer<double> b(ctx(), 100);
    fill_bytes(ctx(), b.data(), memory_space::device, 0, b.bytes());
    return to_vector(ctx(), b);
  });
}

TEST_F(cuda_fault_test, conversions) {
  for (const auto& view : {a_.view(), unsorted_.view()}) {
    SCOPED_TRACE(view.colind == a_.colind.data() ? "sorted rows" : "unsorted rows");
    const auto values_of = [&](const auto& m) { return to_vector(ctx(), m.values); };
    fail_each_call("with_offsets", [&] { return values_of(with_offsets<std::int32_t>(ctx(), view)); });
    fail_each_call("coo", [&] { return values_of(to_csr(ctx(), to_coo(ctx(), view).view())); });
    fail_each_call("csc", [&] { return values_of(to_csr(ctx(), to_csc(ctx(), view).view())); });
    fail_each_call("ell", [&] { return values_of(to_csr(ctx(), to_ell(ctx(), view).view())); });
    fail_each_call("sell", [&] { return values_of(to_csr(ctx(), to_sell(ctx(), view, 64).view())); });
    fail_each_call("bin_bsr", [&] { return values_of(to_csr(ctx(), to_bin_bsr(ctx(), view, 3).view())); });
    fail_each_call("block_pattern", [&] {
      const auto ends = to_buffer(ctx(), std::vector<index_t>{0, 3, 1, 1});
      const auto pattern = find_block_pattern(ctx(), {4, 4, 4, ends.data(), ends.data(), memory_space::device});
      return values_of(to_csr(ctx(), make_bin_bsr<double>(ctx(), pattern).view()));
    });
    fail_each_call("bsr", [&] { return values_of(to_csr(ctx(), to_bsr(ctx(), view, 3).view())); });
  }
}

TEST_F(cuda_fault_test, inspection) {
  for (const auto& view : {a_.view(), unsorted_.view()}) {
    fail_each_call("statistics", [&] {
      const csr_stats s = statistics(ctx(), view);
      return std::vector<double>{s.stddev, s.sell_sorted_padding, s.block_fill[3], s.gather_sectors};
    });
    fail_each_call("validate", [&] {
      const validation v = validate(ctx(), view, {true, true, true});
      return std::vector<double>{static_cast<double>(v.what), static_cast<double>(v.entry)};
    });
  }
}

TEST_F(cuda_fault_test, plans) {
  const std::vector<double> host_x(static_cast<std::size_t>(host_.cols), 1.5);
  // y = A x, then y = 2 A x + y: each within gamma(n + 2) of its terms, 4 |A| |x| of them together where 3 A x has 3.
  spmv_reference both = reference_spmv<double>(context::cpu(), 3, host_.view(), host_span<const double>(host_x), 0, {});
  for (double& bound : both.bound) bound *= 1.34;
  const buffer<double> x = to_buffer(ctx(), host_x);
  std::vector<std::string> names = {""};  // the one that is chosen
  for (const spmv_kernel& kernel : spmv_kernels(backend_kind::cuda)) {
    if (kernel.role != kernel_role::vendor) names.emplace_back(kernel.name);
  }
  for (const std::string& kernel : names) {
    fail_each_call(
        "plan " + kernel,
        [&] {
          spmv_plan<double> plan(ctx(), host_, with_kernel(kernel));  // copies the matrix to the device
          buffer<double> y(ctx(), static_cast<std::size_t>(host_.rows));
          plan.apply(1, x, 0, y);
          plan.update_values(host_.values.host());
          plan.apply(2, x, 1, y);
          return to_vector(ctx(), y);
        },
        kernel.empty() ? may_fail::allocations : may_fail::nothing, kernel.empty() ? &both : nullptr);
  }
}

/// A product that begins before its operands are known to be sound begins again where that fails.
TEST_F(cuda_fault_test, products) {
  const csr<double> many = clone(ctx(), generate<double>(context::cpu(), "gen:stencil:points=27,n=17").view());
  const auto product = [&](const csr<double>& m, const spgemm_options& options, const spgemm_terms& terms) {
    return [&, options, terms] {
      spgemm_plan<double> plan(ctx(), m.view(), m.view(), options, terms);
      const double beta = terms.d ? 0.5 : 0;
      matrix_ref c = plan.multiply(1, beta);
      plan.numeric(c, 2, beta);
      return values_of(ctx(), c);
    };
  };
  for (const char* kernel : {"gustavson", "kernel0"}) {
    fail_each_call(kernel, product(a_, {.kernel = kernel}, {}), may_fail::anything);
  }
  fail_each_call("more than 4096 rows", product(many, {}, {}), may_fail::anything);
  fail_each_call("transposed", product(a_, {.transpose_a = true, .transpose_b = true}, {}));
  fail_each_call("unsorted", product(unsorted_, {}, {}), may_fail::anything);
  fail_each_call("mask and D", product(a_, {}, {.mask = unsorted_.view(), .d = unsorted_.view()}));
  fail_each_call(
      "R A P", [&] { return values_of(ctx(), triple_product(ctx(), a_, a_, a_)); }, may_fail::anything);
}

}  // namespace
}  // namespace tulle::test
