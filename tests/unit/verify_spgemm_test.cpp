// The check of a product sees what is wrong with it, and agrees with the definition on small matrices.
#include <cmath>
#include <limits>

#include "support/errors.hpp"
#include "support/random.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

/// [1 0 2; 0 3 0] * [0 1; 2 0; 3 4] = [6 9; 6 0]
class CheckSpgemm : public testing::Test {
 protected:
  [[nodiscard]] spgemm_verdict verdict() const { return check_spgemm(context::cpu(1), expected, c.view()); }
  [[nodiscard]] std::string wrong() const { return verdict().wrong; }

  plain_csr<> a{2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3}}, b{3, 2, {0, 1, 2, 4}, {1, 0, 0, 1}, {1, 2, 3, 4}},
      m{2, 2, {0, 1, 2}, {1, 1}, {10, 20}}, c{2, 2, {0, 2, 3}, {0, 1, 0}, {6, 9, 6}};
  spgemm_expectation<double> expected{.a = a.view(), .b = b.view()};
};

TEST_F(CheckSpgemm, TakesWhatIsRight) {
  EXPECT_TRUE(verdict().ok());
  EXPECT_EQ(verdict().error_ratio, 0);
  EXPECT_EQ(verdict().checked_rows, 2);
  EXPECT_EQ(wrong(), "");
  expected.alpha = -2;
  c.values = {-12, -18, -12};
  EXPECT_TRUE(verdict().ok());
}

