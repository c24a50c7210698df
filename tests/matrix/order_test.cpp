// Transposes, rows in order, duplicates added up, other formats: the entries and their order, exactly.
#include <numeric>

#include "kernels/backends.hpp"
#include "matrix/entries.hpp"

namespace tulle::testing {
namespace {

class ordering : public on_battery {};
INSTANTIATE_TEST_SUITE_P(battery, ordering, backends_and_battery(), backend_and_matrix);

template <class T>
row_entries<T> transposed_rows(const matrix& m) {
  row_entries<T> rows(static_cast<std::size_t>(m.cols));
  const row_entries<T> from = rows_of<T>(m);
  for (index_t r = 0; r < m.rows; ++r) {
    for (const auto& e : from[r]) rows[e.column].push_back({r, e.value, e.position});
  }
  return rows;
}

TEST_P(ordering, transposes_say_where_entries_were) {
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(ctx(), subject());
    const transposition t = transpose(ctx(), matrix_ref(a));
    const row_entries<T> want = transposed_rows<T>(subject());
    expect_entries(ctx(), t.matrix, want, subject().rows);
    std::vector<std::int64_t> positions;
    for (const auto& row : want) {
      for (const auto& e : row) positions.push_back(e.position);
    }
    EXPECT_TRUE(same_bits(to_vector(ctx(), t.positions), positions));
    // Twice gives A sorted.
    const transposition back = transpose(ctx(), t.matrix);
    expect_entries(ctx(), back.matrix, sorted(rows_of<T>(subject())), subject().cols);
  });
}

TEST_P(ordering, positions_compose_over_transpositions) {
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(ctx(), subject());
    const auto& backend = formats_of<T, O>(ctx().backend());
    const auto once = backend.transpose_pattern(ctx(), a.view(), nullptr);
    const csr_view<T, O> columns{a.cols,  a.rows,       a.nnz(), once.rowptr.data(), once.colind.data(),
                                 nullptr, ctx().space()};
    const auto twice = backend.transpose_pattern(ctx(), columns, once.positions.data());
    std::vector<std::int64_t> want;
    for (const auto& row : sorted(rows_of<T>(subject()))) {
      for (const auto& e : row) want.push_back(e.position);
    }
    EXPECT_TRUE(same_bits(to_vector(ctx(), twice.positions), want));
    EXPECT_TRUE(same_bits(to_vector(ctx(), twice.rowptr), convert<O>(subject().rowptr)));
  });
}

TEST_P(ordering, rows_are_sorted_and_duplicates_added_in_storage_order) {
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, std::int32_t> a = upload<T, std::int32_t>(ctx(), subject());
    const row_entries<T> rows = rows_of<T>(subject());
    expect_entries(ctx(), sort(ctx(), a), sorted(rows), subject().cols);
    const matrix_ref s = sum_duplicates(ctx(), a);
    expect_entries(ctx(), s, summed(rows), subject().cols);
    EXPECT_EQ(sum_duplicates(ctx(), s).colind, s.colind) << "what is in order is not copied";
    const matrix_ref wide = sum_duplicates(ctx(), upload<T, std::int64_t>(ctx(), subject()));
    EXPECT_EQ(wide.nnz, s.nnz);
  });
}

TEST_P(ordering, every_format_comes_to_csr_from_the_host_too) {
  const context host = context::cpu(2);
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(host, subject());
    const row_entries<T> rows = rows_of<T>(subject());
    const std::vector<matrix_ref> formats = {to_coo(host, a.view()), to_ell(host, a.view(), 1e9),
                                             to_sell(host, a.view(), 64)};
    for (const matrix_ref& m : formats) {
      const matrix_ref copy = clone(ctx(), m);
      EXPECT_EQ(copy.format, m.format);
      EXPECT_EQ(copy.space, ctx().space());
      EXPECT_TRUE(copy.owner);
      expect_entries(ctx(), to_csr(ctx(), copy), rows, subject().cols);
      expect_entries(ctx(), to_csr(ctx(), m), rows, subject().cols);
    }
    // Columns of the transpose; sorted rows; rows sorted and added up.
    const matrix_ref csc = to_csc(host, a.view());
    const matrix_ref from_csc = to_csr(ctx(), csc);
    EXPECT_EQ(from_csc.types.offset, offset_type_of<O>);
    expect_entries(ctx(), extract(ctx(), csc, {0, a.rows}, {0, a.cols}), sorted(rows), subject().cols);
    const matrix_ref bsr = to_bsr(host, a.view(), 3);
    expect_entries(ctx(), sum_duplicates(ctx(), bsr), summed(rows), subject().cols);
  });
}

class summing : public on_backend {};
INSTANTIATE_TEST_SUITE_P(all, summing, ::testing::ValuesIn(matrix_backends()));

TEST_P(summing, sums_run_in_storage_order) {
  const matrix m{"", 1, 2, {0, 4}, {1, 0, 1, 1}, {1e16, 5, 1, -1e16}};
  expect_entries(ctx(), sum_duplicates(ctx(), upload<double, std::int32_t>(ctx(), m)),
                 row_entries<double>{{{0, 5, 0}, {1, (1e16 + 1) - 1e16, 0}}}, 2);
}

TEST_P(summing, integers_wrap) {
  const matrix m{"", 1, 1, {0, 2}, {0, 0}, {2147483647, 1}};
  const csr<std::int32_t, std::int64_t> a = upload<std::int32_t, std::int64_t>(ctx(), m);
  expect_entries(ctx(), sum_duplicates(ctx(), a), row_entries<std::int32_t>{{{0, -2147483647 - 1, 0}}}, 1);
  buffer<std::int32_t> diagonal_of_a(ctx(), 1);
  diagonal(ctx(), a, diagonal_of_a);
  EXPECT_EQ(to_vector(ctx(), diagonal_of_a)[0], -2147483647 - 1);
}

TEST_P(summing, broken_structure_is_named) {
  const matrix m{"", 2, 2, {0, 1, 2}, {0, 7}, {1, 2}};
  std::string message;
  EXPECT_EQ(status_of([&] { sum_duplicates(ctx(), upload<double, std::int32_t>(ctx(), m)); }, &message),
            status::invalid_structure);
  EXPECT_NE(message.find("A: row 1"), std::string::npos) << message;
}

}  // namespace
}  // namespace tulle::testing
