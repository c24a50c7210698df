// Memory limits of C = A B and of R A P, from too small to ample: what is held stays below, and the bits are the same.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/backends.hpp"
#include "core/limited_memory.hpp"
#include "core/memory_status.hpp"
#include "cuda_test.hpp"
#include "kernels/spgemm.hpp"
#include "ops/spgemm_sink.hpp"
#include "spgemm/counting_memory.hpp"
#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;
using matrix = csr<double, std::int32_t>;

matrix random_matrix(const context& ctx, index_t rows, index_t cols, index_t a_row, unsigned seed) {
  return random_sparse<double, std::int32_t>(rows, cols, a_row, seed).owned(ctx);
}

/// Bytes of a CSR like the operands.
std::size_t csr_bytes(std::int64_t rows, std::int64_t nnz) {
  return static_cast<std::size_t>(rows + 1) * sizeof(std::int32_t) +
         static_cast<std::size_t>(nnz) * (sizeof(index_t) + sizeof(double));
}

/// What is held beyond C stays within the limit, before there is a C as well.
class watched {
 public:
  watched(const context& ctx, std::size_t limit) : limit_(limit), memory_(std::make_shared<counting_memory>(ctx)) {}
  [[nodiscard]] context ctx(const context& ctx) const { return ctx.with_memory(memory_); }
  void expect_within_limit(std::size_t beyond) const { EXPECT_LE(memory_->peak(), limit_ + beyond); }
  void expect_nothing_left() const { EXPECT_EQ(memory_->now(), 0u); }

 private:
  std::size_t limit_;
  std::shared_ptr<counting_memory> memory_;
};

/// The smallest limit that can be kept, found by trying what the refusals say is needed, from 1 byte on. One byte less
/// is refused.
std::size_t least_of(const context& ctx, const std::function<void(std::size_t)>& product) {
  const auto refusal_of = [&](std::size_t limit) -> std::optional<limit_exceeded> {
    try {
      product(limit);
    } catch (const limit_exceeded& e) {
      EXPECT_EQ(e.code(), out_of(ctx.space()));
      EXPECT_GT(e.needed(), limit);
      const std::string said = e.what();
      EXPECT_NE(said.find("memory_limit of " + std::to_string(limit) + " bytes: "), std::string::npos) << said;
      EXPECT_NE(said.find("needs at least " + std::to_string(e.needed()) + " bytes"), std::string::npos) << said;
      return e;
    }
    return {};
  };
  std::size_t least = 1;
  while (const auto refused = refusal_of(least)) {
    if (refused->needed() <= least) break;
    least = refused->needed();
  }
  EXPECT_GT(least, 1u);
  EXPECT_TRUE(refusal_of(least - 1).has_value());
  return least;
}

/// A, of so many rows, and B, on the backend of a context.
class limits {
 public:
  limits(const context& ctx, index_t rows)
      : ctx_(ctx), a_(random_matrix(ctx, rows, 600, 6, 1)), b_(random_matrix(ctx, 600, cols, 7, 2)) {}

  /// In one go from what that takes on, by panels of rows below.
  void same_bits_under_every_limit_that_can_be_kept() const {
    for (const char* kernel : {"gustavson", "kernel0"}) {
      SCOPED_TRACE(kernel);
      const std::size_t at_once = taken_at_once(kernel), least = least_limit(kernel);
      ASSERT_LT(least + 1, at_once);
      const any_csr<double> whole = on_host(ctx_, spgemm(ctx_, a_, b_, {.kernel = kernel}));
      for (const std::size_t limit : {least, least + 1, (least + at_once) / 2, at_once - 1, at_once, 10 * at_once}) {
        SCOPED_TRACE(limit);
        keeps({.kernel = kernel, .memory_limit = limit}, limit < at_once, whole);
      }
    }
  }

  void with_mask_and_d() const {
    const matrix mask = random_matrix(ctx_, a_.rows, cols, 40, 3), d = random_matrix(ctx_, a_.rows, cols, 5, 4);
    for (int which = 1; which < 4; ++which) {
      SCOPED_TRACE(which);
      spgemm_terms<double, std::int32_t> terms;
      if (which & 1) terms.mask = mask.view();
      if (which & 2) terms.d = d.view();
      const double beta = which & 2 ? 3 : 0;
      const auto make = [&](const context& ctx, std::size_t limit) {
        return spgemm_plan<double>(ctx, a_.view(), b_.view(), {.memory_limit = limit}, terms);
      };
      const any_csr<double> whole = on_host(ctx_, make(ctx_, 0).multiply(2, beta));
      const std::size_t least = least_of(ctx_, [&](std::size_t limit) { make(ctx_, limit).multiply(); });
      for (const std::size_t limit : {least, least + 999, least + least / 3, 2 * least, 10 * least}) {
        SCOPED_TRACE(limit);
        const watched memory(ctx_, limit);
        spgemm_plan<double> plan = make(memory.ctx(ctx_), limit);
        any_csr<double> c = plan.multiply(2, beta);
        EXPECT_TRUE(same_bits(on_host(ctx_, c), whole));
        memory.expect_within_limit(bytes_of(c) + joined_bytes(terms));
        any_csr<double> again = plan.multiply();
        plan.numeric(again, 2, beta);
        EXPECT_TRUE(same_bits(on_host(ctx_, again), whole));
        memory.expect_within_limit(bytes_of(c) + bytes_of(again) + joined_bytes(terms));
      }
    }
  }

