// Panels of rows under a limit, by a kernel whose needs are known to the byte.
#include "ops/spgemm_panels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ops/owned_csr.hpp"
#include "support/counting_memory.hpp"
#include "support/errors.hpp"
#include "support/plain_csr.hpp"

namespace tulle::test {
namespace {

constexpr std::size_t to_count = 16, to_fill = 64;  // bytes a row

/// I times I. Takes more to fill than to count.
class identity_operator final : public spgemm_operator {
 public:
  identity_operator(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx),
        rows_(static_cast<std::size_t>(p.a.rows)),
        first_row_(*static_cast<const std::int64_t*>(p.a.rowptr)) {}

  std::int64_t symbolic() override {
    counted_ = buffer<std::byte>(ctx_, rows_ * to_count);
    return static_cast<std::int64_t>(rows_);
  }
  void fill(const spgemm_values& values, const csr_sink& c) override {
    if (filled_.empty()) filled_ = buffer<std::byte>(ctx_, rows_ * (to_fill - to_count));
    auto* const rowptr = static_cast<std::int32_t*>(c.rowptr);
    std::iota(rowptr, rowptr + rows_ + 1, static_cast<std::int32_t>(c.first));
    std::iota(c.colind + c.first, c.colind + c.first + rows_, static_cast<index_t>(first_row_));
    numeric(values, c);
  }
  void numeric(const spgemm_values& values, const csr_sink& c) override {
    std::fill_n(static_cast<double*>(c.values) + c.first, rows_, values.alpha);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return counted_.bytes() + filled_.bytes(); }

 private:
  context ctx_;
  std::size_t rows_;
  std::int64_t first_row_;
  buffer<std::byte> counted_, filled_;
};

const spgemm_kernel identity_kernel{
    "identity",
    "",
    backend_kind::cpu,
    type_set::all,
    kernel_role::production,
    false,
    supports_every,
    [](const context& ctx, const spgemm_problem& p) -> std::unique_ptr<spgemm_operator> {
      return std::make_unique<identity_operator>(ctx, p);
    }};

struct outcome {
  std::size_t panels_counted = 0;
  std::size_t panels_filled = 0;
  std::size_t peak = 0;
};

constexpr index_t rows = 100;

outcome product_of_identities(std::size_t limit) {
  const context cpu = context::cpu(1);
  plain_csr<> identity{rows, rows, std::vector<std::int64_t>(rows + 1), std::vector<index_t>(rows),
                       std::vector<double>(rows, 1)};
  std::iota(identity.rowptr.begin(), identity.rowptr.end(), 0);
  std::iota(identity.colind.begin(), identity.colind.end(), 0);
  const matrix_ref m = matrix_ref(identity.view());
  const auto memory = std::make_shared<counting_memory>(cpu);
  outcome o;
  {
    detail::panelled_product product(cpu.with_memory(memory), identity_kernel, {m, m}, limit);
    EXPECT_EQ(product.symbolic(), rows);
    o.panels_counted = product.panels();
    const matrix_ref c = detail::new_csr(cpu, {rows, rows}, rows, type_key_of<double, std::int32_t>);
    for (const double alpha : {2.0, 3.0}) {  // the second time `numeric`
      alpha == 2 ? product.fill({alpha}, detail::sink_of(c)) : product.numeric({alpha}, detail::sink_of(c));
      for (double& v : identity.values) v = alpha;
      EXPECT_TRUE(plain(cpu, c) == identity);
    }
    o.panels_filled = product.panels();
  }
  o.peak = memory->peak();
  EXPECT_EQ(memory->now(), 0u);
  return o;
}

TEST(SpgemmPanels, OneWhereTheWholeFits) {
  for (const std::size_t limit : {rows * to_fill, 2 * rows * to_fill, std::size_t{0}}) {
    const outcome o = product_of_identities(limit);
    EXPECT_EQ(o.panels_filled, 1u);
    EXPECT_EQ(o.peak, rows * to_fill);
  }
}

TEST(SpgemmPanels, WhatCouldBeCountedIsCutWhereItCannotBeFilled) {
  const outcome o = product_of_identities(rows * to_fill - 1);
  EXPECT_EQ(o.panels_counted, 1u);
  EXPECT_EQ(o.panels_filled, 2u);
  EXPECT_EQ(o.peak, rows / 2 * to_fill);
}

TEST(SpgemmPanels, HalvedUntilTheyFit) {
  const outcome o = product_of_identities(13 * to_fill);  // 100 rows: 12 and 13 at a time
  EXPECT_EQ(o.panels_counted, 2u);
  EXPECT_EQ(o.panels_filled, 8u);
  EXPECT_EQ(o.peak, 13 * to_fill);
  EXPECT_EQ(product_of_identities(to_fill).panels_filled, std::size_t{rows});
}

TEST(SpgemmPanels, LessThanARowIsRefused) {
  expect_error(status::out_of_memory, "row 0 needs at least 64 bytes", [] { product_of_identities(to_fill - 1); });
}

}  // namespace
}  // namespace tulle::test
