// Slices, dropped zeros, the diagonal, scaled rows and columns, the identity.
#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

class selecting : public on_battery {};
TULLE_ON_BATTERY(selecting, "cpu1", "cpu3", "cuda");

/// The rows of a matrix with those entries for which `keeps(column, value)`, its columns numbered from the first.
template <class T, class Keeps>
plain_csr<T> selected(const plain_csr<T>& m, index_range rows, index_range columns, const Keeps& keeps) {
  plain_csr<T> out{0, columns.end - columns.begin};
  for (index_t r = rows.begin; r < rows.end; ++r) {
    std::vector<index_t> kept;
    for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
      const index_t c = m.colind[k];
      if (c < columns.begin || c >= columns.end || !keeps(m.values[k])) continue;
      kept.push_back(c - columns.begin);
      out.values.push_back(m.values[k]);
    }
    out.add_row(kept);
  }
  return out;
}

TEST_P(selecting, slices_are_numbered_from_0) {
  const matrix& m = subject();
  const index_range some_rows{m.rows / 4, m.rows - m.rows / 3}, some_columns{m.cols / 3, m.cols - m.cols / 5};
  for_each_type(m, [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(ctx(), m);
    for (const index_range rows : {index_range{0, m.rows}, some_rows, index_range{m.rows, m.rows}}) {
      for (const index_range columns : {index_range{0, m.cols}, some_columns, index_range{0, 0}}) {
        expect_entries(ctx(), extract(ctx(), a, rows, columns),
                       selected(typed<T>(m), rows, columns, [](T) { return true; }));
      }
    }
  });
}

TEST_P(selecting, zeros_are_dropped_and_nan_stays) {
  const matrix& m = subject();
  for_each_type(m, [&]<class T, class O>() {
    expect_entries(ctx(), eliminate_zeros(ctx(), upload<T, O>(ctx(), m)),
                   selected(typed<T>(m), {0, m.rows}, {0, m.cols}, [](T value) { return value != 0; }));
  });
}

TEST_P(selecting, the_diagonal_adds_duplicates_and_has_strides) {
  const matrix& m = subject();
  const auto count = static_cast<std::size_t>(std::min(m.rows, m.cols));
  for_each_type(m, [&]<class T, class O>() {
    std::vector<T> want(2 * count, T{77});
    const plain_csr<T> sums = summed(typed<T>(m));
    for (std::size_t r = 0; r < count; ++r)
      want[2 * r] = value_at(sums, static_cast<index_t>(r), static_cast<index_t>(r));
    buffer<T> out = to_buffer(ctx(), std::vector<T>(2 * count, T{77}));
    diagonal(
        ctx(), upload<T, O>(ctx(), m),
        vector_ref(scalar_type_of<T>, out.data(), static_cast<std::int64_t>(count), ctx().space(), ctx().device(), 2));
    EXPECT_TRUE(same_numbers(to_vector(ctx(), out), want));
  });
}

TEST_P(selecting, rows_and_columns_are_scaled_and_the_pattern_is_shared) {
  const matrix& m = subject();
  for_each_type(m, [&]<class T, class O>() {
    const auto factor = [](index_t i) { return static_cast<T>(i % 9 - 4); };
    const auto factors = [&](index_t n) {
      std::vector<T> d(static_cast<std::size_t>(n));
      for (index_t i = 0; i < n; ++i) d[static_cast<std::size_t>(i)] = factor(i);
      return to_buffer(ctx(), d);
    };
    const matrix_ref a = upload<T, std::int32_t>(ctx(), m);
    plain_csr<T> by_row = typed<T>(m), by_column = by_row;
    for (index_t r = 0; r < m.rows; ++r) {
      for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
        by_row.values[k] *= factor(r);
        by_column.values[k] *= factor(m.colind[k]);
      }
    }
    const matrix_ref scaled = scale_rows(ctx(), a, factors(m.rows));
    EXPECT_EQ(scaled.colind, a.colind);
    expect_entries(ctx(), scaled, by_row);
    const csr<T, O> borrowed = upload<T, O>(ctx(), m);
    expect_entries(ctx(), scale_columns(ctx(), borrowed, factors(m.cols)), by_column);
  });
}

class making : public on_backend {};
TULLE_ON_BACKENDS(making, "cpu1", "cpu3", "cuda");

TEST_P(making, identities) {
  for (const index_t n : {0, 1, 1000}) {
    const plain_csr<float> want = diagonal_matrix(std::vector<float>(static_cast<std::size_t>(n), 1));
    expect_entries(ctx(), identity(ctx(), n, scalar_type::f32), want);
  }
  EXPECT_EQ(identity(ctx(), 3, scalar_type::i32).types.value, scalar_type::i32);
  EXPECT_EQ(status_of([&] { identity(ctx(), -1, scalar_type::f64); }), status::invalid_dimensions);
}

TEST_P(making, arguments_are_checked_by_name) {
  const matrix_ref a = plain_csr<>{2, 3, {0, 1, 2}, {0, 2}, {1, 2}}.on(ctx());
  expect_error(status::invalid_argument, "rows 0 to 3: must be a range within 0 to 2", [&] {
    extract(ctx(), a, {0, 3}, {0, 3});
  });
  expect_error(status::invalid_argument, "columns 2 to 1: must be a range within 0 to 3", [&] {
    extract(ctx(), a, {0, 2}, {2, 1});
  });
  buffer<double> three(ctx(), 3);
  buffer<float> floats(ctx(), 2);
  expect_error(status::invalid_dimensions, "out has 3 elements, 2 are needed", [&] { diagonal(ctx(), a, three); });
  expect_error(status::invalid_dimensions, "factors has 3", [&] { scale_rows(ctx(), a, three); });
  expect_error(status::invalid_argument, "factors holds f32 elements, f64 are needed",
               [&] { scale_rows(ctx(), a, floats); });
}

}  // namespace
}  // namespace tulle::test
