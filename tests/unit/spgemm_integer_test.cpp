// C = M o (alpha A B) + beta D of i32 values, by every kernel that takes them: exact modulo 2^32.
#include <cstdint>
#include <map>
#include <random>
#include <tulle/io/generate.hpp>
#include <utility>

#include "core/backends.hpp"
#include "cuda_test.hpp"
#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;
using integers = sparse<std::int32_t, std::int32_t>;
using exact_integers = std::map<std::pair<index_t, index_t>, std::uint32_t>;

/// The pattern with values from all of the 32 bits.
template <class M>
integers with_all_bits(const M& pattern, unsigned seed) {
  std::mt19937 random(seed);
  integers out{pattern.rows, pattern.cols, {}, {pattern.colind.begin(), pattern.colind.end()}, {}};
  out.rowptr.assign(pattern.rowptr.begin(), pattern.rowptr.end());
  for (std::size_t k = 0; k < out.colind.size(); ++k) out.values.push_back(static_cast<std::int32_t>(random()));
  return out;
}
integers random_integers(index_t rows, index_t cols, index_t per_row, unsigned seed,
                         rows_are order = rows_are::increasing) {
  return with_all_bits(random_sparse<double, std::int32_t>(rows, cols, per_row, seed, order), seed);
}
integers generated(const char* spec) {
  const csr<double> made = generate<double>(context::cpu(2), spec);
  sparse<double, std::int64_t> m{
      made.rows, made.cols, to_vector(context::cpu(), made.rowptr), to_vector(context::cpu(), made.colind), {}};
  return with_all_bits(m, 7);
}

struct terms {
  const integers* mask = nullptr;
  const integers* d = nullptr;
  std::int32_t alpha = 1;
  std::int32_t beta = 0;
};

exact_integers expected(const integers& a, const integers& b, const terms& t) {
  const auto at = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
  exact_integers c;
  for (index_t i = 0; i < a.rows; ++i) {
    for (auto k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      for (auto l = b.rowptr[a.colind[k]]; l < b.rowptr[a.colind[k] + 1]; ++l) {
        const auto in = [&](const integers& m) {
          return std::find(m.colind.begin() + m.rowptr[i], m.colind.begin() + m.rowptr[i + 1], b.colind[l]) !=
                 m.colind.begin() + m.rowptr[i + 1];
        };
        if (t.mask == nullptr || in(*t.mask)) c[{i, b.colind[l]}] += at(t.alpha) * at(a.values[k]) * at(b.values[l]);
      }
    }
    for (auto k = t.d ? t.d->rowptr[i] : 0; t.d && k < t.d->rowptr[i + 1]; ++k) {
      c[{i, t.d->colind[k]}] += at(t.beta) * at(t.d->values[k]);
    }
  }
  return c;
}

exact_integers entries_of(const context& ctx, const any_csr<std::int32_t>& made) {
  exact_integers entries;
  const any_csr<std::int32_t> c = on_host(ctx, made);
  std::visit(
      [&](const auto& m) {
        for (index_t i = 0; i < m.rows; ++i) {
          for (auto k = m.rowptr.data()[i]; k < m.rowptr.data()[i + 1]; ++k) {
            entries[{i, m.colind.data()[k]}] = static_cast<std::uint32_t>(m.values.data()[k]);
          }
        }
      },
      c);
  return entries;
}