TEST_F(CheckSpgemm, SeesAWrongValue) {
  c.values[1] = std::nextafter(9, 10);
  EXPECT_GT(verdict().error_ratio, 0);
  EXPECT_TRUE(verdict().ok()) << "one rounding is within the bound";
  c.values[1] = 9 + 1e-13;
  EXPECT_FALSE(verdict().ok());
  c.values[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(verdict().ok());
}

TEST_F(CheckSpgemm, SeesAWrongPattern) {
  c.colind = {1, 0, 0};
  EXPECT_EQ(wrong(), "row 0: column 0 follows 1");
  c.colind = {0, 2, 0};
  EXPECT_EQ(wrong(), "row 0: column 2 is out of range");
  c.colind = {0, 1, 1};
  EXPECT_EQ(wrong(), "row 1: column 0 is missing");
  c = {2, 2, {0, 2, 4}, {0, 1, 0, 1}, {6, 9, 6, 0}};
  EXPECT_EQ(wrong(), "row 1: column 1 is not in the product");
  EXPECT_FALSE(verdict().ok());
}

TEST_F(CheckSpgemm, SeesWrongOffsetsAndAWrongShape) {
  c.rowptr = {0, 4, 3};
  EXPECT_EQ(wrong(), "row 0: its offsets are 0 and 4");
  c.rowptr = {0, 2, 2};
  EXPECT_EQ(wrong(), "the offsets of C run from 0 to 2");
  c = {3, 2, {0, 2, 3, 3}, {0, 1, 0}, {6, 9, 6}};
  EXPECT_EQ(wrong(), "C is 3 x 2");
  EXPECT_FALSE(verdict().ok());
}

TEST_F(CheckSpgemm, KnowsMasksAndWhatIsAdded) {
  expected.mask = m.view();
  c = {2, 2, {0, 1, 1}, {1}, {9}};
  EXPECT_TRUE(verdict().ok()) << wrong();
  expected.d = m.view();
  expected.beta = 2;
  EXPECT_EQ(wrong(), "row 1: column 1 of D is missing");
  c = {2, 2, {0, 1, 2}, {1, 1}, {29, 40}};
  EXPECT_TRUE(verdict().ok()) << wrong();
  expected.beta = 0;
  c.values = {9, 0};
  m.values[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(verdict().ok()) << wrong();
}

TEST_F(CheckSpgemm, WantsNansAndInfinitiesWhereTheyBelong) {
  a.values[0] = std::numeric_limits<double>::infinity();  // (0, 0) does not meet it, (0, 1) does
  EXPECT_FALSE(verdict().ok());
  c.values[1] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(verdict().ok());
  c.values[1] = -c.values[1];
  EXPECT_FALSE(verdict().ok());
}

/// c(0, 1) is 1 * 1 + 2 * 4, which becomes 1 * 1 - 2 * 4: alpha may multiply the terms, which are infinities of both
/// signs then, or their sum.
TEST_F(CheckSpgemm, TakesAnInfiniteAlphaTimesTheTermsOrTheirSum) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  expected.alpha = infinity;
  c.values = {infinity, infinity, infinity};
  EXPECT_TRUE(verdict().ok());
  c.values[1] = nan;
  EXPECT_FALSE(verdict().ok()) << "all terms have one sign";
  b.values[3] = -4;
  EXPECT_TRUE(verdict().ok()) << "each term";
  c.values[1] = -infinity;
  EXPECT_TRUE(verdict().ok()) << "the sum";
  c.values[1] = infinity;
  EXPECT_FALSE(verdict().ok());
  c.values[1] = -7;
  EXPECT_FALSE(verdict().ok());
}

/// alpha a_ik is beyond the largest number, alpha a_ik b_kj is not.
TEST_F(CheckSpgemm, TakesAFactorThatOverflows) {
  a = {1, 1, {0, 1}, {0}, {1e200}};
  b = {1, 1, {0, 1}, {0}, {1e-300}};
  c = {1, 1, {0, 1}, {0}, {1e100}};
  expected = {.a = a.view(), .b = b.view(), .alpha = 1e200};
  EXPECT_TRUE(verdict().ok());
  c.values[0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(verdict().ok());
  c.values[0] = -c.values[0];
  EXPECT_FALSE(verdict().ok());
}

TEST_F(CheckSpgemm, LooksAtFewerRowsWhereAllWouldTakeTooLong) {
  const spgemm_verdict sampled = check_spgemm(context::cpu(1), expected, c.view(), 2);
  EXPECT_EQ(sampled.checked_rows, 1);
  EXPECT_TRUE(sampled.ok());
}

TEST_F(CheckSpgemm, NamesTheMatrixThatDoesNotFit) {
  const auto refused = [&](status code, const char* words) { expect_error(code, words, [&] { (void)verdict(); }); };
  expected.mask = b.view();
  refused(status::invalid_dimensions, "the mask is 3 x 2, A B is 2 x 2");
  expected.d = std::exchange(expected.mask, {});
  refused(status::invalid_dimensions, "D is 3 x 2, A B is 2 x 2");
  expected.d.reset();
  expected.b = a.view();
  refused(status::invalid_dimensions, "A has 3 columns, B 2 rows");
  expected.a.space = memory_space::device;
  refused(status::invalid_argument, "A is in device memory");
}

TEST_F(CheckSpgemm, IntegersAreExactModulo2To32) {
  const plain_csr<std::int32_t, std::int32_t> x{1, 2, {0, 2}, {0, 1}, {1 << 30, 5}},
      y{2, 1, {0, 1, 2}, {0, 0}, {4, -7}}, right{1, 1, {0, 1}, {0}, {-105}}, off{1, 1, {0, 1}, {0}, {-104}};
  const spgemm_expectation<std::int32_t, std::int32_t> product{.a = x.view(), .b = y.view(), .alpha = 3};
  EXPECT_TRUE(check_spgemm(context::cpu(1), product, right.view()).ok());
  EXPECT_FALSE(check_spgemm(context::cpu(1), product, off.view()).ok());
}

/// C by its definition, in dense long doubles, and the number and size of its terms.
struct dense_entry {
  long double sum = 0, size = 0;
  int terms = 0;
  void add(long double term) {
    sum += term;
    size += std::abs(term);
    ++terms;
  }
};

template <class T>
void expect_agreement_with_the_definition(rows_are order) {
  const auto x = random_csr<T, std::int32_t>(17, 9, 4, 1, order), y = random_csr<T, std::int32_t>(9, 13, 5, 2, order),
             mask = random_csr<T, std::int32_t>(17, 13, 9, 3, order),
             d = random_csr<T, std::int32_t>(17, 13, 3, 4, order);
  spgemm_expectation<T, std::int32_t> product{
      .a = x.view(), .b = y.view(), .mask = mask.view(), .d = d.view(), .alpha = T(-2.5), .beta = T(0.3)};
  plain_csr<T> c{0, 13};
  std::vector<long double> bounds;
  for (index_t i = 0; i < 17; ++i) {
    std::vector<dense_entry> row(13);
    for (auto k = x.rowptr[i]; k < x.rowptr[i + 1]; ++k) {
      for (auto l = y.rowptr[x.colind[k]]; l < y.rowptr[x.colind[k] + 1]; ++l) {
        const index_t j = y.colind[l];
        const auto begin = mask.colind.begin() + mask.rowptr[i], end = mask.colind.begin() + mask.rowptr[i + 1];
        if (std::find(begin, end, j) != end)
          row[j].add(static_cast<long double>(product.alpha) * x.values[k] * y.values[l]);
      }
    }
    for (auto k = d.rowptr[i]; k < d.rowptr[i + 1]; ++k) {
      row[d.colind[k]].add(static_cast<long double>(product.beta) * d.values[k]);
    }
    columns stored;
    for (index_t j = 0; j < 13; ++j) {
      const dense_entry& e = row[j];
      if (e.terms == 0) continue;
      const long double u = std::numeric_limits<T>::epsilon() / 2, n = e.terms + 2;
      stored.push_back(j);
      c.values.push_back(static_cast<T>(e.sum));
      bounds.push_back(n * u / (1 - n * u) * e.size);
    }
    c.add_row(stored);
  }
  expect_product(product, c);
  for (std::size_t k = 0; k < c.values.size(); ++k) {
    const T right = std::exchange(c.values[k], static_cast<T>(c.values[k] + 2 * bounds[k]));
    EXPECT_GT(check_spgemm(context::cpu(1), product, c.view()).error_ratio, 1) << k;
    c.values[k] = right;
  }
}

TEST(CheckSpgemmDefinition, HoldsAndTwiceTheBoundIsSeen) {
  for (const rows_are order : {rows_are::increasing, rows_are::shuffled, rows_are::repeating}) {
    expect_agreement_with_the_definition<double>(order);
    expect_agreement_with_the_definition<float>(order);
  }
}

}  // namespace
}  // namespace tulle::test
