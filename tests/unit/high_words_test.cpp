// Values as two words: that both give the bits of before, and what the high ones alone lose.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "kernels/value_words.hpp"
#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/errors.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_normal = std::numeric_limits<double>::min();
constexpr double most = std::numeric_limits<double>::max();
/// From here on no double of 21 bits is as near as infinity.
constexpr double too_large = (2 - 0x1p-21) * 0x1p1023;

/// v in 21 bits by arithmetic, ties away from 0, as wide as f64's exponents go.
double rounded(double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  const int last = std::max(std::ilogb(v) - 20, -1074 + 32);
  return std::ldexp(std::round(std::ldexp(v, -last)), last);
}
double high_of(double v) { return from_high(words_of(v).high); }

std::vector<double> numbers() {
  std::vector<double> all{0.0,
                          -0.0,
                          1.0,
                          1 - 0x1p-53,
                          1 + 0x1p-20,
                          1 + 0x1p-21,
                          1 + 0x3p-21,
                          2 - 0x1p-21,
                          2 - 0x1p-52,
                          5e-324,
                          least_normal,
                          least_normal - 5e-324,
                          0x1p-1043,
                          0x1.8p-1042,
                          most,
                          too_large,
                          std::nextafter(too_large, 0),
                          1e300,
                          1e-300,
                          infinity,
                          std::bit_cast<double>(0x3ff000007fffffffu),
                          std::bit_cast<double>(0x3ff0000080000000u),
                          std::bit_cast<double>(0x3fffffffffffffffu)};
  for (const double v : random_numbers(20'000, 3)) {
    for (const double by : {1.0, 1e-300, 1e300, 0x1p-1030, 0x1p-1060}) all.push_back(v * by);
  }
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) all.push_back(-all[i]);
  return all;
}

TEST(ValueWords, TogetherAreTheNumber) {
  for (const double v : numbers()) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(from_words(words_of(v))), std::bit_cast<std::uint64_t>(v)) << v;
  }
}

TEST(ValueWords, HighOnesAreTheNearest) {
  for (const double v : numbers()) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(high_of(v)), std::bit_cast<std::uint64_t>(rounded(v))) << v;
    if (!std::isfinite(v) || std::abs(v) >= too_large) continue;
    EXPECT_LE(std::abs(v - high_of(v)), std::max(0x1p-21 * std::abs(v), 0x1p-1043)) << v;
  }
  EXPECT_EQ(high_of(most), infinity);
  EXPECT_EQ(high_of(-too_large), -infinity);
  EXPECT_LT(high_of(std::nextafter(too_large, 0)), infinity);
}

TEST(ValueWords, NansStayNans) {
  for (const std::uint64_t bits :
       {0x7ff0000000000001u, 0x7ff0000080000000u, 0x7ff00000ffffffffu, 0x7ff8000000000000u, 0x7fffffffffffffffu,
        0xffffffffffffffffu, 0xfff0000000000001u, 0xffffffff80000000u}) {
    const double v = std::bit_cast<double>(bits);
    EXPECT_TRUE(std::isnan(high_of(v)) && std::isnan(from_words(words_of(v)))) << std::hex << bits;
    EXPECT_EQ(std::signbit(high_of(v)), std::signbit(v));
  }
}

const spmv_options whole = {.kernel = "packed"};
const spmv_options words = {.kernel = "packed", .high_words = true};

/// Diagonals, short rows of all lengths in any order, long ones, none.
std::vector<plain_csr<>> patterns() {
  return {stencil27(12), banded("", 5000, 4), random_rows("", 700, 900, [](index_t row) { return row % 71; }),
          random_csr(3000, 3000, 9, 5, rows_are::shuffled), plain_csr<>{3, 3, {0, 0, 0, 0}, {}, {}}};
}
plain_csr<> filled(plain_csr<> m, double (*make)(double)) {
  const std::vector<double> random = random_numbers(m.values.size(), 7);
  for (std::size_t i = 0; i < random.size(); ++i) m.values[i] = make(random[i]);
  return m;
}
plain_csr<> rounded(plain_csr<> m) {
  for (double& v : m.values) v = rounded(v);
  return m;
}
constexpr double (*kinds[])(double) = {
    [](double v) { return v; }, [](double v) { return v * 1e-310; },
    [](double v) {
      return v < -0.9 ? v * 1e300 : v < -0.8 ? v * 1e-300 : v < -0.7 ? -0.0 : v;
    },
    [](double v) { return v < -0.999   ? infinity
                          : v < -0.998 ? std::bit_cast<double>(0x7ff8000000000000u)
                                       : v; }};

