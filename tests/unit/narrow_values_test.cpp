// Values stored in fewer bytes than they have: which are, and that no bit of a result shows it.
#include "cpu/spmv/narrow_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double to_f32(double v) { return static_cast<float>(v); }
double to_bf16(double v) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffff0000u);
}
double one_of_8(double v) {
  constexpr double all[] = {1e300, 1e-300, std::numeric_limits<double>::denorm_min(), infinity, -infinity, -0.0,
                            0.0,   1.1};
  return all[std::min(7, static_cast<int>(std::abs(v) * 8))];
}

/// What is made of random numbers in [-1, 1), and how f64 and f32 values of the kind are stored where there are enough.
struct kind {
  const char* name;
  double (*make)(double);
  const char* f64;
  const char* f32;
  bool looked_up = false;  // in a list that does not fit in a few registers: a CPU takes more values to do that
};
constexpr const char* whole = "whole";
constexpr kind kinds[] = {
    {"f32", to_f32, "f32", whole},
    {"subnormal f32", [](double v) { return to_f32(v * 1e-39); }, "f32", whole},
    {"large f32", [](double v) { return to_f32(v * 3e38); }, "f32", whole},
    {"bf16", to_bf16, "bf16", "bf16"},
    {"small bf16", [](double v) { return to_bf16(v * 1e-36); }, "bf16", "bf16"},
    {"2 values", [](double v) { return v < 0 ? -0.0 : 1.0 / 3; }, "listed", "listed"},
    {"16 values", [](double v) { return std::floor(v * 8) / 3; }, "listed", "listed"},
    {"34 values", [](double v) { return std::floor(v * 17) / 3; }, "listed", "listed", true},
    {"256 values", [](double v) { return std::floor(v * 128) / 3; }, "listed", "listed", true},
    {"extremes", one_of_8, "listed", "listed"},
    {"257 values", [](double v) { return std::round(v * 128) / 3; }, whole, whole},
    {"beyond f32", [](double v) { return v * 1e300; }, whole, "listed"},  // two infinities
};

const kind& kind_named(std::string_view name) {
  return *std::ranges::find_if(kinds, [&](const kind& k) { return k.name == name; });
}

std::string storage_of(const any_spmv_plan& plan) {
  const std::string all = plan.parameters() + " ";
  const std::size_t at = all.find("values=");
  return at == std::string::npos ? whole : all.substr(at + 7, all.find(' ', at) - at - 7);
}

/// `m` with room below, and a last row of entries that have other values than the rest.
plain_csr<> with_last_row(plain_csr<> m) {
  const index_t n = std::max(m.rows + 40, index_t{400});
  m.cols = n;
  while (m.rows < n - 1) m.add_row({});
  m.add_row(range(0, 300));
  m.values.resize(m.colind.size());
  return m;
}

/// Entries from which one thread of a CPU stores values in fewer bytes, and in lists that it looks up in memory.
template <scalar T>
constexpr std::int64_t enough = (1 << 20) / sizeof(T);
template <scalar T>
constexpr std::int64_t enough_to_look_up = 4 * enough<T>;

/// The first has enough to look up, the others enough.
template <scalar T>
std::vector<plain_csr<>> patterns() {
  constexpr auto rows = static_cast<index_t>(enough<T>);
  return {with_last_row(stencil27(sizeof(T) == 8 ? 28 : 35)), with_last_row(banded("", rows / 6, 3)),
          with_last_row(random_rows("", rows / 34, 2000, [](index_t row) { return row % 71; })),
          with_last_row(random_csr(rows / 7, rows / 7, 9, 5, rows_are::shuffled))};
}

/// How values of the kind are stored.
template <scalar T>
const char* expected(const context& ctx, const kind& k, std::int64_t nnz) {
  const bool few = ctx.backend() == backend_kind::cpu && nnz < (k.looked_up ? enough_to_look_up<T> : enough<T>);
  if (few) return whole;
  if (sizeof(T) == 8) return k.f64;
  // A GPU reads floats in less time than it looks them up.
  if (ctx.backend() == backend_kind::cuda && k.f32 == std::string_view("listed"))
    return k.name == std::string_view("beyond f32") ? "bf16" : whole;
  return k.f32;
}

/// Values of the kind, in the last row of any.
template <scalar T>
plain_csr<T> filled(const plain_csr<>& pattern, const kind& k, bool last_row_too) {
  plain_csr<T> m = typed<T>(pattern);
  const std::vector<double> random = random_numbers(m.values.size(), 7);
  const auto others = static_cast<std::size_t>(last_row_too ? m.nnz() : m.nnz() - 300);
  for (std::size_t i = 0; i < random.size(); ++i)
    m.values[i] = static_cast<T>(i < others ? k.make(random[i]) : random[i]);
  return m;
}

