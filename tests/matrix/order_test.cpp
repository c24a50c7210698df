// Transposes, rows in order, duplicates added up, other formats: the entries and their order, exactly.
#include "kernels/backends.hpp"
#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

class ordering : public on_battery {};
TULLE_ON_BATTERY(ordering, "cpu1", "cpu3", "cuda");

TEST_P(ordering, transposes_say_where_entries_were) {
  for_each_type(subject(), [&]<class T, class O>() {
    const plain_csr<T> m = typed<T>(subject());
    const transposition t = transpose(ctx(), matrix_ref(upload<T, O>(ctx(), subject())));
    expect_entries(ctx(), t.matrix, transposed(m));
    EXPECT_TRUE(holds(ctx(), t.positions, transposed(positions_in(m)).values));
    const transposition back = transpose(ctx(), t.matrix);
    expect_entries(ctx(), back.matrix, sorted(m));
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
    EXPECT_TRUE(holds(ctx(), twice.positions, sorted(positions_in(subject())).values));
    EXPECT_TRUE(holds(ctx(), twice.rowptr, subject().rowptr));
  });
}

TEST_P(ordering, rows_are_sorted_and_duplicates_added_in_storage_order) {
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, std::int32_t> a = upload<T, std::int32_t>(ctx(), subject());
    const plain_csr<T> m = typed<T>(subject());
    expect_entries(ctx(), sort(ctx(), a), sorted(m));
    const matrix_ref s = sum_duplicates(ctx(), a);
    expect_entries(ctx(), s, summed(m));
    EXPECT_EQ(sum_duplicates(ctx(), s).colind, s.colind) << "what is in order is not copied";
    const matrix_ref wide = sum_duplicates(ctx(), upload<T, std::int64_t>(ctx(), subject()));
    EXPECT_EQ(wide.nnz, s.nnz);
  });
}

TEST_P(ordering, every_format_comes_to_csr_from_the_host_too) {
  const context host = context::cpu(2);
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, O> a = upload<T, O>(host, subject());
    const plain_csr<T> want = typed<T>(subject());
    const std::vector<matrix_ref> formats = {to_coo(host, a.view()), to_ell(host, a.view(), 1e9),
                                             to_sell(host, a.view(), 64)};
    for (const matrix_ref& m : formats) {
      const matrix_ref copy = clone(ctx(), m);
      EXPECT_EQ(copy.format, m.format);
      EXPECT_EQ(copy.space, ctx().space());
      EXPECT_TRUE(copy.owner);
      expect_entries(ctx(), to_csr(ctx(), copy), want);
      expect_entries(ctx(), to_csr(ctx(), m), want);
    }
    // Columns of the transpose; sorted rows; rows sorted and added up.
    const matrix_ref csc = to_csc(host, a.view());
    const matrix_ref from_csc = to_csr(ctx(), csc);
    EXPECT_EQ(from_csc.types.offset, offset_type_of<O>);
    expect_entries(ctx(), extract(ctx(), csc, {0, a.rows}, {0, a.cols}), sorted(want));
    const matrix_ref bsr = to_bsr(host, a.view(), 3);
    expect_entries(ctx(), sum_duplicates(ctx(), bsr), summed(want));
  });
}

class summing : public on_backend {};
TULLE_ON_BACKENDS(summing, "cpu1", "cpu3", "cuda");

TEST_P(summing, sums_run_in_storage_order) {
  const matrix_ref a = plain_csr<>{1, 2, {0, 4}, {1, 0, 1, 1}, {1e16, 5, 1, -1e16}}.on(ctx());
  expect_entries(ctx(), sum_duplicates(ctx(), a), plain_csr<>{1, 2, {0, 2}, {0, 1}, {5, (1e16 + 1) - 1e16}});
}

TEST_P(summing, integers_wrap) {
  const matrix_ref a = plain_csr<std::int32_t>{1, 1, {0, 2}, {0, 0}, {2147483647, 1}}.on(ctx());
  expect_entries(ctx(), sum_duplicates(ctx(), a), plain_csr<std::int32_t>{1, 1, {0, 1}, {0}, {-2147483647 - 1}});
  buffer<std::int32_t> diagonal_of_a(ctx(), 1);
  diagonal(ctx(), a, diagonal_of_a);
  EXPECT_EQ(to_vector(ctx(), diagonal_of_a)[0], -2147483647 - 1);
}

TEST_P(summing, broken_structure_is_named) {
  const matrix_ref a = plain_csr<>{2, 2, {0, 1, 2}, {0, 7}, {1, 2}}.on(ctx());
  expect_error(status::invalid_structure, "A: row 1", [&] { sum_duplicates(ctx(), a); });
}

}  // namespace
}  // namespace tulle::test