/// Whole, then its values alone, after others, by every kernel that is ours.
void expect_exact(const context& ctx, const integers& a, const integers& b, const terms& t = {}) {
  const exact_integers exact = expected(a, b, t);
  for (const spgemm_kernel& kernel : spgemm_kernels(ctx.backend())) {
    SCOPED_TRACE(std::string(kernel.name));
    const auto on_a = a.owned(ctx), on_b = b.owned(ctx);
    const spgemm_options options{.kernel = std::string(kernel.name)};
    if (!contains(kernel.types, type_key_of<std::int32_t, std::int32_t>)) {
      EXPECT_EQ(failure_of([&] { spgemm(ctx, on_a, on_b, options); }).first, status::unsupported);
      continue;
    }
    const auto on_mask = (t.mask ? *t.mask : b).owned(ctx), on_d = (t.d ? *t.d : b).owned(ctx);
    spgemm_terms<std::int32_t, std::int32_t> more;
    if (t.mask) more.mask = on_mask.view();
    if (t.d) more.d = on_d.view();
    spgemm_plan<std::int32_t> plan(ctx, on_a.view(), on_b.view(), options, more);
    any_csr<std::int32_t> c = plan.multiply(t.alpha, t.beta);
    EXPECT_TRUE(entries_of(ctx, c) == exact);
    plan.numeric(c, 3);
    plan.numeric(c, t.alpha, t.beta);
    EXPECT_TRUE(entries_of(ctx, c) == exact);
  }
}

void every_shape(const context& ctx) {
  for (const char* spec : {"gen:stencil:n=9,points=27", "gen:rmat:scale=9", "gen:fem:n=3", "gen:banded:n=600"}) {
    SCOPED_TRACE(spec);
    const integers m = generated(spec);
    expect_exact(ctx, m, m);
  }
  expect_exact(ctx, random_integers(60, 300, 40, 1), random_integers(300, 2'000'000, 50, 2));  // far columns
  expect_exact(ctx, random_integers(0, 7, 2, 1), random_integers(7, 5, 2, 2));
}

void every_term(const context& ctx) {
  const integers a = random_integers(90, 70, 9, 1), b = random_integers(70, 80, 12, 2);
  const integers mask = random_integers(90, 80, 20, 3), d = random_integers(90, 80, 4, 4);
  expect_exact(ctx, a, b, {.alpha = -5});
  expect_exact(ctx, a, b, {.mask = &mask, .alpha = 1 << 30});
  expect_exact(ctx, a, b, {.d = &d, .alpha = 7, .beta = -3});
  expect_exact(ctx, a, b, {.mask = &mask, .d = &d, .alpha = 7, .beta = -3});
}

/// What is copied, sorted and added up before the product.
void every_operand(const context& ctx) {
  const integers a = random_integers(90, 70, 9, 1, rows_are::repeating);
  const integers b = random_integers(70, 80, 12, 2, rows_are::repeating);
  expect_exact(ctx, a, b);
  const auto on_a = transposed(a).owned(ctx), on_b = transposed(b).owned(ctx);
  const spgemm_options both{.transpose_a = true, .transpose_b = true};
  EXPECT_TRUE(entries_of(ctx, spgemm(ctx, on_a, on_b, both)) == expected(a, b, {}));
}

void by_panels(const context& ctx) {
  const auto m = generated("gen:rmat:scale=9").owned(ctx);
  const any_csr<std::int32_t> whole = on_host(ctx, spgemm(ctx, m, m));
  EXPECT_TRUE(same_bits(on_host(ctx, spgemm(ctx, m, m, {.memory_limit = std::size_t{1} << 17})), whole));
  const any_csr<std::int32_t> left = spgemm(ctx, m, std::get<csr<std::int32_t, std::int32_t>>(spgemm(ctx, m, m)));
  EXPECT_TRUE(same_bits(on_host(ctx, triple_product(ctx, m, m, m)), on_host(ctx, left)));
}

TEST(SpgemmIntegers, EveryShape) { every_shape(context::cpu(3)); }
TEST(SpgemmIntegers, EveryTerm) { every_term(context::cpu(3)); }
TEST(SpgemmIntegers, EveryOperand) { every_operand(context::cpu(3)); }
TEST(SpgemmIntegers, ByPanels) { by_panels(context::cpu(3)); }

class SpgemmIntegersCuda : public CudaTest {};

TEST_F(SpgemmIntegersCuda, EveryShape) { every_shape(*gpu); }
TEST_F(SpgemmIntegersCuda, EveryTerm) { every_term(*gpu); }
TEST_F(SpgemmIntegersCuda, EveryOperand) { every_operand(*gpu); }
TEST_F(SpgemmIntegersCuda, ByPanels) { by_panels(*gpu); }

}  // namespace
}  // namespace tulle