template <scalar V>
std::vector<V> random_vector(std::size_t size, std::uint64_t seed) {
  const std::vector<double> v = random_numbers(size, seed);
  return {v.begin(), v.end()};
}

/// Vectors for the passes of plans of n rows.
template <scalar V>
struct inputs {
  inputs(const context& c, index_t n) : ctx(c), size(static_cast<std::size_t>(n)) {}
  [[nodiscard]] buffer<V> random(std::uint64_t seed, std::size_t count) const {
    return to_buffer(ctx, random_vector<V>(count, seed));
  }

  context ctx;
  std::size_t size;
  buffer<V> x = random(1, size), w = random(2, size), d = random(3, size), many = random(4, 3 * size);
};

/// What the passes of a plan leave in all rows but the last.
template <scalar V>
std::vector<std::vector<V>> results(const any_spmv_plan& plan, const inputs<V>& in) {
  const context& ctx = in.ctx;
  const index_t n = plan.dimensions().rows;
  std::vector<std::vector<V>> all;
  const auto keep = [&](const buffer<V>& y) { all.push_back(to_vector(ctx, y)); };
  buffer<V> y(ctx, in.size), y_many(ctx, 3 * in.size), dots(ctx, 2);
  plan.apply(1, in.x, 0, y), keep(y);
  plan.apply(2, in.x, -1, y), keep(y);
  plan.apply_dots(1, in.x, 0, y, in.w, dots), keep(y);
  plan.jacobi(0.5, in.x, in.w, in.d, y), keep(y);
  for (auto& v : all) v.pop_back();
  for (const auto order : {vector_order::row_major, vector_order::column_major}) {
    const bool by_row = order == vector_order::row_major;
    const std::int64_t ld = by_row ? 3 : n;
    plan.apply_many(1, multivector_view<const V>{n, 3, ld, order, in.many.data(), ctx.space()}, 0,
                    multivector_view<V>{n, 3, ld, order, y_many.data(), ctx.space()});
    keep(y_many);
    for (std::size_t j = 0; j < 3; ++j) all.back()[by_row ? (in.size - 1) * 3 + j : (j + 1) * in.size - 1] = 0;
  }
  return all;
}

template <scalar V>
void expect_same_bits(const std::vector<std::vector<V>>& a, const std::vector<std::vector<V>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_numbers(a[i], b[i])) << "pass " << i;
}

spmv_options packed(scalar_type vectors) { return {.kernel = "packed", .vector_type = vectors}; }

using NarrowValues = on_backend;

/// One row of other values keeps the same pattern's values whole: the others' results must not differ.
template <scalar T, scalar V>
void expect_same_as_whole(const context& ctx) {
  for (const plain_csr<>& pattern : patterns<T>()) {
    const inputs<V> in(ctx, pattern.rows);
    const csr<T> random = filled<T>(pattern, kind_named("257 values"), false).on(ctx);
    any_spmv_plan kept(ctx, random, packed(scalar_type_of<V>));
    for (const kind& k : kinds) {
      if (pattern.nnz() >= enough_to_look_up<T> && !k.looked_up) continue;
      SCOPED_TRACE(k.name);
      const csr<T> narrow = filled<T>(pattern, k, true).on(ctx), other = filled<T>(pattern, k, false).on(ctx);
      const any_spmv_plan plan(ctx, narrow, packed(scalar_type_of<V>));
      kept.update_values(other.values);
      const std::string storage = expected<T>(ctx, k, pattern.nnz());
      EXPECT_EQ(storage_of(plan), storage);
      EXPECT_EQ(storage_of(kept), whole);
      if (storage != whole) {
        EXPECT_LT(plan.matrix_bytes(), kept.matrix_bytes());
      }
      expect_same_bits(results<V>(plan, in), results<V>(kept, in));
    }
  }
}

TEST_P(NarrowValues, GiveTheBitsOfWholeOnesInF64) { expect_same_as_whole<double, double>(ctx()); }
TEST_P(NarrowValues, GiveTheBitsOfWholeOnesInF32) { expect_same_as_whole<float, float>(ctx()); }
TEST_P(NarrowValues, GiveTheBitsOfWholeOnesInF32UnderF64) { expect_same_as_whole<float, double>(ctx()); }

/// A mesh with constant coefficients: values that depend on how far a column is from the diagonal, in the last row any.
plain_csr<> with_coefficients(plain_csr<> m, double scale) {
  const std::vector<double> random = random_numbers(m.values.size(), 3);
  for (index_t row = 0; row < m.rows; ++row) {
    const auto end = m.rowptr[static_cast<std::size_t>(row) + 1];
    for (auto k = m.rowptr[static_cast<std::size_t>(row)]; k < end; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const index_t away = std::abs(m.colind[i] - row);
      m.values[i] = row + 1 == m.rows ? random[i] : scale / (away == 0 ? -7 : away == 1 ? 3 : 11);
    }
  }
  return m;
}

