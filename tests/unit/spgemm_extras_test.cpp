// What comes with C = A B: masked and coordinate forms, wider offsets, R A P, and the estimate.
#include <tulle/io/generate.hpp>

#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

using matrix = plain_csr<>;

class SpgemmExtras : public on_backend {
 protected:
  [[nodiscard]] csr<double> placed(const matrix& m) const { return m.on(ctx()); }

  matrix three_at_once(const matrix& r, const matrix& m, const matrix& p, const spgemm_options& options = {}) const {
    return read_back(ctx(), triple_product(ctx(), placed(r), placed(m), placed(p), options));
  }
  /// (R A) P by two products, each of them whole.
  static matrix two_products(const context& ctx, const matrix& r, const matrix& m, const matrix& p) {
    const matrix ra = plain(ctx, spgemm(ctx, r.on(ctx), m.on(ctx)));
    return plain(ctx, spgemm(ctx, ra.on(ctx), p.on(ctx)));
  }

  /// The rows of one matrix above those of another.
  static matrix stacked(matrix top, const matrix& bottom, index_t cols) {
    const auto nnz = static_cast<std::int64_t>(top.values.size());
    top.rows += bottom.rows;
    top.cols = cols;
    for (index_t i = 0; i < bottom.rows; ++i) top.rowptr.push_back(nnz + bottom.rowptr[i + 1]);
    top.colind.insert(top.colind.end(), bottom.colind.begin(), bottom.colind.end());
    top.values.insert(top.values.end(), bottom.values.begin(), bottom.values.end());
    return top;
  }

  matrix a_ = random_csr(23, 31, 4, 1), b_ = random_csr(31, 19, 5, 2, rows_are::repeating);
};
TULLE_ON_BOTH_BACKENDS(SpgemmExtras);

TEST_P(SpgemmExtras, Masked) {
  const matrix mask = random_csr(23, 19, 8, 3, rows_are::shuffled);
  expect_product<double>({.a = a_.view(), .b = b_.view(), .mask = mask.view()}, ctx(),
                         spgemm_masked(ctx(), placed(a_), placed(b_), placed(mask)));
}

TEST_P(SpgemmExtras, TripleProductIsTwoProducts) {
  const matrix r = random_csr(11, 23, 5, 5, rows_are::repeating);
  const matrix expected = two_products(ctx(), r, a_, b_);
  EXPECT_TRUE(same_bits(three_at_once(r, a_, b_), expected));
  const auto i32 = [&](const matrix& m) { return with_offsets<std::int32_t>(ctx(), placed(m).view()); };
  EXPECT_TRUE(same_bits(read_back(ctx(), triple_product(ctx(), i32(r), i32(a_), i32(b_))), expected));

  const matrix p = random_csr(19, 12, 3, 6, rows_are::shuffled);
  expect_error(status::invalid_dimensions, "R is 11 x 23, A is 23 x 31 and P is 19 x 12: inner dimensions differ",
               [&] { three_at_once(r, a_, p); });
  matrix broken = b_;
  broken.colind[0] = -1;
  EXPECT_EQ(failure_of([&] { three_at_once(r, a_, broken); }).second.find("P: row 0"), 0u);
  EXPECT_EQ(status_of([&] { three_at_once(r, a_, b_, {.transpose_a = true}); }), status::invalid_argument);
}

/// R A has so many products that it comes in several panels, of 64 MB at most: 5.6 million entries. The first rows of
/// R A P have one entry, the others many, so that C outgrows what its first rows promise.
TEST_P(SpgemmExtras, TripleProductByPanels) {
  const matrix r = stacked(random_csr(300, 1000, 180, 7), random_csr(300, 2000, 180, 8), 2000);
  const matrix m = stacked(random_csr(1000, 300, 230, 9), random_csr(1000, 2000, 250, 10), 40'000);
  const matrix p = stacked(random_csr(300, 1, 1, 11), random_csr(39'700, 90, 1, 12), 90);
  ASSERT_GT(estimate_spgemm(ctx(), placed(r), placed(m)).c_bytes_bound, std::size_t{2 * 64} << 20);
  const matrix c = three_at_once(r, m, p);
  EXPECT_TRUE(same_bits(c, two_products(ctx(), r, m, p)));
  EXPECT_TRUE(same_bits(c, two_products(context::cpu(2), r, m, p))) << "other bits than the CPU's";
}

TEST_P(SpgemmExtras, EstimateBoundsAndCounts) {
  const spgemm_estimate small = estimate_spgemm(ctx(), placed(a_), placed(b_));
  EXPECT_EQ(small.nnz, plain(ctx(), spgemm(ctx(), placed(a_), placed(b_))).nnz()) << "so few rows are counted";
  for (const char* spec : {"gen:stencil:n=16,points=27", "gen:rmat:scale=11", "gen:banded:n=3000"}) {
    SCOPED_TRACE(spec);
    const auto m = clone(ctx(), generate<double>(context::cpu(2), spec).view());
    const spgemm_estimate e = estimate_spgemm(ctx(), m, m);
    spgemm_plan<double> plan(ctx(), m.view(), m.view());
    plan.symbolic();
    EXPECT_EQ(e.products, plan.products());
    EXPECT_GE(e.products, e.nnz_bound);
    EXPECT_GE(e.nnz_bound, plan.nnz());
    EXPECT_LE(e.nnz, e.nnz_bound);
    EXPECT_GT(e.nnz, plan.nnz() / 3);
    EXPECT_LT(e.nnz, plan.nnz() * 3);
    EXPECT_GE(e.c_bytes_bound, static_cast<std::size_t>(plan.nnz()) * 12);
  }
}

}  // namespace
}  // namespace tulle::test
