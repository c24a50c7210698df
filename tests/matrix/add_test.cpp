// alpha A + beta B against a merge of rows on the host: the same bits.
#include <map>

#include "kernels/backends.hpp"
#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

class adding : public on_battery {};
TULLE_ON_BATTERY(adding, "cpu1", "cpu3", "cuda");

/// The rows in another order with every third entry left out, so that patterns overlap in part.
matrix partner_of(const matrix& m) {
  matrix out{{m.rows, m.cols}};
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

/// By the rows; a factor of 0 makes a 0 of an entry that is alone, and adds nothing to one that is not.
template <class T>
plain_csr<T> sum_of(T alpha, const matrix& a, T beta, const matrix& b) {
  const plain_csr<T> x = summed(typed<T>(a)), y = summed(typed<T>(b));
  plain_csr<T> out{0, a.cols};
  for (index_t r = 0; r < a.rows; ++r) {
    std::map<index_t, std::optional<T>> row;
    for (auto k = x.rowptr[r]; k < x.rowptr[r + 1]; ++k) {
      auto& sum = row[x.colind[k]];
      if (alpha != 0) sum = product(alpha, x.values[k]);
    }
    for (auto k = y.rowptr[r]; k < y.rowptr[r + 1]; ++k) {
      auto& sum = row[y.colind[k]];
      const T term = product(beta, y.values[k]);
      if (beta != 0) sum = sum ? wrapped_sum(*sum, term) : term;
    }
    columns stored;
    for (const auto& [column, sum] : row) {
      stored.push_back(column);
      out.values.push_back(sum.value_or(0));
    }
    out.add_row(stored);
  }
  return out;
}

TEST_P(adding, is_the_merge_of_the_rows) {
  const matrix& a = subject();
  const matrix b = partner_of(a);
  for_each_type(a, [&]<class T, class O>() {
    const csr<T, O> on_a = upload<T, O>(ctx(), a);
    const csr<T, std::int64_t> on_b = upload<T, std::int64_t>(ctx(), b);
    for (const auto& [alpha, beta] : {std::pair{1.0, 1.0}, {3.0, -2.0}, {0.0, 5.0}, {-7.0, 0.0}, {0.0, 0.0}}) {
      SCOPED_TRACE(alpha);
      expect_entries(ctx(), add(ctx(), alpha, on_a, beta, on_b),
                     sum_of(static_cast<T>(alpha), a, static_cast<T>(beta), b));
    }
    // What cancels stays; a NaN and an infinity do not.
    const matrix_ref sum = add(ctx(), 1, on_a, -1, on_a);
    expect_entries(ctx(), sum, sum_of(T{1}, a, T{-1}, a));
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
    const plain_csr<T> want = sum_of(T{5}, a, T{-3}, b);
    add_into(ctx(), 5, on_a, -3, on_b, c, values);
    matrix_ref renewed = c;
    renewed.values = values.data();
    expect_entries(ctx(), renewed, want);

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
    expect_entries(ctx(), with_offsets<std::int32_t>(ctx(), wide), want);
  });
}

class add_arguments : public on_backend {};
TULLE_ON_BACKENDS(add_arguments, "cpu1", "cpu3", "cuda");

TEST_P(add_arguments, a_factor_of_0_does_not_read_nan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const matrix_ref a = plain_csr<>{1, 3, {0, 2}, {0, 1}, {nan, nan}}.on(ctx());
  const matrix_ref b = plain_csr<>{1, 3, {0, 2}, {1, 2}, {-0.0, 4}}.on(ctx());
  const plain_csr<> sum{1, 3, {0, 3}, {0, 1, 2}, {0, -0.0, 4}};
  expect_entries(ctx(), add(ctx(), 0, a, 1, b), sum);
  expect_entries(ctx(), add(ctx(), 1, b, 0, a), sum);
}

TEST_P(add_arguments, integers_wrap) {
  const matrix_ref a = plain_csr<std::int32_t>{1, 1, {0, 1}, {0}, {2147483647}}.on(ctx());
  expect_entries(ctx(), add(ctx(), 3, a, 2, a), plain_csr<std::int32_t>{1, 1, {0, 1}, {0}, {2147483643}});
}

TEST_P(add_arguments, are_checked_by_name) {
  const matrix_ref a = plain_csr<>{1, 2, {0, 1}, {0}, {1}}.on(ctx());
  const matrix_ref tall = plain_csr<>{2, 1, {0, 1, 1}, {0}, {1}}.on(ctx());
  const matrix_ref integers = plain_csr<std::int32_t>{1, 2, {0, 1}, {0}, {1}}.on(ctx());
  expect_error(status::invalid_dimensions, "A is 1 x 2, B is 2 x 1", [&] { add(ctx(), 1, a, 1, tall); });
  expect_error(status::invalid_argument, "A holds f64 values, B i32 ones", [&] { add(ctx(), 1, a, 1, integers); });
  expect_error(status::invalid_argument, "beta = 0.5: must be a 32-bit integer for i32 values",
               [&] { add(ctx(), 1, integers, 0.5, integers); });
  matrix_ref null = a;
  null.values = nullptr;
  expect_error(status::null_pointer, "B has a null array", [&] { add(ctx(), 1, a, 1, null); });
  const matrix_ref c = add(ctx(), 1, a, 1, a);
  buffer<double> one(ctx(), 1), two(ctx(), 2);
  expect_error(status::invalid_argument, "A must be CSR", [&] { add_into(ctx(), 1, a, 1, a, c, one); });
  expect_error(status::invalid_dimensions, "values has 2", [&] { add_into(ctx(), 1, c, 1, c, c, two); });
}

}  // namespace
}  // namespace tulle::test
