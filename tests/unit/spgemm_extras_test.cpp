// What comes with C = A B: masked and coordinate forms, wider offsets, R A P, and the estimate.
#include "cuda_test.hpp"
#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;
using matrix = sparse<double, std::int64_t>;

/// The tests of either backend.
class extras {
 public:
  explicit extras(const context& ctx) : ctx_(ctx) {}

  void masked() const {
    const matrix mask = random_sparse(23, 19, 8, 3, rows_are::shuffled);
    expect_product<double>(on_host(ctx_, spgemm_masked(ctx_, on_backend(a_), on_backend(b_), on_backend(mask))),
                           {23, 19}, exact_product(a_, b_, 1.0, &mask));
  }

  void widened() const {
    const auto wide = widen(ctx_, spgemm(ctx_, on_backend(a_), on_backend(b_)));
    expect_product<double>(on_host<double>(ctx_, clone(ctx_, wide.view())), {23, 19}, exact_product(a_, b_));
    EXPECT_EQ(widen(ctx_, any_csr<double>(clone(ctx_, wide.view()))).nnz(), wide.nnz());
  }

  template <class T, class O>
  void coordinates() const {
    const auto x = random_sparse<T, O>(123, 231, 4, 1, rows_are::shuffled);
    const auto y = random_sparse<T, O>(231, 119, 5, 2, rows_are::repeating);
    expect_coordinates(spgemm_coo(ctx_, x.owned(ctx_), y.owned(ctx_)), {123, 119}, exact_product(x, y));
    const sparse<T, O> empty = random_sparse<T, O>(231, 119, 0, 3);
    expect_coordinates(spgemm_coo(ctx_, x.owned(ctx_), empty.owned(ctx_)), {123, 119}, {});
  }

  void triple_product_is_two_products() const {
    const matrix r = random_sparse(11, 23, 5, 5, rows_are::repeating);
    const any_csr<double> expected = two_products(ctx_, r, a_, b_);
    EXPECT_TRUE(same_bits(three_at_once(r, a_, b_), expected));
    const auto i32 = [&](const matrix& m) { return with_offsets<std::int32_t>(ctx_, on_backend(m).view()); };
    EXPECT_TRUE(same_bits(on_host(ctx_, triple_product(ctx_, i32(r), i32(a_), i32(b_))), expected));

    const matrix p = random_sparse(19, 12, 3, 6, rows_are::shuffled);
    const auto [code, message] = failure_of([&] { three_at_once(r, a_, p); });
    EXPECT_EQ(code, status::invalid_dimensions);
    EXPECT_EQ(message, "R is 11 x 23, A is 23 x 31 and P is 19 x 12: inner dimensions differ");
    matrix broken = b_;
    broken.colind[0] = -1;
    EXPECT_EQ(failure_of([&] { three_at_once(r, a_, broken); }).second.find("P: row 0"), 0u);
    EXPECT_EQ(failure_of([&] { three_at_once(r, a_, b_, {.transpose_a = true}); }).first, status::invalid_argument);
  }

