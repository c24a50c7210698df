// Block Jacobi's inverses in as few bytes as the condition of their blocks allows.
#include "kernels/inverse_blocks.hpp"
#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

constexpr double u_bf16 = 0x1p-8, u_f32 = 0x1p-24;

TEST(InverseForm, IsTheNarrowestThatTheConditionAllows) {
  using enum inverse_form;
  const auto of = [](double condition, double largest = 1) { return form_of_inverse(condition, largest, 8); };
  EXPECT_EQ(of(1), bf16);
  EXPECT_EQ(of(0.1 / u_bf16), bf16);
  EXPECT_EQ(of(0.1001 / u_bf16), f32);
  EXPECT_EQ(of(0.1 / u_f32), f32);
  EXPECT_EQ(of(0.1001 / u_f32), whole);
  EXPECT_EQ(of(INFINITY), whole);
  EXPECT_EQ(of(NAN), whole);
  EXPECT_EQ(of(1, 1e39), whole);
  EXPECT_EQ(of(1, 1e-39), whole);
  EXPECT_EQ(of(1, NAN), whole);
  EXPECT_EQ(form_of_inverse(1000, 1, 4), whole) << "f32 of f32 is no narrower";
}

TEST(InverseForm, RoundsToNearest) {
  for (const double v : random_numbers(10'000, 4)) {
    const auto f = static_cast<float>(v);
    const auto back = std::bit_cast<float>(static_cast<std::uint32_t>(to_bf16(f)) << 16);
    EXPECT_LE(std::abs(back - f), u_bf16 * std::abs(f));
  }
  EXPECT_EQ(to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(to_bf16(0x1.01p0f), 0x3f80) << "ties to even";
  EXPECT_EQ(to_bf16(0x1.03p0f), 0x3f82);
}

/// Diagonal blocks of so many rows: I - (1 - 1 / kappa) v v^T times scale, v random of length 1; kappa_2 = kappa(k) of
/// block k.
template <class Condition>
plain_csr<double> blocks_of_condition(index_t n, index_t block, Condition kappa, double scale = 1) {
  plain_csr<double> a{0, n};
  for (index_t first = 0, k = 0; first < n; first += block, ++k) {
    const index_t size = std::min(block, n - first);
    std::vector<double> v = random_numbers(static_cast<std::size_t>(size), 17 + static_cast<std::uint64_t>(k));
    double norm = 0;
    for (const double e : v) norm += e * e;
    for (index_t i = 0; i < size; ++i) {
      std::vector<index_t> columns;
      for (index_t j = 0; j < size; ++j) {
        columns.push_back(first + j);
        a.values.push_back(scale * ((i == j) - (1 - 1 / kappa(k)) * v[i] * v[j] / norm));
      }
      a.add_row(columns);
    }
  }
  return a;
}

class narrow_blocks_test : public solver_fixture {
 protected:
  std::unique_ptr<inverse_blocks> inverses(const plain_csr<double>& a, index_t block, bool narrows) {
    auto out = make_inverse_blocks(ctx(), a.rows, block, types, narrows);
    update(*out, a);
    return out;
  }
  void update(inverse_blocks& m, const plain_csr<double>& a) {
    const csr<double> there = a.on(ctx());
    m.update(matrix_ref(there));
    ctx().synchronize();
  }
  std::vector<double> product(const inverse_blocks& m, const std::vector<double>& x, double alpha = 1, double beta = 0,
                              double y0 = NAN) {
    const buffer<double> from = to_buffer(ctx(), x);
    buffer<double> y = to_buffer(ctx(), std::vector<double>(x.size(), y0));
    m.apply(alpha, from.data(), beta, y.data(), ctx().stream());
    return to_vector(ctx(), y);
  }
  static std::vector<std::string> storages(const inverse_blocks& m) {
    std::vector<std::string> out;
    for (const stored_share& s : m.stored().shares) out.emplace_back(s.storage);
    return out;
  }
  static constexpr operation_types types{type_key_of<double, std::int64_t>, scalar_type::f64};
};
TULLE_ON_SOLVERS(narrow_blocks_test);

/// Every entry of an inverse is off by u of itself at most, its product besides by what rounding makes of it.
TEST_P(narrow_blocks_test, inverses_are_those_of_f64_but_for_their_rounding) {
  for (index_t block = 2; block <= 8; ++block) {
    for (const auto& [kappa, u, storage] : {std::tuple(2.0, u_bf16, "bf16"), {1e4, u_f32, "f32"}, {1e9, 0.0, "f64"}}) {
      SCOPED_TRACE(fmt::format("blocks of {}, kappa {}", block, kappa));
      const plain_csr<double> a = blocks_of_condition(block * 101 + 1, block, [&](index_t) { return kappa; });
      const auto narrow = inverses(a, block, true), whole = inverses(a, block, false);
      EXPECT_EQ(storages(*narrow), std::vector<std::string>{storage});
      EXPECT_EQ(storages(*whole), std::vector<std::string>{"f64"});
      const std::vector<double> x = random_numbers(static_cast<std::size_t>(a.rows), 2);
      std::vector<double> sizes(x.size());
      for (index_t j = 0; j < block; ++j) {  // |M^-1| |x|, a column of every block at a time
        std::vector<double> one(x.size());
        for (std::size_t i = j; i < one.size(); i += static_cast<std::size_t>(block)) one[i] = x[i];
        const std::vector<double> part = product(*whole, one);
        for (std::size_t i = 0; i < part.size(); ++i) sizes[i] += std::abs(part[i]);
      }
      const std::vector<double> got = product(*narrow, x), want = product(*whole, x);
      const double gamma = 4 * (block + 2) * 0x1p-53;
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::abs(got[i] - want[i]), (u + gamma) * sizes[i]) << i;
    }
  }
}

TEST_P(narrow_blocks_test, every_group_has_a_form_of_its_own) {
  constexpr index_t block = 3, n = 3000;
  const auto kappa = [](index_t k) { return k < 300 ? 2.0 : k < 700 ? 1e4 : 1e9; };
  const plain_csr<double> a = blocks_of_condition(n, block, kappa);
  const auto m = inverses(a, block, true);
  const stored_values stored = m->stored();
  ASSERT_EQ(stored.shares.size(), 3u);
  std::int64_t rows = 0, bytes = 0;
  for (const stored_share& s : stored.shares) rows += s.rows, bytes += s.bytes;
  EXPECT_EQ(rows, n);
  EXPECT_LT(bytes, n * block * 8 * 3 / 5);
  EXPECT_EQ(stored.shares[0].rows, 900);  // groups of 10 blocks
  EXPECT_EQ(stored.shares[2].rows, 900);
  const auto whole = inverses(a, block, false);
  const std::vector<double> x = random_numbers(n, 5), got = product(*m, x), want = product(*whole, x);
  for (index_t i = 2100; i < n; ++i) EXPECT_EQ(got[i], want[i]) << "those in f64 are as they were";
  EXPECT_FALSE(same_numbers(got, want));
}

TEST_P(narrow_blocks_test, y_is_scaled_or_overwritten) {
  const plain_csr<double> a = blocks_of_condition(50, 4, [](index_t) { return 2.0; });
  const auto m = inverses(a, 4, true);
  const std::vector<double> x = random_numbers(50, 6), plain = product(*m, x), scaled = product(*m, x, 2, -1, 3);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(scaled[i], 2 * plain[i] - 3, 8 * 0x1p-53 * (2 * std::abs(plain[i]) + 3));
}

TEST_P(narrow_blocks_test, new_values_are_looked_at_again) {
  const auto of = [](double kappa, double scale = 1) {
    return blocks_of_condition(
        1001, 5, [=](index_t) { return kappa; }, scale);
  };
  const auto m = inverses(of(2), 5, true);
  EXPECT_EQ(storages(*m), std::vector<std::string>{"bf16"});
  const std::size_t few = m->bytes();
  update(*m, of(1e9));
  EXPECT_EQ(storages(*m), std::vector<std::string>{"f64"});
  EXPECT_GT(m->bytes(), 3 * few);
  const std::vector<double> x = random_numbers(1001, 8);
  EXPECT_TRUE(same_numbers(product(*m, x), product(*inverses(of(1e9), 5, true), x)));
  update(*m, of(2, 1e-200));
  EXPECT_EQ(storages(*m), std::vector<std::string>{"f64"}) << "no float has that size";
  update(*m, of(2));
  EXPECT_EQ(storages(*m), std::vector<std::string>{"bf16"});
}

/// Systems whose inverses leave a CPU's cache, where they are not narrow else.
TEST_P(narrow_blocks_test, solves_take_about_the_iterations_of_f64) {
  for (const char* spec : {"gen:stencil:points=7,n=64,values=spd", "gen:fem:dof=3,n=36,values=spd"}) {
    const plain_csr<double> a = generated<double>(spec);
    const std::vector<double> b = random_rhs<double>(a.rows);
    for (const index_t block : {4, 7}) {
      SCOPED_TRACE(fmt::format("{} {}", spec, block));
      cg_options o;
      o.preconditioner = preconditioner_kind::block_jacobi;
      o.block = block;
      o.rtol = 1e-10;
      o.kernel = "cg.operations";
      const cg_solver narrow(ctx(), matrix_ref(a.view()), o);
      o.narrow_blocks = false;
      const cg_solver whole(ctx(), matrix_ref(a.view()), o);
      EXPECT_NE(narrow.explain().find("inverse blocks: bf16 " + std::to_string(a.rows) + " rows"), std::string::npos)
          << narrow.explain();
      EXPECT_NE(whole.explain().find("inverse blocks: f64 " + std::to_string(a.rows) + " rows"), std::string::npos)
          << whole.explain();
      EXPECT_LT(narrow.workspace_bytes(), whole.workspace_bytes());
      const auto s = solve(narrow, b), of_f64 = solve(whole, b);
      EXPECT_EQ(status_of(s.result), "SUCCESS");
      expect_true_report(a, b, s, o);
      EXPECT_LE(s.result.iterations, of_f64.result.iterations * 1.1 + 1);
    }
  }
}

/// cg.graph has inverses of its own.
TEST_P(narrow_blocks_test, every_solver_takes_them) {
  for (const char* spec : {"gen:stencil:points=5,n=60,values=spd", "gen:banded:n=777,width=9,values=spd"}) {
    const plain_csr<double> a = generated<double>(spec);
    const std::vector<double> b = random_rhs<double>(a.rows);
    for (index_t block = 2; block <= 8; ++block) {
      cg_options o;
      o.preconditioner = preconditioner_kind::block_jacobi;
      o.block = block;
      o.rtol = 1e-10;
      for_kernels(a, o, [&](const cg_solver& solver) {
        const auto s = solve(solver, b);
        EXPECT_EQ(status_of(s.result), "SUCCESS");
        expect_true_report(a, b, s, o);
      });
    }
  }
}

}  // namespace
}  // namespace tulle::test
