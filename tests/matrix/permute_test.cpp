// Permutations: what is none is named, inverses and compositions, and matrices in another order, entry by entry.
#include <random>
#include <tulle/ops/permutation.hpp>

#include "support/errors.hpp"
#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

std::vector<index_t> shuffled(index_t n, unsigned seed) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

/// Row i is row rows[i], entries in their order, columns renamed; then by columns, stably, where they ascended.
template <class T>
plain_csr<T> permuted(const plain_csr<T>& a, const std::vector<index_t>& rows, const std::vector<index_t>& columns,
                      bool ascending) {
  std::vector<index_t> place(columns.size());
  for (std::size_t j = 0; j < columns.size(); ++j) place[static_cast<std::size_t>(columns[j])] = static_cast<index_t>(j);
  plain_csr<T> out{a.rows, a.cols, {0}, {}, {}};
  for (const index_t row : rows) {
    for (auto k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      out.colind.push_back(place[static_cast<std::size_t>(a.colind[k])]);
      out.values.push_back(a.values[k]);
    }
    out.rowptr.push_back(static_cast<std::int64_t>(out.colind.size()));
  }
  return ascending ? sorted(out) : out;
}

template <class T>
bool ascends(const plain_csr<T>& a) {
  for (index_t i = 0; i < a.rows; ++i) {
    for (auto k = a.rowptr[i] + 1; k < a.rowptr[i + 1]; ++k) {
      if (a.colind[k] < a.colind[k - 1]) return false;
    }
  }
  return true;
}

class permuting : public on_battery {};
TULLE_ON_BATTERY(permuting, "cpu1", "cpu3", "cuda");

TEST_P(permuting, rows_and_columns_move_entry_by_entry) {
  const std::vector<index_t> p = shuffled(subject().rows, 1), q = shuffled(subject().cols, 2);
  const permutation rows(ctx(), p), columns(ctx(), q);
  const context host = context::cpu(1);
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(ctx(), subject());
    const plain_csr<T> m = typed<T>(subject());
    const bool in_order = ascends(m);
    expect_entries(ctx(), permute(ctx(), a, rows, columns), permuted(m, p, q, in_order));
    expect_entries(ctx(), permute(ctx(), a, rows.on(host), columns.on(host)), permuted(m, p, q, in_order));
    const std::vector<index_t> same = permutation::identity(host, subject().cols).to_vector();
    expect_entries(ctx(), permute_rows(ctx(), a, rows), permuted(m, p, same, false));
    const matrix_ref back = permute(ctx(), permute(ctx(), a, rows, columns), rows.inverse(), columns.inverse());
    expect_entries(ctx(), back, m);
    if (m.rows == m.cols) {
      expect_entries(ctx(), permute_symmetric(ctx(), a, rows), permuted(m, p, p, in_order));
    }
  });
}

class orders : public on_backend {};
TULLE_ON_BACKENDS(orders, "cpu1", "cuda");

TEST_P(orders, the_first_number_that_is_no_part_of_an_order_is_named) {
  const auto refused = [&](const auto& order, const char* message) {
    expect_error(status::invalid_argument, message, [&] { permutation(ctx(), order); });
    expect_error(status::invalid_argument, message, [&] { permutation(ctx(), to_buffer(ctx(), order)); });
  };
  refused(std::vector<std::int32_t>{0, 1, 3}, "order[2] = 3: must be 0 to 2");
  refused(std::vector<std::int32_t>{0, -1, 3}, "order[1] = -1: must be 0 to 2");
  refused(std::vector<std::int64_t>{1, 0, 1, 7}, "order[2] = 1, as order[0] is: every number from 0 to 3 must be there once");
  refused(std::vector<std::int64_t>{std::int64_t{1} << 32}, "order[0] = 4294967296: must be 0 to 0");
  EXPECT_EQ(permutation(ctx(), std::vector<std::int32_t>{}).size(), 0);
}

TEST_P(orders, inverses_and_compositions) {
  for (const index_t n : {0, 1, 2, 1000}) {
    const std::vector<index_t> order = shuffled(n, 3), after = shuffled(n, 4);
    const permutation p(ctx(), order), q(ctx(), after);
    EXPECT_EQ(p.to_vector(), order);
    EXPECT_TRUE(p.then(p.inverse()).is_identity());
    EXPECT_TRUE(p.inverse().then(p).is_identity());
    std::vector<index_t> both;
    for (const index_t i : after) both.push_back(order[static_cast<std::size_t>(i)]);
    EXPECT_EQ(p.then(q).to_vector(), both);
    EXPECT_EQ(p.then(q).inverse().to_vector(), q.inverse().then(p.inverse()).to_vector());
  }
  expect_error(status::invalid_dimensions, "an order of 3 after one of 2", [&] {
    (void)permutation::identity(ctx(), 2).then(permutation::identity(ctx(), 3));
  });
}

TEST_P(orders, vectors_go_and_come_back) {
  const std::vector<index_t> order = shuffled(257, 5);
  const permutation p(ctx(), order);
  std::vector<double> numbers(3 * 257);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const buffer<double> x = to_buffer(ctx(), numbers);
  buffer<double> y(ctx(), x.size()), z(ctx(), x.size());
  const auto columns = [&](auto& v) {
    using element = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(v)>>, const void, void>;
    return basic_multivector_ref<element>(scalar_type::f64, 257, 3, 257, vector_order::column_major, v.data(),
                                          ctx().space(), ctx().device());
  };
  p.apply(columns(x), columns(y));
  p.apply_inverse(columns(y), columns(z));
  EXPECT_EQ(to_vector(ctx(), z), numbers);
  const std::vector<double> moved = to_vector(ctx(), y);
  for (std::size_t i = 0; i < 257; ++i) {
    EXPECT_EQ(moved[257 + i], numbers[257 + static_cast<std::size_t>(order[i])]);
  }
  expect_error(status::invalid_dimensions, "x has 771 elements", [&] { p.apply(x, y); });
}

TEST_P(orders, sizes_that_do_not_fit_are_refused) {
  const matrix_ref a = plain_csr<>{2, 3, {0, 1, 2}, {0, 2}, {1, 2}}.on(ctx());
  expect_error(status::invalid_dimensions, "an order of 3 for the 2 rows of A",
               [&] { permute_rows(ctx(), a, permutation::identity(ctx(), 3)); });
  expect_error(status::invalid_dimensions, "an order of 2 for the 3 columns of A",
               [&] { permute_symmetric(ctx(), a, permutation::identity(ctx(), 2)); });
}

}  // namespace
}  // namespace tulle::test
