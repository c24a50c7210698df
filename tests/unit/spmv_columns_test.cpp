// Several right-hand sides, from one to 512, in both orders of X and of Y, by plans that were told how many and by
// those that were not: sums of small integers, which are exact in any order of summation.
#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <tulle/tulle.hpp>

#include "support/backends.hpp"
#include "support/files.hpp"
#include "support/many_vectors.hpp"

namespace tulle::test {
namespace {

using enum vector_order;

template <class T>
void check(const context& ctx, const any_spmv_plan& plan, const plain_csr<>& m, const many_layout& in,
           const many_layout& out) {
  const auto x = to_buffer(ctx, in.filled<T>(x_at));
  const auto expected = [&](double alpha, double beta) {
    const std::vector<double> sums = products(m, out);
    return out.filled<T>(
        [&](index_t i, index_t j) { return alpha * sums[out.at(i, j)] + (beta == 0 ? 0 : beta * y_at(i, j)); });
  };
  for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{2.0, -1.0}}) {
    auto y = to_buffer(ctx, out.filled<T>([&, b = beta](index_t i, index_t j) {
      return b == 0 ? std::numeric_limits<double>::quiet_NaN() : y_at(i, j);
    }));
    plan.apply_many(alpha, in.view<const T>(x.data(), ctx.space()), beta, out.view<T>(y.data(), ctx.space()));
    ASSERT_TRUE(to_vector(ctx, y) == expected(alpha, beta))
        << in.count << " columns, x by " << name(in.order) << ", y by " << name(out.order) << ", gap " << in.gap
        << ", beta " << beta << ": " << plan.explain();
  }
}

template <class T>
csr<T> of_type(const plain_csr<>& m, const context& ctx) {
  return plain_csr<T>{m.rows, m.cols, m.rowptr, m.colind, {m.values.begin(), m.values.end()}}.on(ctx);
}

