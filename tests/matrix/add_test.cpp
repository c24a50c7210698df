// alpha A + beta B against a merge of rows on the host: the same bits.
#include "kernels/backends.hpp"
#include "matrix/entries.hpp"

namespace tulle::testing {
namespace {

class adding : public on_battery {};
INSTANTIATE_TEST_SUITE_P(battery, adding, backends_and_battery(), backend_and_matrix);

/// The rows in another order with every third entry left out, so that patterns overlap in part.
matrix partner_of(const matrix& m) {
  matrix out{"", m.rows, m.cols, {0}, {}, {}};
  for (index_t r = 0; r < m.rows; ++r) {
    const index_t from = (r + 1) % m.rows;
    for (auto k = m.rowptr[from]; k < m.rowptr[from + 1]; ++k) {
      if (k % 3 == 0) continue;
      out.colind.push_back(m.colind[k]);
      out.values.push_back(static_cast<double>(k % 97) - 40);
    }
    out.rowptr.push_back(out.nnz());
  }
  return out;
}

template <class T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
  } else {
    volatile T rounded = a * b;  // not contracted
    return rounded;
  }
}

template <class T>
row_entries<T> sum_of(T alpha, const matrix& a, T beta, const matrix& b) {
  row_entries<T> rows = summed(rows_of<T>(a)), other = summed(rows_of<T>(b));
  const auto scaled = [](T factor, T value) { return factor == 0 ? T{0} : product(factor, value); };
  for (auto& row : rows) {
    for (auto& e : row) e = {e.column, scaled(alpha, e.value), alpha == 0 ? 1 : 0};  // position: whether it is no term
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const auto& e : other[r]) {
      const auto at = std::find_if(rows[r].begin(), rows[r].end(), [&](const auto& x) { return x.column >= e.column; });
      const T value = scaled(beta, e.value);
      if (at == rows[r].end() || at->column != e.column) {
        rows[r].insert(at, {e.column, value, 0});
      } else if (beta != 0) {
        at->value = at->position == 1 ? value : wrapped_sum(at->value, value);
      }
    }
  }
  return rows;
}

TEST_P(adding, is_the_merge_of_the_rows) {
  const matrix& a = subject();
  const matrix b = partner_of(a);
  for_each_type(a, [&]<class T, class O>() {
    const csr<T, O> on_a = upload<T, O>(ctx(), a);
    const csr<T, std::int64_t> on_b = upload<T, std::int64_t>(ctx(), b);
    for (const auto& [alpha, beta] : {std::pair{1.0, 1.0}, {3.0, -2.0}, {0.0, 5.0}, {-7.0, 0.0}, {0.0, 0.0}}) {
      SCOPED_TRACE(alpha);
      const row_entries<T> want = sum_of(static_cast<T>(alpha), a, static_cast<T>(beta), b);
      expect_entries(ctx(), add(ctx(), alpha, on_a, beta, on_b), want, a.cols);
    }
    // What cancels stays; a NaN and an infinity do not.
    const matrix_ref sum = add(ctx(), 1, on_a, -1, on_a);
    expect_entries(ctx(), sum, sum_of(T{1}, a, T{-1}, a), a.cols);
  });
}

TEST_P(adding, new_numbers_go_into_the_same_pattern) {
  const matrix& a = subject();
  const matrix b = partner_of(a);
  for_each_type(a, [&]<class T, class O>() {
    const matrix_ref on_a = sum_duplicates(ctx(), upload<T, std::int32_t>(ctx(), a));
    const matrix_ref on_b = sum_duplicates(ctx(), upload<T, std::int32_t>(ctx(), b));
    const matrix_ref c = add(ctx(), 1, on_a, 1, on_b);
    buffer<T> values(ctx(), static_cast<std::size_t>(c.nnz));
    const row_entries<T> want = sum_of(T{5}, a, T{-3}, b);
    add_into(ctx(), 5, on_a, -3, on_b, c, values);
    matrix_ref renewed = c;
    renewed.values = values.data();
    expect_entries(ctx(), renewed, want, a.cols);

    // By 64-bit offsets, which only sums of 2^31 entries need: the same pattern and values.
    const auto widened = [&](const matrix_ref& m) {
      return matrix_ref(with_offsets<std::int64_t>(ctx(), m.as<T, std::int32_t>()));
    };
    const matrix_ref wide_a = widened(on_a), wide_b = widened(on_b), wide_c = widened(c);
    const entry_map pattern = matrices_of(ctx().backend()).add_pattern(ctx(), wide_a, wide_b);
    fill_bytes(ctx(), values.data(), ctx().space(), 0xff, values.bytes());
    add_into(ctx(), 5, wide_a, -3, wide_b, wide_c, values);
    const auto& offsets = std::get<buffer<std::int64_t>>(pattern.rowptr);
    const csr_view<T, std::int64_t> wide{a.rows,        a.cols,       c.nnz, offsets.data(), pattern.colind.data(),
                                         values.data(), ctx().space()};
    expect_entries(ctx(), with_offsets<std::int32_t>(ctx(), wide), want, a.cols);
  });
}

