// Plans of C = M o (alpha A B) + beta D on a GPU: operands from either side in every state, against the exact product.
#include "cuda_test.hpp"
#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;

class SpgemmCuda : public CudaTest {
 protected:
  template <class T>
  any_csr<T> host(const any_csr<T>& c) const {
    return on_host(*gpu, c);
  }

  template <class T, class O>
  void operands_from_either_side() {
    for (const rows_are order_a : {rows_are::increasing, rows_are::shuffled, rows_are::repeating}) {
      for (const rows_are order_b : {rows_are::increasing, rows_are::shuffled, rows_are::repeating}) {
        SCOPED_TRACE(static_cast<int>(order_a) * 10 + static_cast<int>(order_b));
        product_from_either_side(random_sparse<T, O>(223, 131, 4, 1, order_a),
                                 random_sparse<T, O>(131, 319, 5, 2, order_b));
      }
    }
  }

  template <class T, class O>
  void product_from_either_side(const sparse<T, O>& a, const sparse<T, O>& b) {
    const exact_matrix exact = exact_product(a, b);
    expect_product<T>(host(spgemm_plan<T>(*gpu, a.view(), b.view()).multiply()), {223, 319}, exact);
    const auto on_gpu_a = clone(*gpu, a.view()), on_gpu_b = clone(*gpu, b.view());
    expect_product<T>(host(spgemm(*gpu, on_gpu_a, on_gpu_b)), {223, 319}, exact);
    const auto at = transposed(a), bt = transposed(b);
    spgemm_plan<T> turned(*gpu, at.view(), bt.view(), {.transpose_a = true, .transpose_b = true});
    expect_product<T>(host(turned.multiply()), {223, 319}, exact);
  }
};

TEST_F(SpgemmCuda, OperandsFromEitherSideF64I32) { operands_from_either_side<double, std::int32_t>(); }
TEST_F(SpgemmCuda, OperandsFromEitherSideF64I64) { operands_from_either_side<double, std::int64_t>(); }
TEST_F(SpgemmCuda, OperandsFromEitherSideF32I32) { operands_from_either_side<float, std::int32_t>(); }
TEST_F(SpgemmCuda, OperandsFromEitherSideF32I64) { operands_from_either_side<float, std::int64_t>(); }

TEST_F(SpgemmCuda, MaskAlphaAndDAndNewValues) {
  for (const rows_are order : {rows_are::increasing, rows_are::repeating}) {
    const auto a = random_sparse(223, 131, 4, 1), b = random_sparse(131, 319, 5, 2, order);
    const auto mask = random_sparse(223, 319, 9, 3, order), d = random_sparse(223, 319, 3, 4, order);
    auto a2 = a;
    for (double& v : a2.values) v = 1 - v;
    const auto a2_on_gpu = to_buffer<double>(*gpu, a2.values), b_on_gpu = to_buffer<double>(*gpu, b.values);
    for (int which = 0; which < 4; ++which) {
      SCOPED_TRACE(which);
      spgemm_terms<double, std::int64_t> terms;
      if (which & 1) terms.mask = mask.view();
      if (which & 2) terms.d = d.view();
      const auto* m = which & 1 ? &mask : nullptr;
      const auto* plus = which & 2 ? &d : nullptr;
      const double beta = which & 2 ? 0.3 : 0;
      spgemm_plan<double> plan(*gpu, a.view(), b.view(), {}, terms);
      any_csr<double> c = plan.multiply(-2.5, beta);
      expect_product<double>(host(c), {223, 319}, exact_product(a, b, -2.5, m, beta, plus));
      plan.update_values(a2_on_gpu.data(), b_on_gpu.data());
      plan.numeric(c, 2, beta);
      const exact_matrix exact = exact_product(a2, b, 2.0, m, beta, plus);
      expect_product<double>(host(c), {223, 319}, exact);
      expect_product<double>(host(plan.multiply(2, beta)), {223, 319}, exact);
    }
  }
}

TEST_F(SpgemmCuda, NamesTheBrokenOperandAndItsRow) {
  const auto a = random_sparse(23, 31, 4, 1);
  auto b = random_sparse(31, 19, 5, 2);
  b.colind[static_cast<std::size_t>(b.rowptr[2])] = 19;
  auto [code, message] = failure_of([&] { spgemm_plan<double>(*gpu, a.view(), b.view()); });
  EXPECT_EQ(code, status::invalid_structure);
  EXPECT_EQ(message.find("B: row 2"), 0u) << message;
  b.rowptr[3] = std::int64_t{1} << 40;
  std::tie(code, message) = failure_of([&] { spgemm_plan<double>(*gpu, a.view(), b.view()); });
  EXPECT_EQ(code, status::invalid_structure);
  EXPECT_EQ(message.find("B: row 2"), 0u) << message;
}

TEST_F(SpgemmCuda, NamesTheBrokenOperandWhateverItsSize) {
  for (const index_t rows : {40, 5000}) {
    SCOPED_TRACE(rows);
    auto a = random_sparse(rows, 310, 4, 1);
    const auto b = random_sparse(310, 190, 5, 2);
    const any_csr<double> good = host(spgemm_plan<double>(*gpu, a.view(), b.view()).multiply());
    const index_t was = std::exchange(a.colind[static_cast<std::size_t>(a.rowptr[33])], index_t{1} << 30);
    const auto [code, message] = failure_of([&] { spgemm_plan<double>(*gpu, a.view(), b.view()); });
    EXPECT_EQ(code, status::invalid_structure);
    EXPECT_EQ(message.find("A: row 33"), 0u) << message;
    a.colind[static_cast<std::size_t>(a.rowptr[33])] = was;
    EXPECT_TRUE(same_bits(host(spgemm_plan<double>(*gpu, a.view(), b.view()).multiply()), good));
  }
}

}  // namespace
}  // namespace tulle