/// What an operator's passes leave: A x twice, with dot products and Jacobi's steps where A is square.
std::vector<std::vector<double>> results(const linear_operator& op) {
  const context& ctx = op.ctx();
  const auto [rows, cols] = op.dimensions();
  const auto random = [&](index_t size, std::uint64_t seed) {
    return to_buffer(ctx, random_numbers(static_cast<std::size_t>(size), seed));
  };
  const buffer<double> x = random(cols, 1), w = random(rows, 2), d = random(rows, 3);
  buffer<double> y(ctx, w.size()), dots(ctx, 2);
  std::vector<std::vector<double>> all;
  const auto keep = [&](const buffer<double>& v) { all.push_back(to_vector(ctx, v)); };
  op.apply(1, x, 0, y), keep(y);
  op.apply(2, x, -1, y), keep(y);
  op.apply_dots(1, x, 0, y, w, dots), keep(y), keep(dots);
  if (rows == cols) op.jacobi(0.5, x, w, d, y), keep(y);
  return all;
}
void expect_same_bits(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_numbers(a[i], b[i])) << "pass " << i;
}
std::string storage_of(const any_spmv_plan& plan) { return std::string(plan.stored().shares[0].storage); }

class HighWords : public on_backend {
 protected:
  /// Words of `words_of` give the bits of `a`, high ones those of `a` rounded.
  void expect_words_of(const plain_csr<>& a, const any_spmv_plan& plan) {
    const csr<double> exact = a.on(ctx()), near = rounded(a).on(ctx());
    expect_same_bits(results(plan), results(any_spmv_plan(ctx(), exact, whole)));
    expect_same_bits(results(plan.high_words()), results(any_spmv_plan(ctx(), near, whole)));
  }
};

TEST_P(HighWords, GiveTheBitsOfBefore) {
  for (const plain_csr<>& pattern : patterns()) {
    for (const auto& kind : kinds) {
      const csr<double> a = filled(pattern, kind).on(ctx());
      const any_spmv_plan plan(ctx(), a, words);
      EXPECT_EQ(storage_of(plan), "words");
      EXPECT_EQ(plan.stored().lost, 0);
      expect_words_of(filled(pattern, kind), plan);
    }
  }
}

/// As many bytes as before, and for the high ones 4 less for each value.
TEST_P(HighWords, TakeNoMoreBytes) {
  const csr<double> a = filled(stencil27(12), kinds[0]).on(ctx());
  const any_spmv_plan plan(ctx(), a, words), before(ctx(), a, whole);
  const auto values = static_cast<std::size_t>(a.nnz());
  EXPECT_LE(plan.matrix_bytes(), before.matrix_bytes() + 256);
  EXPECT_LE(plan.high_words_bytes() + 4 * values, plan.matrix_bytes());
  EXPECT_EQ(before.high_words_bytes(), before.matrix_bytes());
  EXPECT_EQ(&before.high_words(), &before);
}

TEST_P(HighWords, FollowNewValues) {
  const plain_csr<> pattern = random_csr(3000, 3000, 9, 5, rows_are::shuffled);
  const csr<double> first = filled(pattern, kinds[0]).on(ctx()), other = filled(pattern, kinds[2]).on(ctx());
  any_spmv_plan plan(ctx(), first, words);
  const linear_operator& high = plan.high_words();
  plan.update_values(other.values);
  expect_words_of(filled(pattern, kinds[2]), plan);
  EXPECT_EQ(&plan.high_words(), &high);
  any_spmv_plan moved = std::move(plan);
  moved.update_values(first.values);
  expect_words_of(filled(pattern, kinds[0]), moved);
}

