// What estimate_spgemm promises: C is no larger.
#include "cuda_test.hpp"
#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;

/// A product, and what was estimated before.
template <class T, class O>
class estimated_product {
 public:
  estimated_product(const context& ctx, csr<T, O>&& a, csr<T, O>&& b, const spgemm_options& options)
      : ctx_(ctx), a_(std::move(a)), b_(std::move(b)), options_(options) {}

  void expect_promises_kept() const {
    const spgemm_estimate e = estimate_spgemm(ctx_, a_, b_, options_);
    spgemm_plan<T> plan(ctx_, a_.view(), b_.view(), options_);
    const any_csr<T> c = plan.multiply();
    EXPECT_LE(bytes_of(c), e.c_bytes_bound);
    EXPECT_LE(plan.nnz(), e.nnz_bound);
    EXPECT_EQ(plan.products(), e.products);
  }

 private:
  context ctx_;
  csr<T, O> a_, b_;
  spgemm_options options_;
};

template <class T, class O>
void expect_promises_kept(const context& ctx, const sparse<T, O>& a, const sparse<T, O>& b,
                          const spgemm_options& options = {}) {
  estimated_product<T, O>(ctx, a.owned(ctx), b.owned(ctx), options).expect_promises_kept();
}

template <class T, class O>
void shapes_of(const context& ctx, const spgemm_options& options) {
  struct {
    index_t rows, inner, cols, in_a, in_b;
  } const all[] = {{0, 7, 5, 2, 2},     {7, 0, 5, 2, 2},       {7, 5, 0, 2, 2},        {1, 1, 1, 1, 1},
                   {300, 200, 1, 4, 1}, {200, 1, 300, 1, 90},  {1, 300, 2000, 90, 60}, {300, 200, 100'000, 9, 20},
                   {20, 300, 40, 0, 6}, {300, 300, 300, 1, 1}, {120, 200, 900, 60, 60}};
  for (const auto& s : all) {
    SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.inner) + " x " + std::to_string(s.cols));
    expect_promises_kept(ctx, random_sparse<T, O>(s.rows, s.inner, s.in_a, 1),
                         random_sparse<T, O>(s.inner, s.cols, s.in_b, 2), options);
  }
}

void shapes(const context& ctx) {
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    shapes_of<double, std::int32_t>(ctx, {.kernel = kernel});
    shapes_of<float, std::int32_t>(ctx, {.kernel = kernel});
  }
}

/// Offsets of 64 bits, which a plan keeps narrower copies of.
void wide_offsets(const context& ctx) { shapes_of<double, std::int64_t>(ctx, {}); }

/// Squares of generated matrices: more rows than are listed by class, and rows of many lengths.
void squares(const context& ctx) {
  for (const char* spec : {"gen:stencil:n=17,points=7", "gen:rmat:scale=11", "gen:banded:n=5000"}) {
    SCOPED_TRACE(spec);
    const auto made = generate<double>(context::cpu(2), spec);
    const auto m = with_offsets<std::int32_t>(context::cpu(2), made.view());
    estimated_product<double, std::int32_t>(ctx, clone(ctx, m.view()), clone(ctx, m.view()), {}).expect_promises_kept();
  }
}

/// Operands that the plan copies, which are large beside the product: B unsorted or to be transposed, then A.
void copied_operands(const context& ctx) {
  const auto few = random_sparse<double, std::int32_t>(9, 500, 3, 1);
  const auto many = random_sparse<double, std::int32_t>(500, 900, 60, 2),
             repeating = random_sparse<double, std::int32_t>(500, 900, 60, 2, rows_are::repeating);
  expect_promises_kept(ctx, few, repeating);
  expect_promises_kept(ctx, few, transposed(many), {.transpose_b = true});
  expect_promises_kept(ctx, transposed(many), random_sparse<double, std::int32_t>(900, 7, 1, 3), {.transpose_a = true});
}

void on_cpus(void (*check)(const context&)) {
  for (const int threads : {1, 2, 16}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    check(context::cpu(threads));
  }
}

TEST(SpgemmEstimate, EveryShape) { on_cpus(shapes); }
TEST(SpgemmEstimate, WideOffsets) { on_cpus(wide_offsets); }
TEST(SpgemmEstimate, Squares) { on_cpus(squares); }
TEST(SpgemmEstimate, CopiedOperands) { on_cpus(copied_operands); }

class SpgemmEstimateCuda : public CudaTest {};

TEST_F(SpgemmEstimateCuda, EveryShape) { shapes(*gpu); }
TEST_F(SpgemmEstimateCuda, WideOffsets) { wide_offsets(*gpu); }
TEST_F(SpgemmEstimateCuda, Squares) { squares(*gpu); }
TEST_F(SpgemmEstimateCuda, CopiedOperands) { copied_operands(*gpu); }

}  // namespace
}  // namespace tulle
