// Memory limits of C = A B and of R A P, from too small to ample: what is held stays below, and the bits are the same.
#include <algorithm>
#include <functional>
#include <optional>

#include "kernels/backends.hpp"
#include "core/limited_memory.hpp"
#include "ops/owned_csr.hpp"
#include "support/backends.hpp"
#include "support/counting_memory.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

using matrix = csr<double, std::int32_t>;

matrix random_matrix(const context& ctx, index_t rows, index_t cols, index_t per_row, unsigned seed) {
  return random_csr<double, std::int32_t>(rows, cols, per_row, seed).on(ctx);
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

/// A, of so many rows that they take more than the least limit, which few do not, and B.
class SpgemmLimit : public on_backend {
 protected:
  static constexpr index_t cols = 900;

  [[nodiscard]] std::size_t least_limit(const char* kernel) const {
    return least_of(ctx(), [&](std::size_t limit) { spgemm(ctx(), a_, b_, {.kernel = kernel, .memory_limit = limit}); });
  }

  /// What the product holds beyond C where nothing limits it.
  [[nodiscard]] std::size_t taken_at_once(std::string_view kernel) const {
    const auto memory = std::make_shared<counting_memory>(ctx());
    const auto kernels = spgemm_kernels(ctx().backend());
    const spgemm_problem problem{matrix_ref(a_.view()), matrix_ref(b_.view())};
    const auto op = std::ranges::find(kernels, kernel, &spgemm_kernel::name)->make(ctx().with_memory(memory), problem);
    matrix_ref c = detail::new_csr(ctx(), {a_.rows, cols}, op->symbolic(), type_key_of<double, std::int32_t>);
    op->fill(problem.values(), detail::sink_of(c));
    return memory->peak();
  }

  void keeps(const spgemm_options& options, bool by_panels, const plain_csr<>& whole) const {
    const watched memory(ctx(), options.memory_limit);
    {
      spgemm_plan<double> plan(memory.ctx(ctx()), a_.view(), b_.view(), options);
      plan.symbolic();
      memory.expect_within_limit(0);
      matrix_ref c = plan.multiply();
      EXPECT_TRUE(same_bits(read_back(ctx(), c), whole));
      EXPECT_EQ(plan.explain().find("panels") != std::string::npos, by_panels) << plan.explain();
      plan.numeric(c);
      EXPECT_TRUE(same_bits(read_back(ctx(), c), whole));
      memory.expect_within_limit(bytes_of(c));
    }
    memory.expect_nothing_left();
  }

  /// With a D, the product that it is added to.
  [[nodiscard]] std::size_t joined_bytes(const spgemm_terms& terms) const {
    if (!terms.d) return 0;
    spgemm_plan<double> product(ctx(), a_.view(), b_.view(), {}, {.mask = terms.mask});
    return bytes_of(product.multiply());
  }

  matrix a_ = random_matrix(ctx(), ctx().backend() == backend_kind::cuda ? 5000 : 700, 600, 6, 1),
         b_ = random_matrix(ctx(), 600, cols, 7, 2);
};
TULLE_ON_BOTH_BACKENDS(SpgemmLimit);

/// In one go from what that takes on, by panels of rows below.
TEST_P(SpgemmLimit, SameBitsUnderEveryLimitThatCanBeKept) {
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    const std::size_t at_once = taken_at_once(kernel), least = least_limit(kernel);
    ASSERT_LT(least + 1, at_once);
    const plain_csr<> whole = read_back(ctx(), spgemm(ctx(), a_, b_, {.kernel = kernel}));
    for (const std::size_t limit : {least, least + 1, (least + at_once) / 2, at_once - 1, at_once, 10 * at_once}) {
      SCOPED_TRACE(limit);
      keeps({.kernel = kernel, .memory_limit = limit}, limit < at_once, whole);
    }
  }
}