/// Values of one thread that fill a cache, and are floats, are stored so: then high words are no others.
TEST_P(HighWords, NarrowValuesStayNarrow) {
  const plain_csr<> pattern = banded("", 50'000, 3);
  const csr<double> floats = filled(pattern, [](double v) -> double { return static_cast<float>(v); }).on(ctx());
  const csr<double> other = filled(pattern, kinds[0]).on(ctx());
  any_spmv_plan plan(ctx(), floats, words);
  EXPECT_EQ(storage_of(plan), "f32");
  EXPECT_EQ(plan.high_words_bytes(), plan.matrix_bytes());
  expect_same_bits(results(plan.high_words()), results(plan));
  plan.update_values(other.values);
  EXPECT_EQ(storage_of(plan), "words");
  expect_words_of(filled(pattern, kinds[0]), plan);
}

TEST_P(HighWords, OfSeveralVectorsGiveTheBitsOfBefore) {
  for (const plain_csr<>& pattern : patterns()) {
    const csr<double> a = filled(pattern, kinds[2]).on(ctx());
    const any_spmv_plan plan(ctx(), a, words), before(ctx(), a, whole);
    EXPECT_FALSE(plan.high_words().can(operation::apply_many));
    for (const auto order : {vector_order::row_major, vector_order::column_major}) {
      for (const index_t count : {1, 3, 8}) {
        const bool by_row = order == vector_order::row_major;
        const buffer<double> x =
            to_buffer(ctx(), random_numbers(static_cast<std::size_t>(a.cols) * static_cast<std::size_t>(count), 4));
        const auto times = [&](const any_spmv_plan& p) {
          buffer<double> y(ctx(), static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(count));
          p.apply_many(
              1, multivector_view<const double>{a.cols, count, by_row ? count : a.cols, order, x.data(), ctx().space()},
              0, multivector_view<double>{a.rows, count, by_row ? count : a.rows, order, y.data(), ctx().space()});
          return to_vector(ctx(), y);
        };
        EXPECT_TRUE(same_numbers(times(plan), times(before)));
      }
    }
  }
}

/// Whichever kernel is chosen otherwise; of A^T and of a plan in another order too.
TEST_P(HighWords, AreWithinTheirBound) {
  const plain_csr<> a = filled(random_csr(3000, 3000, 9, 5, rows_are::shuffled), kinds[0]);
  const csr<double> there = a.on(ctx());
  const plain_csr<> transpose = transposed(a);
  const std::vector<double> x = random_numbers(3000, 1);
  for (const bool transposes : {false, true}) {
    for (const spmv_reorder reorder : {spmv_reorder::never, spmv_reorder::always}) {
      const any_spmv_plan plan(ctx(), there, {.transpose = transposes, .reorder = reorder, .high_words = true});
      EXPECT_EQ(storage_of(plan), "words");
      const csr_view<double, std::int64_t> of = (transposes ? transpose : a).view();
      const auto ratio = [&](const linear_operator& op, double promised) {
        buffer<double> y(ctx(), 3000);
        op.apply(1, to_buffer(ctx(), x), 0, y);
        spmv_reference r = reference_spmv<double>(context::cpu(2), 1, of, x, 0, {});
        add_promise(r, 1, of, host_span<const double>(x), {promised, error_bound::componentwise});
        return error_ratio<double>(r, to_vector(ctx(), y));
      };
      EXPECT_LE(ratio(plan, 0), 1);
      EXPECT_LE(ratio(plan.high_words(), 0x1p-21), 1);
      EXPECT_GT(ratio(plan.high_words(), 0), 1) << "nothing was left out";
    }
  }
}

TEST_P(HighWords, OfBlocksAreThoseOfTheirCsr) {
  const csr<double> a = filled(stencil27(12), kinds[0]).on(ctx());
  const bsr<double> blocks = to_bsr(ctx(), a.view(), 2);
  const csr<double> same = to_csr(ctx(), blocks.view());
  const any_spmv_plan plan(ctx(), blocks, {.high_words = true}), of_csr(ctx(), same, words);
  EXPECT_EQ(storage_of(plan), "words");
  expect_same_bits(results(plan), results(of_csr));
  expect_same_bits(results(plan.high_words()), results(of_csr.high_words()));
}

TEST_P(HighWords, AreRefusedWhereNothingHasThem) {
  const csr<double> a = filled(stencil27(5), kinds[0]).on(ctx());
  const auto code_of = [&](const spmv_options& o) { return failure_of([&] { any_spmv_plan(ctx(), a, o); }).first; };
  EXPECT_EQ(code_of({.kernel = "csr.merge", .high_words = true}),
            ctx().backend() == backend_kind::cpu ? status::invalid_argument : status::unsupported);
  EXPECT_EQ(code_of({.kernel = "csr.rows", .high_words = true}),
            ctx().backend() == backend_kind::cpu ? status::unsupported : status::invalid_argument);
  EXPECT_EQ(code_of({.effort = spmv_effort::none, .high_words = true}), status::unsupported);
  EXPECT_EQ(code_of({.values = {1e-3, error_bound::row}, .high_words = true}), status::invalid_argument);
}

TULLE_ON_BACKENDS(HighWords, "cpu1", "cpu", "cuda");

}  // namespace
}  // namespace tulle::test