  /// The sum with D has offsets that are known only once the masked product is counted.
  void mask_and_d_of_wide_offsets() const {
    const auto wide = [&](const matrix& m) { return with_offsets<std::int64_t>(ctx_, m.view()); };
    const auto a = wide(a_), b = wide(b_), mask = wide(random_matrix(ctx_, a_.rows, cols, 40, 3)),
               d = wide(random_matrix(ctx_, a_.rows, cols, 5, 4));
    const auto make = [&](std::size_t limit) {
      return spgemm_plan<double>(ctx_, a.view(), b.view(), {.memory_limit = limit},
                                 spgemm_terms<double, std::int64_t>{mask.view(), d.view()});
    };
    const any_csr<double> whole = on_host(ctx_, make(0).multiply(2, 3));
    const std::size_t least = least_of(ctx_, [&](std::size_t limit) { make(limit).multiply(); });
    EXPECT_TRUE(same_bits(on_host(ctx_, make(least).multiply(2, 3)), whole));
  }

  /// Between the count and the product, and between that and the next.
  void other_values_under_a_limit() const {
    const buffer<double> half = to_buffer(ctx_, std::vector<double>(a_.values.size(), 0.5));
    for (const char* kernel : {"gustavson", "kernel0"}) {
      SCOPED_TRACE(kernel);
      const auto run = [&](std::size_t limit) {
        spgemm_plan<double> plan(ctx_, a_.view(), b_.view(), {.kernel = kernel, .memory_limit = limit});
        plan.symbolic();
        plan.update_values(half.data(), b_.values.data());
        any_csr<double> halves = plan.multiply();
        plan.update_values(a_.values.data(), b_.values.data());
        any_csr<double> c = plan.multiply();
        plan.update_values(half.data(), b_.values.data());
        plan.numeric(c, 3);
        return std::pair(on_host(ctx_, halves), on_host(ctx_, c));
      };
      const std::size_t least = least_limit(kernel);
      const auto expected = run(0), by_panels = run(least);
      EXPECT_TRUE(same_bits(by_panels.first, expected.first));
      EXPECT_TRUE(same_bits(by_panels.second, expected.second));
    }
  }

  void of_triple_product() const {
    const matrix p = random_matrix(ctx_, cols, 80, 2, 5);
    const any_csr<double> whole = on_host(ctx_, triple_product(ctx_, a_, b_, p));
    const std::size_t least =
        least_of(ctx_, [&](std::size_t limit) { triple_product(ctx_, a_, b_, p, {.memory_limit = limit}); });
    for (const std::size_t limit : {least, least + least / 3, 2 * least, 100 * least}) {
      SCOPED_TRACE(limit);
      const watched memory(ctx_, limit);
      const any_csr<double> c = triple_product(memory.ctx(ctx_), a_, b_, p, {.memory_limit = limit});
      EXPECT_TRUE(same_bits(on_host(ctx_, c), whole));
      memory.expect_within_limit(bytes_of(c));
    }
  }

 private:
  static constexpr index_t cols = 900;

  [[nodiscard]] std::size_t least_limit(const char* kernel) const {
    return least_of(ctx_, [&](std::size_t limit) { spgemm(ctx_, a_, b_, {.kernel = kernel, .memory_limit = limit}); });
  }

  /// What the product holds beyond C where nothing limits it.
  [[nodiscard]] std::size_t taken_at_once(std::string_view kernel) const {
    const auto memory = std::make_shared<counting_memory>(ctx_);
    const auto kernels = spgemm_kernels(ctx_.backend());
    const auto op = std::ranges::find(kernels, kernel, &spgemm_kernel::name)
                        ->make(ctx_.with_memory(memory), {csr_ref::of(a_.view()), csr_ref::of(b_.view())});
    any_csr<double> c = detail::new_c<double>(ctx_, {a_.rows, cols}, op->symbolic());
    op->fill(1, detail::sink_of(c));
    return memory->peak();
  }

  void keeps(const spgemm_options& options, bool by_panels, const any_csr<double>& whole) const {
    const watched memory(ctx_, options.memory_limit);
    {
      spgemm_plan<double> plan(memory.ctx(ctx_), a_.view(), b_.view(), options);
      plan.symbolic();
      memory.expect_within_limit(0);
      any_csr<double> c = plan.multiply();
      EXPECT_TRUE(same_bits(on_host(ctx_, c), whole));
      EXPECT_EQ(plan.explain().find("panels") != std::string::npos, by_panels) << plan.explain();
      plan.numeric(c);
      EXPECT_TRUE(same_bits(on_host(ctx_, c), whole));
      memory.expect_within_limit(bytes_of(c));
    }
    memory.expect_nothing_left();
  }

