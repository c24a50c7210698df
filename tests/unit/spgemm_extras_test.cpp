// What comes with C = A B: masked and coordinate forms, wider offsets, R A P, and the estimate.
#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;

class SpgemmExtras : public ::testing::Test {
 protected:
  context ctx = context::cpu(2);
  sparse<double, std::int64_t> a = random_sparse(23, 31, 4, 1), b = random_sparse(31, 19, 5, 2, rows_are::repeating);
};

/// A product as a plain matrix, to multiply again.
sparse<double, std::int64_t> plain(const context& ctx, any_csr<double>&& c) {
  const auto wide = widen(ctx, std::move(c));
  return {wide.rows, wide.cols, to_vector(ctx, wide.rowptr), to_vector(ctx, wide.colind), to_vector(ctx, wide.values)};
}

TEST_F(SpgemmExtras, Masked) {
  const auto mask = random_sparse(23, 19, 8, 3, rows_are::shuffled);
  expect_product<double>(spgemm_masked(ctx, a.owned(ctx), b.owned(ctx), mask.owned(ctx)), {23, 19},
                         exact_product(a, b, 1.0, &mask));
}

TEST_F(SpgemmExtras, WidenKeepsTheMatrix) {
  const auto wide = widen(ctx, spgemm(ctx, a.owned(ctx), b.owned(ctx)));
  expect_product<double>(clone(ctx, wide.view()), {23, 19}, exact_product(a, b));
  EXPECT_EQ(widen(ctx, any_csr<double>(clone(ctx, wide.view()))).nnz(), wide.nnz());
}

TEST_F(SpgemmExtras, CoordinatesAreThoseOfTheCsr) {
  const auto c = spgemm_coo(ctx, a.owned(ctx), b.owned(ctx));
  const exact_matrix exact = exact_product(a, b);
  ASSERT_EQ(static_cast<std::size_t>(c.nnz()), exact.size());
  std::size_t k = 0;
  for (const auto& [place, entry] : exact) {
    EXPECT_EQ(std::pair(c.rowind.data()[k], c.colind.data()[k]), place);
    ++k;
  }
}

TEST_F(SpgemmExtras, TripleProductIsTwoProducts) {
  const auto r = random_sparse(11, 23, 5, 5, rows_are::repeating), p = random_sparse(19, 12, 3, 6, rows_are::shuffled);
  for (const bool narrow : {false, true}) {
    const auto times = [&](const auto& x, const auto& y) { return spgemm(ctx, x, y); };
    const auto ra = plain(ctx, times(r.owned(ctx), a.owned(ctx)));
    const auto rab = plain(ctx, times(ra.owned(ctx), b.owned(ctx)));
    const any_csr<double> expected = times(ra.owned(ctx), b.owned(ctx));
    any_csr<double> c = triple_product(ctx, r.owned(ctx), a.owned(ctx), b.owned(ctx));
    EXPECT_TRUE(same_bits(c, expected));
    if (!narrow) continue;
    const auto i32 = [&](const auto& m) { return with_offsets<std::int32_t>(ctx, m.view()); };
    EXPECT_TRUE(same_bits(triple_product(ctx, i32(r), i32(a), i32(b)), expected));
  }
  const auto [code, message] = failure_of([&] { triple_product(ctx, r.owned(ctx), a.owned(ctx), p.owned(ctx)); });
  EXPECT_EQ(code, status::invalid_dimensions);
  EXPECT_EQ(message, "R is 11 x 23, A is 23 x 31 and P is 19 x 12: inner dimensions differ");
  auto broken = b.owned(ctx);
  broken.colind.data()[0] = -1;
  EXPECT_EQ(failure_of([&] { triple_product(ctx, r.owned(ctx), a.owned(ctx), broken); }).second.find("P: row 0"), 0u);
  EXPECT_EQ(
      failure_of([&] { triple_product(ctx, r.owned(ctx), a.owned(ctx), b.owned(ctx), {.transpose_a = true}); }).first,
      status::invalid_argument);
}

/// R A has so many entries that it comes in several panels: 64 MB are 5.6 million entries.
TEST_F(SpgemmExtras, TripleProductByPanels) {
  const auto r = random_sparse(3000, 2000, 60, 7), m = random_sparse(2000, 40'000, 60, 8),
             p = random_sparse(40'000, 90, 1, 9);
  const auto ra = widen(ctx, spgemm(ctx, r.owned(ctx), m.owned(ctx)));
  const any_csr<double> expected = spgemm(ctx, ra, p.owned(ctx));
  EXPECT_TRUE(same_bits(triple_product(ctx, r.owned(ctx), m.owned(ctx), p.owned(ctx)), expected));
}

TEST_F(SpgemmExtras, EstimateBoundsAndCounts) {
  const spgemm_estimate small = estimate_spgemm(ctx, a.owned(ctx), b.owned(ctx));
  EXPECT_EQ(small.nnz, static_cast<std::int64_t>(exact_product(a, b).size())) << "so few rows are counted";
  for (const char* spec : {"gen:stencil:n=16,points=27", "gen:rmat:scale=11", "gen:banded:n=3000"}) {
    SCOPED_TRACE(spec);
    const auto m = generate<double>(ctx, spec);
    const spgemm_estimate e = estimate_spgemm(ctx, m, m);
    spgemm_plan<double> plan(ctx, m.view(), m.view());
    plan.symbolic();
    EXPECT_EQ(e.products, plan.products());
    EXPECT_GE(e.products, e.nnz_bound);
    EXPECT_GE(e.nnz_bound, plan.nnz());
    EXPECT_LE(e.nnz, e.nnz_bound);
    EXPECT_GT(e.nnz, plan.nnz() / 3);
    EXPECT_LT(e.nnz, plan.nnz() * 3);
    EXPECT_GE(e.c_bytes_bound, static_cast<std::size_t>(plan.nnz()) * 12);
    EXPECT_GE(e.workspace_bytes, e.least_memory_limit);
    EXPECT_GT(e.least_memory_limit, 0u);
  }
}

}  // namespace
}  // namespace tulle