class spmv_columns : public on_backend {
 protected:
  template <class T>
  void check_all(const plain_csr<>& m, const std::string& kernel) {
    const csr<T> a = of_type<T>(m, ctx());
    for (const index_t count : {1, 4, 5, 8, 31, 32, 64, 100, 300, 512}) {
      for (const auto& [told, told_order] : {std::pair{0, row_major},
                                             {8, row_major},
                                             {32, row_major},
                                             {32, column_major},
                                             {128, row_major},
                                             {512, column_major}}) {
        if (told > count + 32 || std::max(m.rows, m.cols) * count > 2'000'000) continue;
        spmv_options options;
        options.kernel = kernel;
        options.columns = told;
        options.columns_order = told_order;
        const any_spmv_plan plan(ctx(), a, options);
        for (const auto x : {row_major, column_major}) {
          for (const auto y : {row_major, column_major}) {
            const index_t gap = count % 4 == 0 && x == y ? 0 : 3;
            check<T>(ctx(), plan, m, {m.cols, count, x, gap}, {m.rows, count, y, gap});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
};

TEST_P(spmv_columns, are_right_however_many_and_however_they_lie) {
  check_all<double>(uneven(700, 900, true), "");
  check_all<float>(uneven(700, 900, true), "");
}
TEST_P(spmv_columns, are_right_where_rows_are_packed) {
  // A CPU refuses to pad few rows to the length of one that has 3000 entries.
  const plain_csr<> m = uneven(300, ctx().backend() == backend_kind::cpu ? 60 : 3000, true);
  check_all<double>(m, "packed");
  check_all<float>(m, "packed");
}
TEST_P(spmv_columns, are_right_in_pieces_of_rows) {
  if (ctx().backend() != backend_kind::cuda) GTEST_SKIP() << "a kernel of CUDA";
  check_all<double>(uneven(700, 900, true), "csr.pieces");
  check_all<float>(uneven(90, 30'000, true), "csr.pieces");  // a row in hundreds of parts
}
/// Rows of one to three entries, or of `round` and of one less, and between some of them up to 120 empty ones.
plain_csr<> short_rows(index_t rows, index_t round) {
  plain_csr<> m{0, 500};
  while (m.rows < rows) {
    const index_t r = m.rows, length = r % 5 == 0 ? round - r % 2 : 1 + r % 3;
    std::vector<index_t> columns;
    for (index_t k = 0; k < length; ++k) columns.push_back((r * 17 + k) % m.cols);
    m.add_row(columns);
    for (index_t empty = r % 11 == 3 ? r % 121 : 0; empty > 0; --empty) m.add_row({});
  }
  add_values(m);
  return m;
}

TEST_P(spmv_columns, are_right_where_rows_are_short_or_empty) {
  const std::string kernel = ctx().backend() == backend_kind::cuda ? "csr.pieces" : "";
  for (const index_t round : {1, 16, 32}) {
    check_all<double>(short_rows(2000, round), kernel);
    check_all<float>(short_rows(2000, round), kernel);
  }
  check_all<float>(plain_csr<>{100, 7, std::vector<std::int64_t>(101)}, kernel);
}
/// Rows of `length` and of up to 10 less.
plain_csr<> rows_of_one_length(index_t rows, index_t length) {
  plain_csr<> m{0, 500};
  while (m.rows < rows) {
    const index_t r = m.rows;
    std::vector<index_t> columns;
    for (index_t k = 0; k < length - r % 11; ++k) columns.push_back((r + 4 * k) % m.cols);
    std::ranges::sort(columns);
    m.add_row(columns);
  }
  add_values(m);
  return m;
}
/// Rows that lanes take whole, among them some that a block takes.
TEST_P(spmv_columns, are_right_where_rows_are_whole) {
  if (ctx().backend() != backend_kind::cuda) GTEST_SKIP() << "kernels of CUDA";
  for (const std::string kernel : {"csr.warp", "csr.pieces"}) {
    check_all<double>(short_rows(2000, 8), kernel);
    check_all<float>(short_rows(2000, 8), kernel);
    check_all<double>(rows_of_one_length(300, 100), kernel);
    check_all<float>(rows_of_one_length(300, 100), kernel);
  }
  check_all<double>(uneven(700, 900, true), "csr.warp");
  check_all<float>(uneven(90, 30'000, true), "csr.warp");
}
/// Few enough for compute-sanitizer.
TEST_P(spmv_columns, of_long_rows) {
  const plain_csr<> m = uneven(40, 500, true);
  const csr<double> a = m.on(ctx());
  const bool cuda = ctx().backend() == backend_kind::cuda;
  for (const char* kernel : cuda ? std::vector{"csr.pieces", "csr.warp"} : std::vector{""}) {
    for (const auto order : {row_major, column_major}) {
      for (const index_t count : {3, 8, 40, 64}) {
        for (const bool told : {true, false}) {
          spmv_options options;
          options.kernel = kernel;
          options.columns = told ? count : 0;
          options.columns_order = order;
          check<double>(ctx(), any_spmv_plan(ctx(), a, options), m, {m.cols, count, order, 0},
                        {m.rows, count, order, 0});
        }
      }
    }
  }
}
/// Rows of up to 8 entries, and every `apart`-th of `longest`.
plain_csr<> long_among_short(index_t rows, index_t apart, index_t longest) {
  plain_csr<> m{0, 400};
  while (m.rows < rows) {
    const index_t r = m.rows;
    std::vector<index_t> columns(static_cast<std::size_t>(r % apart == 0 ? longest : r % 9));
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<index_t>((r + k) % 400);
    std::ranges::sort(columns);
    m.add_row(columns);
  }
  add_values(m);
  return m;
}

/// Enough pieces of rows for warps with 128 columns of f32 each, and rows that are cut: 100, whose parts a block adds
/// for each, and 2000, for which it is a warp.
TEST_P(spmv_columns, of_long_rows_among_short_ones) {
  spmv_options options;
  if (ctx().backend() == backend_kind::cuda) options.kernel = "csr.pieces";
  for (const plain_csr<>& m : {long_among_short(3100, 31, 300), long_among_short(6000, 3, 120)}) {
    const csr<float> a = of_type<float>(m, ctx());
    for (const index_t told : {0, 32, 64, 128}) {
      options.columns = told;
      const any_spmv_plan plan(ctx(), a, options);
      for (const index_t count : {told == 0 ? 128 : told, told + 134}) {
        check<float>(ctx(), plan, m, {m.cols, count, row_major, count % 4}, {m.rows, count, row_major, 0});
      }
    }
  }
}
/// Rows so long, and so many entries, that pieces of rows are taken by column; among them short and empty rows.
TEST_P(spmv_columns, of_long_rows_by_column) {
  if (ctx().backend() != backend_kind::cuda) GTEST_SKIP() << "a kernel of CUDA";
  plain_csr<> m{0, 3000};
  while (m.rows < 7 * ctx().info().multiprocessors) {
    const index_t r = m.rows;
    std::vector<index_t> columns(r % 7 == 3 ? 0 : r % 5 == 0 ? 40 : 2000 + r % 301);
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = (r * 31 + static_cast<index_t>(k)) % m.cols;
    std::ranges::sort(columns);
    m.add_row(columns);
  }
  add_values(m);
  const auto run = [&]<class T>(T, index_t told, vector_order order, index_t count) {
    spmv_options options;
    options.kernel = "csr.pieces";
    options.columns = told;
    options.columns_order = order;
    const csr<T> a = of_type<T>(m, ctx());
    const any_spmv_plan plan(ctx(), a, options);
    EXPECT_NE(plan.explain().find("by column"), std::string::npos) << plan.explain();
    check<T>(ctx(), plan, m, {m.cols, count, order, 0}, {m.rows, count, order, 0});
  };
  run(1.0F, 32, row_major, 32);
  run(1.0F, 128, row_major, 128);
  run(1.0F, 0, row_major, 64);
  run(1.0, 32, column_major, 32);
  run(1.0F, 8, row_major, 8);
  run(1.0, 8, column_major, 8);
}
/// Kernels read entries in groups, whose last ones may be none.
TEST_P(spmv_columns, do_not_take_rows_of_x_that_no_entry_has) {
  plain_csr<> m = long_among_short(500, 31, 300);
  for (index_t& column : m.colind) column = std::max<index_t>(column, 1);
  const csr<double> a = m.on(ctx());
  for (const index_t told : {0, 32, 128}) {
    for (const std::string_view kernel : {"", "csr.pieces", "csr.warp", "packed"}) {
      if (kernel.starts_with("csr") && ctx().backend() != backend_kind::cuda) continue;
      spmv_options options;
      options.columns = told;
      options.kernel = kernel;
      const any_spmv_plan plan(ctx(), a, options);
      const index_t count = told == 0 ? 32 : told;
      const many_layout in{m.cols, count, row_major, 0}, out{m.rows, count, row_major, 0};
      const auto x = to_buffer(ctx(), in.filled<double>([](index_t i, index_t j) {
        return i == 0 ? std::numeric_limits<double>::quiet_NaN() : x_at(i, j);
      }));
      auto y = to_buffer(ctx(), out.filled<double>(y_at));
      plan.apply_many(1, in.view<const double>(x.data(), ctx().space()), 0, out.view<double>(y.data(), ctx().space()));
      const std::vector<double> sums = products(m, out);
      EXPECT_TRUE(to_vector(ctx(), y) == out.filled<double>([&](index_t i, index_t j) { return sums[out.at(i, j)]; }))
          << plan.explain();
    }
  }
}
/// Square, its entries anywhere, length(r) of them in row r.
plain_csr<> scattered(index_t rows, const std::function<index_t(index_t)>& length) {
  plain_csr<> m{0, rows};
  while (m.rows < rows) {
    std::vector<index_t> columns(static_cast<std::size_t>(length(m.rows)));
    for (std::size_t k = 0; k < columns.size(); ++k) {
      columns[k] = static_cast<index_t>((std::int64_t{m.rows} * 7919 + static_cast<std::int64_t>(k) * 331) % rows);
    }
    std::ranges::sort(columns);
    m.add_row(columns);
  }
  add_values(m);
  return m;
}

/// So many entries anywhere that column-major X is turned into rows, of a plan that was told of it and of one that was
/// not, as many vectors at once as there is room for; in a Y of either order.
TEST_P(spmv_columns, are_turned_where_entries_are_anywhere) {
  if (ctx().backend() != backend_kind::cuda) GTEST_SKIP() << "kernels of CUDA";
  const plain_csr<> m = scattered(12'000, [](index_t r) { return r % 3 == 0 ? 40 : 35; });
  const auto run = [&]<class T>(T) {
    const csr<T> a = of_type<T>(m, ctx());
    for (const std::string kernel : {"", "csr.pieces", "packed"}) {
      spmv_options options;
      options.kernel = kernel;
      options.columns = 1;
      const std::size_t of_one = any_spmv_plan(ctx(), a, options).workspace_bytes();
      for (const auto& [told, count] : {std::pair{0, 8}, {0, 5}, {0, 13}, {0, 40}, {8, 8}, {8, 11}, {32, 32}}) {
        options.columns = told;
        options.columns_order = told == 0 ? row_major : column_major;
        const any_spmv_plan plan(ctx(), a, options);
        const std::size_t turned = std::size_t{8} * static_cast<std::size_t>(m.cols) * sizeof(T);
        EXPECT_GE(plan.workspace_bytes(), of_one + turned) << plan.explain();
        for (const auto y : {column_major, row_major}) {
          check<T>(ctx(), plan, m, {m.cols, count, column_major, 0}, {m.rows, count, y, count % 2 == 0 ? 0 : 3});
          if (HasFatalFailure()) return;
        }
      }
    }
  };
  run(1.0F);
  run(1.0);
}
/// Y is turned, too, of a plan that was told of it.
TEST_P(spmv_columns, are_turned_where_rows_are_short_and_some_long) {
  if (ctx().backend() != backend_kind::cuda) GTEST_SKIP() << "kernels of CUDA";
  const plain_csr<> m = scattered(160'000, [](index_t r) { return r % 1600 == 0 ? 700 : 3 + r % 2; });
  const csr<double> a = of_type<double>(m, ctx());
  spmv_options options;
  options.kernel = "csr.pieces";
  for (const index_t told : {0, 8}) {
    options.columns = told;
    options.columns_order = told == 0 ? row_major : column_major;
    const any_spmv_plan plan(ctx(), a, options);
    EXPECT_GE(plan.workspace_bytes(), std::size_t{told == 0 ? 64U : 128U} * static_cast<std::size_t>(m.rows));
    for (const auto y : {column_major, row_major}) {
      check<double>(ctx(), plan, m, {m.cols, 8, column_major, 0}, {m.rows, 8, y, 0});
    }
  }
}
TEST_P(spmv_columns, are_measured_at_effort_max) {
  const temporary_directory directory;
  const environment_variable cache("TULLE_CACHE_DIR", directory.path());
  const plain_csr<> m = scattered(3000, [](index_t r) { return r % 3 == 0 ? 40 : 5; });
  const csr<float> a = of_type<float>(m, ctx());
  spmv_options options;
  options.effort = spmv_effort::max;
  constexpr const char* before = "measured on this device before";
  for (const auto order : {row_major, column_major}) {
    for (const index_t count : {8, 32}) {
      options.columns = count;
      options.columns_order = order;
      any_spmv_plan plan(ctx(), a, options);
      const auto says = [&](std::string_view words) {
        check<float>(ctx(), plan, m, {m.cols, count, order, 0}, {m.rows, count, order, 0});
        if (ctx().backend() == backend_kind::cpu) return std::string();  // has one kernel for several
        const std::string said = plan.explain(), of_many = said.substr(said.find(" right-hand sides by "));
        EXPECT_NE(of_many.find(words), std::string::npos) << said;
        return of_many;
      };
      const bool left_out = says("kernels measured: ").find("left out") != std::string::npos;
      plan = any_spmv_plan(ctx(), a, options);
      says(before);
      plan.autotune();
      says(left_out ? "kernels measured: " : before);  // what left kernels out may not have found the fastest
      if (HasFatalFailure()) return;
    }
  }
}
/// Wherever it ended.
TEST_P(spmv_columns, are_right_after_tuning_that_ended_early) {
  const temporary_directory directory;
  const environment_variable cache("TULLE_CACHE_DIR", directory.path());
  const plain_csr<> m = scattered(300, [](index_t r) { return r % 3 == 0 ? 40 : 5; });
  const csr<double> a = m.on(ctx());
  struct enough : std::runtime_error {
    using runtime_error::runtime_error;
  };
  for (const index_t told : {0, 8}) {
    spmv_options options;
    options.columns = told;
    bool ended = true;
    for (int at = 1; ended && at < 1000; at += std::max(1, at / 4)) {
      any_spmv_plan plan(ctx(), a, options);
      try {
        const auto look = [at, asked = 0]() mutable {
          if (++asked >= at) throw enough("enough");
        };
        const interruption end(look, std::chrono::milliseconds(0));
        plan.autotune();
        ended = false;
      } catch (const enough&) {
      }
      check<double>(ctx(), plan, m, {m.cols, 8, row_major, 0}, {m.rows, 8, row_major, 0});
      if (HasFatalFailure()) return;
    }
    EXPECT_FALSE(ended);
  }
}
TEST_P(spmv_columns, that_are_fewer_than_none_are_refused) {
  const csr<double> a = uneven(3, 4, true).on(ctx());
  spmv_options options;
  options.columns = -1;
  EXPECT_THROW(any_spmv_plan(ctx(), a, options), error);
}

TULLE_ON_BOTH_BACKENDS(spmv_columns);

}  // namespace
}  // namespace tulle::test