  /// Copies that a D is joined in: [A | I] and [B ; D], or with a mask I, [I | I] and [M o (A B) ; D].
  [[nodiscard]] std::size_t joined_bytes(const spgemm_terms<double, std::int32_t>& terms) const {
    if (!terms.d) return 0;
    const std::int64_t rows = a_.rows, more = terms.d->nnz;
    if (!terms.mask) return csr_bytes(rows, a_.nnz() + rows) + csr_bytes(b_.rows + rows, b_.nnz() + more);
    spgemm_plan<double> masked(ctx_, a_.view(), b_.view(), {}, {.mask = terms.mask});
    masked.symbolic();
    return csr_bytes(rows, rows) + csr_bytes(rows, 2 * rows) + csr_bytes(2 * rows, masked.nnz() + more);
  }

  context ctx_;
  matrix a_, b_;
};

limits on_cpu() { return limits(context::cpu(2), 700); }

TEST(SpgemmLimit, SameBitsUnderEveryLimitThatCanBeKept) { on_cpu().same_bits_under_every_limit_that_can_be_kept(); }
TEST(SpgemmLimit, WithMaskAndD) { on_cpu().with_mask_and_d(); }
TEST(SpgemmLimit, MaskAndDOfWideOffsets) { on_cpu().mask_and_d_of_wide_offsets(); }
TEST(SpgemmLimit, OtherValues) { on_cpu().other_values_under_a_limit(); }
TEST(SpgemmLimit, TripleProduct) { on_cpu().of_triple_product(); }

/// Without rows, but with columns that an accumulator takes memory for.
void expect_no_rows_of_triple_product(const context& ctx) {
  const matrix r = random_matrix(ctx, 0, 50, 1, 1), a = random_matrix(ctx, 50, 5000, 3, 2),
               p = random_matrix(ctx, 5000, 10, 1, 3);
  for (const char* kernel : {"gustavson", "kernel0"}) {
    const auto make = [&](std::size_t limit) {
      return triple_product(ctx, r, a, p, {.kernel = kernel, .memory_limit = limit});
    };
    const any_csr<double> c = make(least_of(ctx, [&](std::size_t limit) { make(limit); }));
    EXPECT_EQ(std::visit([](const auto& m) { return m.rows + static_cast<std::int64_t>(m.nnz()); }, c), 0);
  }
}
TEST(SpgemmLimit, TripleProductWithoutRows) { expect_no_rows_of_triple_product(context::cpu(2)); }

/// So many products that threads share the rows of a panel, and some thread passes the limit in the middle of its own.
TEST(SpgemmLimit, PassedInAThread) {
  const context cpu = context::cpu(4);
  const matrix a = random_matrix(cpu, 6000, 6000, 30, 6);
  const any_csr<double> whole = spgemm(cpu, a, a);
  const std::size_t least = least_of(cpu, [&](std::size_t limit) { spgemm(cpu, a, a, {.memory_limit = limit}); });
  for (const std::size_t times : {2, 4, 16}) {
    SCOPED_TRACE(times);
    const watched memory(cpu, times * least);
    const spgemm_options limited{.memory_limit = times * least};
    spgemm_plan<double> plan(memory.ctx(cpu), a.view(), a.view(), limited);
    any_csr<double> c = plan.multiply();
    EXPECT_TRUE(same_bits(c, whole));
    EXPECT_NE(plan.explain().find("panels"), std::string::npos) << plan.explain();
    memory.expect_within_limit(bytes_of(c));
  }
}

/// Of so many rows that they take more than the least limit, which few do not.
class SpgemmLimitCuda : public CudaTest {
 protected:
  [[nodiscard]] limits on_gpu() const { return limits(*gpu, 30000); }
};

TEST_F(SpgemmLimitCuda, SameBitsUnderEveryLimitThatCanBeKept) {
  on_gpu().same_bits_under_every_limit_that_can_be_kept();
}
TEST_F(SpgemmLimitCuda, WithMaskAndD) { on_gpu().with_mask_and_d(); }
TEST_F(SpgemmLimitCuda, MaskAndDOfWideOffsets) { on_gpu().mask_and_d_of_wide_offsets(); }
TEST_F(SpgemmLimitCuda, OtherValues) { on_gpu().other_values_under_a_limit(); }
TEST_F(SpgemmLimitCuda, TripleProduct) { on_gpu().of_triple_product(); }
TEST_F(SpgemmLimitCuda, TripleProductWithoutRows) { expect_no_rows_of_triple_product(*gpu); }

}  // namespace
}  // namespace tulle