/// Of many rows a value is stored once then, and new ones may end that or begin it.
TEST_P(NarrowValues, ThatAllRowsHaveGiveTheBitsOfWholeOnes) {
  const auto of_runs = [](index_t row) { return range(row % 90 * 4, row % 90 * 4 + 40); };
  for (const plain_csr<>& pattern : {with_last_row(stencil27(28)), with_last_row(banded("", 40000, 3)),
                                     with_last_row(matrix_of("", 4000, 400, of_runs))}) {
    plain_csr<> m = with_coefficients(pattern, 1);
    std::fill(m.values.end() - 300, m.values.end(), 1.0 / 3);
    const inputs<double> in(ctx(), pattern.rows);
    const csr<double> first = m.on(ctx()), other = with_coefficients(pattern, 1).on(ctx());
    any_spmv_plan plan(ctx(), first, packed(scalar_type::f64));
    const any_spmv_plan kept(ctx(), other, packed(scalar_type::f64));
    if (ctx().backend() == backend_kind::cpu) {
      EXPECT_EQ(storage_of(plan), "listed");
    }
    EXPECT_NE(storage_of(plan), whole);
    EXPECT_EQ(storage_of(kept), whole);
    const auto expected = results<double>(kept, in);
    expect_same_bits(results<double>(plan, in), expected);
    for (const char* name : {"16 values", "f32", "2 values"}) {
      SCOPED_TRACE(name);
      const csr<double> now = filled<double>(pattern, kind_named(name), true).on(ctx());
      const any_spmv_plan fresh(ctx(), now, packed(scalar_type::f64));
      plan.update_values(now.values);
      expect_same_bits(results<double>(plan, in), results<double>(fresh, in));
      plan.update_values(first.values);
      expect_same_bits(results<double>(plan, in), expected);
    }
  }
}

/// One a row: of two, either may give its payload.
TEST_P(NarrowValues, NansStayNans) {
  for (const std::uint64_t bits :
       {0x7ff8000000000000u, 0x7ff8123400000000u, 0x7ff8000000000001u, 0xfff0000000000001u}) {
    const plain_csr<> pattern = with_last_row(banded("", 20000, 3));
    const inputs<double> in(ctx(), pattern.rows);
    for (const kind& k : kinds) {
      SCOPED_TRACE(k.name);
      plain_csr<> m = filled<double>(pattern, k, true);
      for (index_t row = 0; row < m.rows / 2; row += 7)
        m.values[static_cast<std::size_t>(m.rowptr[row])] = std::bit_cast<double>(bits);
      plain_csr<> other = m;
      std::ranges::copy(random_numbers(300, 9), other.values.end() - 300);
      const csr<double> narrow = m.on(ctx()), kept = other.on(ctx());
      const any_spmv_plan a(ctx(), narrow, packed(scalar_type::f64)), b(ctx(), kept, packed(scalar_type::f64));
      EXPECT_EQ(storage_of(b), whole);
      expect_same_bits(results<double>(a, in), results<double>(b, in));
    }
  }
}

/// Each time values are narrow they are looked at again; once they were not, they stay as they are.
TEST_P(NarrowValues, NewValuesMayBeOfAnotherKind) {
  for (const plain_csr<>& pattern : patterns<double>()) {
    const csr<double> first = filled<double>(pattern, kind_named("2 values"), true).on(ctx());
    const inputs<double> in(ctx(), pattern.rows);
    any_spmv_plan plan(ctx(), first, packed(scalar_type::f64));
    EXPECT_EQ(storage_of(plan), "listed");
    bool stays_whole = false;
    for (const char* name : {"f32", "256 values", "bf16", "16 values", "subnormal f32", "257 values", "bf16", "f32"}) {
      const kind& k = kind_named(name);
      SCOPED_TRACE(name);
      const csr<double> now = filled<double>(pattern, k, true).on(ctx());
      const any_spmv_plan fresh(ctx(), now, packed(scalar_type::f64));
      plan.update_values(now.values);
      stays_whole = stays_whole || std::string(expected<double>(ctx(), k, pattern.nnz())) == whole;
      EXPECT_EQ(storage_of(plan), stays_whole ? whole : expected<double>(ctx(), k, pattern.nnz()));
      if (!stays_whole) {
        EXPECT_EQ(plan.matrix_bytes(), fresh.matrix_bytes());
      }
      expect_same_bits(results<double>(plan, in), results<double>(fresh, in));
    }
  }
}

TEST_P(NarrowValues, AFewStayWholeOnACpu) {
  const csr<double> a = filled<double>(with_last_row(stencil27(9)), kind_named("bf16"), true).on(ctx());
  EXPECT_EQ(storage_of(any_spmv_plan(ctx(), a, packed(scalar_type::f64))),
            ctx().backend() == backend_kind::cpu ? whole : "bf16");
}

