// R A P is two products, whole and by panels.
#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

using matrix = plain_csr<>;

class TripleProduct : public on_backend {
 protected:
  matrix three_at_once(const matrix& r, const matrix& m, const matrix& p, const spgemm_options& options = {}) const {
    return read_back(ctx(), triple_product(ctx(), r.on(ctx()), m.on(ctx()), p.on(ctx()), options));
  }
  /// (R A) P by two products, each of them whole.
  static matrix two_products(const context& ctx, const matrix& r, const matrix& m, const matrix& p) {
    return plain(ctx, spgemm(ctx, spgemm(ctx, r.on(ctx), m.on(ctx)), p.on(ctx)));
  }

  /// The rows of one matrix above those of another.
  static matrix stacked(matrix top, const matrix& bottom, index_t cols) {
    const auto begin = bottom.colind.begin();
    for (index_t i = 0; i < bottom.rows; ++i) top.add_row({begin + bottom.rowptr[i], begin + bottom.rowptr[i + 1]});
    top.cols = cols;
    top.values.insert(top.values.end(), bottom.values.begin(), bottom.values.end());
    return top;
  }

  matrix a_ = random_csr(23, 31, 4, 1), b_ = random_csr(31, 19, 5, 2, rows_are::repeating);
};
TULLE_ON_BOTH_BACKENDS(TripleProduct);

TEST_P(TripleProduct, IsTwoProducts) {
  const matrix r = random_csr(11, 23, 5, 5, rows_are::repeating);
  const matrix expected = two_products(ctx(), r, a_, b_);
  EXPECT_TRUE(same_bits(three_at_once(r, a_, b_), expected));
  const auto i32 = [&](const matrix& m) { return with_offsets<std::int32_t>(ctx(), m.on(ctx()).view()); };
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
TEST_P(TripleProduct, ByPanels) {
  const matrix r = stacked(random_csr(300, 1000, 180, 7), random_csr(300, 2000, 180, 8), 2000);
  const matrix m = stacked(random_csr(1000, 300, 230, 9), random_csr(1000, 2000, 250, 10), 40'000);
  const matrix p = stacked(random_csr(300, 1, 1, 11), random_csr(39'700, 90, 1, 12), 90);
  ASSERT_GT(estimate_spgemm(ctx(), r.on(ctx()), m.on(ctx())).c_bytes_bound, std::size_t{2 * 64} << 20);
  const matrix c = three_at_once(r, m, p);
  EXPECT_TRUE(same_bits(c, two_products(ctx(), r, m, p)));
  EXPECT_TRUE(same_bits(c, two_products(context::cpu(2), r, m, p))) << "other bits than the CPU's";
}

}  // namespace
}  // namespace tulle::test
