// Every kind of defect, planted one by one: the finding, its row and its entry.
#include <algorithm>
#include <limits>

#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

class validating : public on_backend {
 protected:
  /// 4 x 5: {0 2 4} {} {1 3} {2}.
  static matrix sound() { return {{4, 5, {0, 3, 3, 5, 6}, {0, 2, 4, 1, 3, 2}, {1, 2, 3, 4, 5, 6}}}; }
  static constexpr validate_options everything{true, true, true};

  void expect_finding(const matrix& m, validate_options options, data_status what, std::int64_t row,
                      std::int64_t entry) {
    for_each_type(m, [&]<class T, class O>() {
      const csr<T, O> a = upload<T, O>(ctx(), m);
      const validation found = validate(ctx(), a.view(), options);
      EXPECT_EQ(name(found.what), name(what));
      EXPECT_EQ(found.row, row);
      EXPECT_EQ(found.entry, entry);
    });
  }
};
TULLE_ON_BACKENDS(validating, "cpu1", "cpu2", "cpu5", "cuda");

TEST_P(validating, sound_matrices_pass) {
  expect_finding(sound(), everything, data_status::success, -1, -1);
  for (const matrix& m : format_battery()) {
    SCOPED_TRACE(m.name);
    expect_finding(m, {}, data_status::success, -1, -1);
  }
}

TEST_P(validating, offsets) {
  constexpr std::int64_t huge = std::numeric_limits<std::int32_t>::max();
  const std::tuple<std::size_t, std::int64_t, std::int64_t> defects[] = {
      {0, 1, 0},    {0, -1, 0},    {1, -5, 0}, {1, 4, 1}, {2, 2, 1}, {3, 7, 2},
      {3, huge, 2}, {3, -huge, 2}, {4, 5, 3},  {4, 7, 3}, {4, 0, 3}};
  for (const auto& [at, value, row] : defects) {
    SCOPED_TRACE(testing::Message() << "rowptr[" << at << "] = " << value);
    matrix m = sound();
    m.rowptr[at] = value;
    expect_finding(m, {}, data_status::invalid_offsets, row, -1);
  }
}

TEST_P(validating, offsets_come_before_entries) {
  matrix m = sound();
  m.colind[0] = 99;
  m.rowptr[4] = 7;
  expect_finding(m, everything, data_status::invalid_offsets, 3, -1);
}

TEST_P(validating, offsets_of_a_matrix_without_rows) {
  matrix m{{0, 5, {1}, {0}, {1}}};
  expect_finding(m, {}, data_status::invalid_offsets, -1, -1);
  m.rowptr = {0};
  expect_finding(m, {}, data_status::invalid_offsets, -1, -1);
}

TEST_P(validating, column_indices) {
  for (const index_t column : {-1, 5, std::numeric_limits<index_t>::min(), std::numeric_limits<index_t>::max()}) {
    matrix m = sound();
    m.colind[4] = column;
    expect_finding(m, {}, data_status::index_out_of_range, 2, 4);
    expect_finding(m, everything, data_status::index_out_of_range, 2, 4);
  }
}

TEST_P(validating, order_and_duplicates_only_when_asked) {
  matrix m = sound();
  m.colind = {0, 4, 2, 3, 3, 2};
  expect_finding(m, {}, data_status::success, -1, -1);
  expect_finding(m, {.sorted = true}, data_status::unsorted, 0, 2);
  expect_finding(m, {.duplicates = true}, data_status::duplicate, 2, 4);
  expect_finding(m, everything, data_status::unsorted, 0, 2);
  m.colind = {0, 2, 4, 3, 3, 2};
  expect_finding(m, {.sorted = true}, data_status::success, -1, -1);
  expect_finding(m, everything, data_status::duplicate, 2, 4);
}

TEST_P(validating, order_is_within_rows) {
  matrix m = sound();
  m.colind = {0, 2, 4, 0, 1, 1};  // row 2 starts below the end of row 0, row 3 with the last column of row 2
  expect_finding(m, everything, data_status::success, -1, -1);
}

TEST_P(validating, finite_values_only_when_asked) {
  matrix m = sound();
  m.floating_only = true;
  m.values[3] = std::numeric_limits<double>::infinity();
  m.values[5] = std::numeric_limits<double>::quiet_NaN();
  expect_finding(m, {.sorted = true, .duplicates = true}, data_status::success, -1, -1);
  expect_finding(m, {.finite = true}, data_status::inf, 2, 3);
  m.values[3] = -m.values[3];
  expect_finding(m, {.finite = true}, data_status::inf, 2, 3);
  m.values[3] = 0;
  expect_finding(m, {.finite = true}, data_status::nan, 3, 5);
}

TEST_P(validating, the_gravest_finding_of_an_entry) {
  matrix m = sound();
  m.floating_only = true;
  m.values[1] = std::numeric_limits<double>::quiet_NaN();
  m.colind[1] = 9;
  expect_finding(m, everything, data_status::index_out_of_range, 0, 1);
  m.colind[1] = 0;
  expect_finding(m, everything, data_status::duplicate, 0, 1);
}

TEST_P(validating, the_first_of_many_findings) {
  const context host = context::cpu(2);
  const auto a = generate<double>(host, "gen:short:n=100000");
  matrix m{plain(a)};
  m.floating_only = true;
  for (std::int64_t k = m.nnz() - 1; k > 5000; k -= 97) {
    m.colind[k] = -1;
    std::int64_t row = std::upper_bound(m.rowptr.begin(), m.rowptr.end(), k) - m.rowptr.begin() - 1;
    if (k < 5200 || k > m.nnz() - 200) expect_finding(m, everything, data_status::index_out_of_range, row, k);
  }
}

TEST(validation_message, names_row_and_entry) {
  EXPECT_EQ((validation{data_status::index_out_of_range, 17, 203}).message(),
            "row 17, entry 203: column index out of range");
  EXPECT_EQ((validation{data_status::invalid_offsets, 3, -1}).message(),
            "row 3: row offsets do not ascend from 0 to nnz");
  EXPECT_EQ(validation{}.message(), "no defect");
}

}  // namespace
}  // namespace tulle::test