  /// R A has so many products that it comes in several panels, of 64 MB at most: 5.6 million entries. The first rows of
  /// R A P have one entry, the others many, so that C outgrows what its first rows promise.
  void triple_product_by_panels() const {
    const matrix r = stacked(random_sparse(300, 1000, 180, 7), random_sparse(300, 2000, 180, 8), 2000);
    const matrix m = stacked(random_sparse(1000, 300, 230, 9), random_sparse(1000, 2000, 250, 10), 40'000);
    const matrix p = stacked(random_sparse(300, 1, 1, 11), random_sparse(39'700, 90, 1, 12), 90);
    ASSERT_GT(estimate_spgemm(ctx_, on_backend(r), on_backend(m)).c_bytes_bound, std::size_t{2 * 64} << 20);
    const any_csr<double> c = three_at_once(r, m, p);
    EXPECT_TRUE(same_bits(c, two_products(ctx_, r, m, p)));
    EXPECT_TRUE(same_bits(c, two_products(context::cpu(2), r, m, p))) << "other bits than the CPU's";
  }

  void estimate_bounds_and_counts() const {
    const spgemm_estimate small = estimate_spgemm(ctx_, on_backend(a_), on_backend(b_));
    EXPECT_EQ(small.nnz, static_cast<std::int64_t>(exact_product(a_, b_).size())) << "so few rows are counted";
    for (const char* spec : {"gen:stencil:n=16,points=27", "gen:rmat:scale=11", "gen:banded:n=3000"}) {
      SCOPED_TRACE(spec);
      const auto m = clone(ctx_, generate<double>(context::cpu(2), spec).view());
      const spgemm_estimate e = estimate_spgemm(ctx_, m, m);
      spgemm_plan<double> plan(ctx_, m.view(), m.view());
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

 private:
  [[nodiscard]] csr<double> on_backend(const matrix& m) const { return m.owned(ctx_); }

  template <class T>
  void expect_coordinates(const coo<T>& c, shape s, const exact_matrix& exact) const {
    EXPECT_EQ(c.rows, s.rows);
    EXPECT_EQ(c.cols, s.cols);
    ASSERT_EQ(static_cast<std::size_t>(c.nnz()), exact.size());
    const auto rowind = to_vector(ctx_, c.rowind), colind = to_vector(ctx_, c.colind);
    const auto values = to_vector(ctx_, c.values);
    ASSERT_EQ(rowind.size(), exact.size());
    ASSERT_EQ(colind.size(), exact.size());
    std::size_t k = 0;
    for (const auto& expected : exact) {
      ASSERT_EQ(std::pair(rowind[k], colind[k]), expected.first);
      expect_value(values[k++], expected);
    }
  }

  any_csr<double> three_at_once(const matrix& r, const matrix& m, const matrix& p,
                                const spgemm_options& options = {}) const {
    return on_host(ctx_, triple_product(ctx_, on_backend(r), on_backend(m), on_backend(p), options));
  }
  /// (R A) P by two products, each of them whole.
  static any_csr<double> two_products(const context& ctx, const matrix& r, const matrix& m, const matrix& p) {
    const auto ra = widen(ctx, spgemm(ctx, r.owned(ctx), m.owned(ctx)));
    return on_host(ctx, spgemm(ctx, ra, p.owned(ctx)));
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

  context ctx_;
  matrix a_ = random_sparse(23, 31, 4, 1), b_ = random_sparse(31, 19, 5, 2, rows_are::repeating);
};

extras on_cpu() { return extras(context::cpu(2)); }

TEST(SpgemmExtras, Masked) { on_cpu().masked(); }
TEST(SpgemmExtras, WidenKeepsTheMatrix) { on_cpu().widened(); }
TEST(SpgemmExtras, CoordinatesAreThoseOfTheCsr) {
  on_cpu().coordinates<double, std::int64_t>();
  on_cpu().coordinates<float, std::int32_t>();
}
TEST(SpgemmExtras, TripleProductIsTwoProducts) { on_cpu().triple_product_is_two_products(); }
TEST(SpgemmExtras, TripleProductByPanels) { on_cpu().triple_product_by_panels(); }
TEST(SpgemmExtras, EstimateBoundsAndCounts) { on_cpu().estimate_bounds_and_counts(); }

class SpgemmExtrasCuda : public CudaTest {
 protected:
  [[nodiscard]] extras on_gpu() const { return extras(*gpu); }
};

TEST_F(SpgemmExtrasCuda, Masked) { on_gpu().masked(); }
TEST_F(SpgemmExtrasCuda, WidenKeepsTheMatrix) { on_gpu().widened(); }
TEST_F(SpgemmExtrasCuda, CoordinatesAreThoseOfTheCsr) {
  on_gpu().coordinates<double, std::int64_t>();
  on_gpu().coordinates<float, std::int32_t>();
}
TEST_F(SpgemmExtrasCuda, TripleProductIsTwoProducts) { on_gpu().triple_product_is_two_products(); }
TEST_F(SpgemmExtrasCuda, TripleProductByPanels) { on_gpu().triple_product_by_panels(); }
TEST_F(SpgemmExtrasCuda, EstimateBoundsAndCounts) { on_gpu().estimate_bounds_and_counts(); }

}  // namespace
}  // namespace tulle