TULLE_ON_BACKENDS(NarrowValues, "cpu1", "cuda");

using NarrowBlocks = on_backend;

/// What has blocks is stored in blocks, in fewer bytes where all values allow it; by rows where they are few, or where
/// enough rows allow what others do not.
TEST_P(NarrowBlocks, AreStoredByRowsWhereThatIsLess) {
  csr<double> a = generate<double>(context::cpu(), "gen:fem:n=32,dof=3");
  const auto with = [&](const std::vector<double>& values, value_tolerance tolerance = {}) {
    a.values = to_buffer(context::cpu(), values);
    const any_spmv_plan plan(ctx(), a, {.values = tolerance});
    return std::string(plan.kernel()) + " " + std::string(plan.stored().shares[0].storage);
  };
  const std::vector<double> all = random_numbers(a.values.size(), 3);
  std::vector<double> floats(all.size()), halves(all.size()), few(all.size());
  std::ranges::transform(all, floats.begin(), to_f32);
  std::ranges::transform(all, halves.begin(), to_bf16);
  std::ranges::transform(all, few.begin(), kind_named("256 values").make);
  EXPECT_EQ(with(all), "bin_bsr.compact f64");
  EXPECT_EQ(with(floats), "bin_bsr.compact f32");
  EXPECT_EQ(with(halves), "bin_bsr.compact bf16");
  EXPECT_EQ(with(few), "packed listed");
  EXPECT_EQ(with(all, {.tolerance = 1e-12}), "bin_bsr.compact f64");
  EXPECT_EQ(with(all, {.tolerance = 1e-6}), "bin_bsr.compact f32");
  EXPECT_EQ(with(all, {.tolerance = 1e-3, .bound = error_bound::row}), "bin_bsr.compact f16");
  const auto some_floats = [&](std::size_t count) {
    std::vector<double> out = all;
    std::copy_n(floats.begin(), count, out.begin());
    return out;
  };
  EXPECT_EQ(with(some_floats(floats.size() / 10), {.tolerance = 1e-12}), "bin_bsr.compact f64");
  EXPECT_EQ(with(some_floats(floats.size() / 2), {.tolerance = 1e-12}), "packed f64");
}

TULLE_ON_BACKENDS(NarrowBlocks, "cuda");

/// The narrowest of floats, bf16 and a list that is possible.
std::string found(const std::vector<double>& values, int threads = 2) {
  const auto they = cpu::kinds_of(threads, values.data(), static_cast<std::int64_t>(values.size()));
  if (!they.list.empty()) return "listed";
  return they.bf16 ? "bf16" : they.f32 ? "f32" : whole;
}

TEST(ValueKinds, AreToldByTheirBits) {
  EXPECT_EQ(found({}), whole);
  const std::vector<double> zeros{0.0, -0.0, 0.0, std::bit_cast<double>(0x7ff8000000000001u)};
  const auto they = cpu::kinds_of(1, zeros.data(), 4);
  EXPECT_TRUE(same_bits(they.list, {0.0, std::bit_cast<double>(0x7ff8000000000001u), -0.0}));
  EXPECT_FALSE(they.f32 || they.bf16);
}

/// What decides may stand anywhere, and be found by any thread.
TEST(ValueKinds, OneValueDecides) {
  constexpr std::size_t count = 50'000;
  std::vector<double> floats(count), halves(count), few(count);
  for (std::size_t i = 0; i < count; ++i) {
    floats[i] = static_cast<float>(0.1 * static_cast<double>(i));
    halves[i] = to_bf16(floats[i]);
    few[i] = 0.1 * static_cast<double>(i % 256);
  }
  const double payload = std::bit_cast<double>(0x7ff8000000000001u),
               signaling = std::bit_cast<double>(0x7ff4000000000000u);
  for (const int threads : {1, 3}) {
    EXPECT_EQ(found(floats, threads), "f32");
    EXPECT_EQ(found(halves, threads), "bf16");
    EXPECT_EQ(found(few, threads), "listed");
    for (const std::size_t at : {std::size_t{0}, std::size_t{2047}, count / 3, count - 1}) {
      for (const double v : {0.1, 1e300, 1e-300, 5e-324, payload, signaling}) {
        std::vector<double> with = floats;
        with[at] = v;
        EXPECT_EQ(found(with, threads), whole) << v << " at " << at;
      }
      std::vector<double> with = halves;
      with[at] = to_f32(0.1);
      EXPECT_EQ(found(with, threads), "f32");
      with = few;
      with[at] = -1;
      EXPECT_EQ(found(with, threads), whole);
    }
  }
}

}  // namespace
}  // namespace tulle::test
