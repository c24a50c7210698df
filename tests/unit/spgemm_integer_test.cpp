// C = M o (alpha A B) + beta D of i32 values, by every kernel that takes them: exact modulo 2^32.
#include <tulle/io/generate.hpp>

#include "kernels/backends.hpp"
#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

using integers = plain_csr<std::int32_t, std::int32_t>;

/// The pattern with values from all of the 32 bits.
template <class M>
integers with_all_bits(const M& pattern, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  integers out{pattern.rows, pattern.cols, {pattern.rowptr.begin(), pattern.rowptr.end()}, pattern.colind};
  while (out.values.size() < out.colind.size()) out.values.push_back(static_cast<std::int32_t>(random()));
  return out;
}
integers random_integers(index_t rows, index_t cols, index_t per_row, std::uint64_t seed,
                         rows_are order = rows_are::increasing) {
  return with_all_bits(random_csr(rows, cols, per_row, seed, order), seed);
}
integers generated(const char* spec) { return with_all_bits(plain(generate<double>(context::cpu(2), spec)), 7); }

class SpgemmIntegers : public on_backend {
 protected:
  /// Whole, then its values alone, after others, by every kernel that is ours.
  void expect_exact(const integers& a, const integers& b, const integers* mask = nullptr, const integers* d = nullptr,
                    std::int32_t alpha = 1, std::int32_t beta = 0) const {
    for (const spgemm_kernel& kernel : spgemm_kernels(ctx().backend())) {
      SCOPED_TRACE(std::string(kernel.name));
      const spgemm_options options{.kernel = std::string(kernel.name)};
      if (!contains(kernel.types, type_key_of<std::int32_t, std::int32_t>)) {
        EXPECT_EQ(status_of([&] { spgemm(ctx(), a.on(ctx()), b.on(ctx()), options); }), status::unsupported);
        continue;
      }
      spgemm_expectation<std::int32_t, std::int32_t> expected{
          .a = a.view(), .b = b.view(), .alpha = alpha, .beta = beta};
      spgemm_terms terms;
      if (mask) expected.mask = mask->view(), terms.mask = mask->on(ctx());
      if (d) expected.d = d->view(), terms.d = d->on(ctx());
      spgemm_plan<std::int32_t> plan(ctx(), a.on(ctx()), b.on(ctx()), options, terms);
      expect_plan(plan, expected);
    }
  }
};
TULLE_ON_BOTH_BACKENDS(SpgemmIntegers);

TEST_P(SpgemmIntegers, EveryShape) {
  for (const char* spec : {"gen:stencil:n=9,points=27", "gen:rmat:scale=9", "gen:fem:n=3", "gen:banded:n=600"}) {
    SCOPED_TRACE(spec);
    const integers m = generated(spec);
    expect_exact(m, m);
  }
  expect_exact(random_integers(60, 300, 40, 1), random_integers(300, 2'000'000, 50, 2));  // far columns
  expect_exact(random_integers(0, 7, 2, 1), random_integers(7, 5, 2, 2));
}

TEST_P(SpgemmIntegers, EveryTerm) {
  const integers a = random_integers(90, 70, 9, 1), b = random_integers(70, 80, 12, 2),
                 mask = random_integers(90, 80, 20, 3), d = random_integers(90, 80, 4, 4);
  expect_exact(a, b, nullptr, nullptr, -5);
  expect_exact(a, b, &mask, nullptr, 1 << 30);
  expect_exact(a, b, nullptr, &d, 7, -3);
  expect_exact(a, b, &mask, &d, 7, -3);
}

/// What is copied, sorted and added up before the product.
TEST_P(SpgemmIntegers, EveryOperand) {
  const integers a = random_integers(90, 70, 9, 1, rows_are::repeating),
                 b = random_integers(70, 80, 12, 2, rows_are::repeating);
  expect_exact(a, b);
  const auto on_a = transposed(a).on(ctx()), on_b = transposed(b).on(ctx());
  expect_product<std::int32_t, std::int32_t>({.a = a.view(), .b = b.view()}, ctx(),
                                             spgemm(ctx(), on_a, on_b, {.transpose_a = true, .transpose_b = true}));
}

TEST_P(SpgemmIntegers, ByPanels) {
  const auto m = generated("gen:rmat:scale=9").on(ctx());
  const matrix_ref square = spgemm(ctx(), m, m);
  const auto whole = read_back<std::int32_t>(ctx(), square);
  EXPECT_TRUE(same_bits(read_back<std::int32_t>(ctx(), spgemm(ctx(), m, m, {.memory_limit = std::size_t{1} << 17})), whole));
  const auto left = spgemm(ctx(), m, square);
  EXPECT_TRUE(same_bits(read_back<std::int32_t>(ctx(), triple_product(ctx(), m, m, m)), read_back<std::int32_t>(ctx(), left)));
}

}  // namespace
}  // namespace tulle::test