class add_arguments : public on_backend {};
INSTANTIATE_TEST_SUITE_P(all, add_arguments, ::testing::ValuesIn(matrix_backends()));

TEST_P(add_arguments, a_factor_of_0_does_not_read_nan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const matrix a{"", 1, 3, {0, 2}, {0, 1}, {nan, nan}}, b{"", 1, 3, {0, 2}, {1, 2}, {-0.0, 4}};
  const csr<double> on_a = upload<double, std::int64_t>(ctx(), a), on_b = upload<double, std::int64_t>(ctx(), b);
  expect_entries(ctx(), add(ctx(), 0, on_a, 1, on_b), row_entries<double>{{{0, 0, 0}, {1, -0.0, 0}, {2, 4, 0}}}, 3);
  expect_entries(ctx(), add(ctx(), 1, on_b, 0, on_a), row_entries<double>{{{0, 0, 0}, {1, -0.0, 0}, {2, 4, 0}}}, 3);
}

TEST_P(add_arguments, integers_wrap) {
  const matrix a{"", 1, 1, {0, 1}, {0}, {2147483647}};
  const csr<std::int32_t> on = upload<std::int32_t, std::int64_t>(ctx(), a);
  expect_entries(ctx(), add(ctx(), 3, on, 2, on), row_entries<std::int32_t>{{{0, 2147483643, 0}}}, 1);
}

TEST_P(add_arguments, are_checked_by_name) {
  const matrix a{"", 1, 2, {0, 1}, {0}, {1}}, b{"", 2, 1, {0, 1, 1}, {0}, {1}};
  const matrix_ref on = upload<double, std::int64_t>(ctx(), a), other = upload<double, std::int64_t>(ctx(), b);
  const matrix_ref integers = upload<std::int32_t, std::int64_t>(ctx(), a);
  std::string message;
  EXPECT_EQ(status_of([&] { add(ctx(), 1, on, 1, other); }, &message), status::invalid_dimensions);
  EXPECT_EQ(message, "A is 1 x 2, B is 2 x 1");
  EXPECT_EQ(status_of([&] { add(ctx(), 1, on, 1, integers); }, &message), status::invalid_argument);
  EXPECT_EQ(message, "A holds f64 values, B i32 ones");
  EXPECT_EQ(status_of([&] { add(ctx(), 1, integers, 0.5, integers); }, &message), status::invalid_argument);
  EXPECT_EQ(message, "beta = 0.5: must be a 32-bit integer for i32 values");
  matrix_ref null = on;
  null.values = nullptr;
  EXPECT_EQ(status_of([&] { add(ctx(), 1, on, 1, null); }, &message), status::null_pointer);
  EXPECT_EQ(message, "B has a null array");
  const matrix_ref c = add(ctx(), 1, on, 1, on);
  buffer<double> values(ctx(), 1);
  EXPECT_EQ(status_of([&] { add_into(ctx(), 1, on, 1, on, c, values); }, &message), status::invalid_argument);
  EXPECT_NE(message.find("A must be CSR"), std::string::npos) << message;
  buffer<double> many(ctx(), 2);
  EXPECT_EQ(status_of([&] { add_into(ctx(), 1, c, 1, c, c, many); }, &message), status::invalid_dimensions);
}

}  // namespace
}  // namespace tulle::testing