/// Wide: by copies with narrow offsets, which the limit is not for. The sum with D has offsets that are known only once the
/// masked product is counted.
TEST_P(SpgemmLimit, WithMaskAndD) {
  const matrix mask = random_matrix(ctx(), a_.rows, cols, 40, 3), d = random_matrix(ctx(), a_.rows, cols, 5, 4);
  for (int which = 1; which < 8; ++which) {
    SCOPED_TRACE(which);
    const bool with_mask = (which & 1) != 0, with_d = (which & 2) != 0, is_wide = (which & 4) != 0;
    const auto operand = [&](const matrix& m) {
      return is_wide ? matrix_ref(with_offsets<std::int64_t>(ctx(), m.view())) : matrix_ref(m);
    };
    const matrix_ref a = operand(a_), b = operand(b_);
    spgemm_terms terms;
    if (with_mask) terms.mask = operand(mask);
    if (with_d) terms.d = operand(d);
    const double beta = with_d ? 3 : 0;
    const auto make = [&](const context& ctx, std::size_t limit) {
      return any_spgemm_plan(ctx, a, b, {.memory_limit = limit}, terms);
    };
    const plain_csr<> whole = read_back(ctx(), make(ctx(), 0).multiply(2, beta));
    const std::size_t least = least_of(ctx(), [&](std::size_t limit) { make(ctx(), limit).multiply(); });
    for (const std::size_t limit : {least, least + 999, least + least / 3, 2 * least, 10 * least}) {
      SCOPED_TRACE(limit);
      const watched memory(ctx(), limit);
      any_spgemm_plan plan = make(memory.ctx(ctx()), limit);
      matrix_ref c = plan.multiply(2, beta);
      EXPECT_TRUE(same_bits(read_back(ctx(), c), whole));
      if (!is_wide) memory.expect_within_limit(bytes_of(c) + joined_bytes(terms));
      matrix_ref again = plan.multiply();
      plan.numeric(again, 2, beta);
      EXPECT_TRUE(same_bits(read_back(ctx(), again), whole));
      if (!is_wide) memory.expect_within_limit(bytes_of(c) + bytes_of(again) + joined_bytes(terms));
    }
  }
}

/// Between the count and the product, and between that and the next.
TEST_P(SpgemmLimit, OtherValues) {
  const buffer<double> half = to_buffer(ctx(), std::vector<double>(a_.values.size(), 0.5));
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    const auto run = [&](std::size_t limit) {
      spgemm_plan<double> plan(ctx(), a_.view(), b_.view(), {.kernel = kernel, .memory_limit = limit});
      plan.symbolic();
      plan.update_values(half, b_.values);
      matrix_ref halves = plan.multiply();
      plan.update_values(a_.values, b_.values);
      matrix_ref c = plan.multiply();
      plan.update_values(half, b_.values);
      plan.numeric(c, 3);
      return std::pair(read_back(ctx(), halves), read_back(ctx(), c));
    };
    const std::size_t least = least_limit(kernel);
    const auto expected = run(0), by_panels = run(least);
    EXPECT_TRUE(same_bits(by_panels.first, expected.first));
    EXPECT_TRUE(same_bits(by_panels.second, expected.second));
  }
}

TEST_P(SpgemmLimit, TripleProduct) {
  const matrix p = random_matrix(ctx(), cols, 80, 2, 5);
  const plain_csr<> whole = read_back(ctx(), triple_product(ctx(), a_, b_, p));
  const std::size_t least =
      least_of(ctx(), [&](std::size_t limit) { triple_product(ctx(), a_, b_, p, {.memory_limit = limit}); });
  for (const std::size_t limit : {least, least + least / 3, 2 * least, 100 * least}) {
    SCOPED_TRACE(limit);
    const watched memory(ctx(), limit);
    const matrix_ref c = triple_product(memory.ctx(ctx()), a_, b_, p, {.memory_limit = limit});
    EXPECT_TRUE(same_bits(read_back(ctx(), c), whole));
    memory.expect_within_limit(bytes_of(c));
  }
}

/// Without rows, but with columns that an accumulator takes memory for.
TEST_P(SpgemmLimit, TripleProductWithoutRows) {
  const matrix r = random_matrix(ctx(), 0, 50, 1, 1), a = random_matrix(ctx(), 50, 5000, 3, 2),
               p = random_matrix(ctx(), 5000, 10, 1, 3);
  for (const char* kernel : {"gustavson", "kernel0"}) {
    const auto make = [&](std::size_t limit) {
      return triple_product(ctx(), r, a, p, {.kernel = kernel, .memory_limit = limit});
    };
    const plain_csr<> c = read_back(ctx(), make(least_of(ctx(), [&](std::size_t limit) { make(limit); })));
    EXPECT_EQ(c.rows + c.nnz(), 0);
  }
}

/// So many products that threads share the rows of a panel, and some thread passes the limit in the middle of its own.
TEST(SpgemmLimitCpu, PassedInAThread) {
  const context cpu = context::cpu(4);
  const matrix a = random_matrix(cpu, 6000, 6000, 30, 6);
  const plain_csr<> whole = read_back(cpu, spgemm(cpu, a, a));
  const std::size_t least = least_of(cpu, [&](std::size_t limit) { spgemm(cpu, a, a, {.memory_limit = limit}); });
  for (const std::size_t times : {2, 4, 16}) {
    SCOPED_TRACE(times);
    const watched memory(cpu, times * least);
    const spgemm_options limited{.memory_limit = times * least};
    spgemm_plan<double> plan(memory.ctx(cpu), a.view(), a.view(), limited);
    matrix_ref c = plan.multiply();
    EXPECT_TRUE(same_bits(read_back(cpu, c), whole));
    EXPECT_NE(plan.explain().find("panels"), std::string::npos) << plan.explain();
    memory.expect_within_limit(bytes_of(c));
  }
}

}  // namespace
}  // namespace tulle::test
