// Slices, dropped zeros, the diagonal, scaled rows and columns, the identity.
#include "matrix/entries.hpp"

namespace tulle::testing {
namespace {

class selecting : public on_battery {};
INSTANTIATE_TEST_SUITE_P(battery, selecting, backends_and_battery(), backend_and_matrix);

TEST_P(selecting, slices_are_numbered_from_0) {
  const matrix& m = subject();
  const index_range some_rows{m.rows / 4, m.rows - m.rows / 3}, some_columns{m.cols / 3, m.cols - m.cols / 5};
  for_each_type(m, [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(ctx(), m);
    const row_entries<T> all = rows_of<T>(m);
    for (const index_range rows : {index_range{0, m.rows}, some_rows, index_range{m.rows, m.rows}}) {
      for (const index_range columns : {index_range{0, m.cols}, some_columns, index_range{0, 0}}) {
        row_entries<T> want;
        for (index_t r = rows.begin; r < rows.end; ++r) {
          want.emplace_back();
          for (const auto& e : all[r]) {
            if (e.column >= columns.begin && e.column < columns.end)
              want.back().push_back({e.column - columns.begin, e.value, 0});
          }
        }
        expect_entries(ctx(), extract(ctx(), a, rows, columns), want, columns.end - columns.begin);
      }
    }
  });
}

TEST_P(selecting, zeros_are_dropped_and_nan_stays) {
  for_each_type(subject(), [&]<class T, class O>() {
    row_entries<T> want = rows_of<T>(subject());
    for (auto& row : want) std::erase_if(row, [](const auto& e) { return e.value == 0; });
    expect_entries(ctx(), eliminate_zeros(ctx(), upload<T, O>(ctx(), subject())), want, subject().cols);
  });
}

TEST_P(selecting, the_diagonal_adds_duplicates_and_has_strides) {
  const matrix& m = subject();
  const auto count = static_cast<std::size_t>(std::min(m.rows, m.cols));
  for_each_type(m, [&]<class T, class O>() {
    std::vector<T> want(2 * count, T{77});
    const row_entries<T> rows = rows_of<T>(m);
    for (std::size_t r = 0; r < count; ++r) {
      want[2 * r] = 0;
      bool found = false;
      for (const auto& e : rows[r]) {
        if (e.column != static_cast<index_t>(r)) continue;
        want[2 * r] = found ? wrapped_sum(want[2 * r], e.value) : e.value;
        found = true;
      }
    }
    buffer<T> out = to_buffer(ctx(), std::vector<T>(2 * count, T{77}));
    diagonal(
        ctx(), upload<T, O>(ctx(), m),
        vector_ref(scalar_type_of<T>, out.data(), static_cast<std::int64_t>(count), ctx().space(), ctx().device(), 2));
    EXPECT_TRUE(same_bits(to_vector(ctx(), out), want));
  });
}

TEST_P(selecting, rows_and_columns_are_scaled_and_the_pattern_is_shared) {
  const matrix& m = subject();
  for_each_type(m, [&]<class T, class O>() {
    const auto factors = [&](index_t n) {
      std::vector<T> d(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<T>(static_cast<int>(i % 9) - 4);
      return to_buffer(ctx(), d);
    };
    const auto factor = [](index_t i) { return static_cast<T>(i % 9 - 4); };
    const matrix_ref a = upload<T, std::int32_t>(ctx(), m);
    row_entries<T> by_row = rows_of<T>(m), by_column = by_row;
    for (index_t r = 0; r < m.rows; ++r) {
      for (auto& e : by_row[r]) e.value *= factor(r);
      for (auto& e : by_column[r]) e.value *= factor(e.column);
    }
    const matrix_ref scaled = scale_rows(ctx(), a, factors(m.rows));
    EXPECT_EQ(scaled.colind, a.colind);
    expect_entries(ctx(), scaled, by_row, m.cols);
    const csr<T, O> borrowed = upload<T, O>(ctx(), m);
    expect_entries(ctx(), scale_columns(ctx(), borrowed, factors(m.cols)), by_column, m.cols);
  });
}

class making : public on_backend {};
INSTANTIATE_TEST_SUITE_P(all, making, ::testing::ValuesIn(matrix_backends()));

TEST_P(making, identities) {
  for (const index_t n : {0, 1, 1000}) {
    row_entries<float> want(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) want[i].push_back({i, 1.0f, 0});
    expect_entries(ctx(), identity(ctx(), n, scalar_type::f32), want, n);
  }
  EXPECT_EQ(identity(ctx(), 3, scalar_type::i32).types.value, scalar_type::i32);
  EXPECT_EQ(status_of([&] { identity(ctx(), -1, scalar_type::f64); }), status::invalid_dimensions);
}

TEST_P(making, arguments_are_checked_by_name) {
  const matrix m{"", 2, 3, {0, 1, 2}, {0, 2}, {1, 2}};
  const matrix_ref a = upload<double, std::int64_t>(ctx(), m);
  std::string message;
  EXPECT_EQ(status_of([&] { extract(ctx(), a, {0, 3}, {0, 3}); }, &message), status::invalid_argument);
  EXPECT_EQ(message, "rows 0 to 3: must be a range within 0 to 2");
  EXPECT_EQ(status_of([&] { extract(ctx(), a, {0, 2}, {2, 1}); }, &message), status::invalid_argument);
  EXPECT_EQ(message, "columns 2 to 1: must be a range within 0 to 3");
  buffer<double> three(ctx(), 3);
  buffer<float> floats(ctx(), 2);
  EXPECT_EQ(status_of([&] { diagonal(ctx(), a, three); }, &message), status::invalid_dimensions);
  EXPECT_EQ(message, "out has 3 elements, 2 are needed");
  EXPECT_EQ(status_of([&] { scale_rows(ctx(), a, three); }, &message), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { scale_rows(ctx(), a, floats); }, &message), status::invalid_argument);
  EXPECT_EQ(message, "factors holds f32 elements, f64 are needed");
}

}  // namespace
}  // namespace tulle::testing
