// The check of a product: one row at a time, Gustavson's way, into the slots that the row of C claims.
//
// The bound is that of src/ops/verify.cpp, an entry in place of a row.
#include "spgemm_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <vector>

#include "ops/double_double.hpp"

namespace tulle::cli {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// An entry of C in higher precision.
struct entry {
  double_double sum;     // of the products, for f64
  double plain = 0;      // the same sum in double; what it says of infinities and NaNs counts
  double magnitude = 0;  // of |a| |b|
  std::int64_t terms = 0;
  double d = 0;
  bool has_d = false;
  bool finite = true;
};

template <std::floating_point T>
double error_of(const entry& e, T alpha_t, T beta_t, T computed) {
  const double alpha = alpha_t, beta_d = beta_t == 0 || !e.has_d ? 0.0 : double{beta_t} * e.d, got = computed;
  const double plain = beta_d == 0 ? alpha * e.plain : alpha * e.plain + beta_d;
  if (!e.finite || !std::isfinite(alpha) || !std::isfinite(beta_d)) {
    const bool same = std::isnan(plain) ? std::isnan(got) : std::isfinite(plain) || got == plain;
    return same ? 0 : infinity;
  }
  const double terms = static_cast<double>(e.terms) + 2;
  const double ku = terms * std::numeric_limits<T>::epsilon() / 2;
  const double scaled = std::abs(alpha) * e.magnitude + std::abs(beta_d);
  if (ku >= 1 || !(std::max(e.magnitude, scaled) * (1 + ku) < std::numeric_limits<T>::max())) return 0;
  const double bound =
      ku / (1 - ku) * scaled + terms * std::max(1.0, std::abs(alpha)) * double{std::numeric_limits<T>::denorm_min()};
  double difference = std::abs(got - plain);
  if constexpr (std::same_as<T, double>) {
    const double_double exact = alpha * e.sum + two_product(beta_d == 0 ? 0.0 : beta_t, e.d);
    difference = std::abs((got - exact.high) - exact.low);
  }
  return std::isnan(difference) ? infinity : difference / bound;
}

/// What one thread needs: a slot a column, 0 where the row of C has none.
template <scalar T>
class row_checker {
 public:
  explicit row_checker(const spgemm_expectation<T>& x)
      : x_(x), slot_(static_cast<std::size_t>(x.b.cols), 0), allowed_(x.mask ? slot_.size() : 0, -1) {}

  /// The largest error of the row over its bound; `wrong` where that is infinite for the pattern.
  double check(index_t row, csr_view<T, std::int64_t> c, std::string& wrong) {
    const std::int64_t first = c.rowptr[row], last = c.rowptr[row + 1];
    entries_.assign(static_cast<std::size_t>(std::max<std::int64_t>(last - first, 0)), {});
    wrong = claim(row, c);
    if (wrong.empty()) wrong = add_products(row);
    if (wrong.empty()) wrong = add_d(row);
    double worst = 0;
    for (std::int64_t k = first; k < last && wrong.empty(); ++k) {
      const entry& e = entries_[static_cast<std::size_t>(k - first)];
      if (e.terms == 0 && !e.has_d) wrong = fmt::format("row {}: column {} is not in the product", row, c.colind[k]);
      worst = std::max(worst, error_of<T>(e, x_.alpha, x_.beta, c.values[k]));
    }
    for (std::int64_t k = first; k < last; ++k) {
      if (in_range(c.colind[k])) slot_[static_cast<std::size_t>(c.colind[k])] = 0;
    }
    return wrong.empty() ? worst : infinity;
  }

 private:
  [[nodiscard]] bool in_range(index_t column) const { return column >= 0 && column < x_.b.cols; }

  std::string claim(index_t row, csr_view<T, std::int64_t> c) {
    for (std::int64_t k = c.rowptr[row]; k < c.rowptr[row + 1]; ++k) {
      if (!in_range(c.colind[k])) return fmt::format("row {}: column {} is out of range", row, c.colind[k]);
      if (k > c.rowptr[row] && c.colind[k] <= c.colind[k - 1]) {
        return fmt::format("row {}: column {} follows {}", row, c.colind[k], c.colind[k - 1]);
      }
      slot_[static_cast<std::size_t>(c.colind[k])] = static_cast<index_t>(k - c.rowptr[row] + 1);
    }
    if (x_.mask) {
      for (std::int64_t k = x_.mask->rowptr[row]; k < x_.mask->rowptr[row + 1]; ++k) {
        allowed_[static_cast<std::size_t>(x_.mask->colind[k])] = row;
      }
    }
    return {};
  }

  std::string add_products(index_t row) {
    const auto &a = x_.a, &b = x_.b;
    for (std::int64_t k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      for (std::int64_t l = b.rowptr[a.colind[k]]; l < b.rowptr[a.colind[k] + 1]; ++l) {
        const auto column = static_cast<std::size_t>(b.colind[l]);
        if (x_.mask && allowed_[column] != row) continue;
        if (slot_[column] == 0) return fmt::format("row {}: column {} is missing", row, column);
        add(entries_[static_cast<std::size_t>(slot_[column] - 1)], a.values[k], b.values[l]);
      }
    }
    return {};
  }

  static void add(entry& e, double left, double right) {
    const double product = left * right;
    ++e.terms;
    e.plain += product;
    e.magnitude += std::abs(product);
    e.finite = e.finite && std::isfinite(left) && std::isfinite(right);
    if constexpr (std::same_as<T, double>) e.sum = e.sum + two_product(left, right);
  }

  std::string add_d(index_t row) {
    if (!x_.d) return {};
    for (std::int64_t k = x_.d->rowptr[row]; k < x_.d->rowptr[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(x_.d->colind[k]);
      if (slot_[column] == 0) return fmt::format("row {}: column {} of D is missing", row, column);
      entry& e = entries_[static_cast<std::size_t>(slot_[column] - 1)];
      e.d += x_.d->values[k];
      e.has_d = true;
    }
    return {};
  }

  const spgemm_expectation<T>& x_;
  std::vector<index_t> slot_;     // 1 + position in the row of C
  std::vector<index_t> allowed_;  // the last row whose mask had the column
  std::vector<entry> entries_;
};

/// Every how manieth row is looked at.
template <scalar T>
index_t stride_for(const spgemm_expectation<T>& x, std::int64_t most_products) {
  std::int64_t products = 0;
  for (index_t i = 0; i < x.a.rows; ++i) {
    for (std::int64_t k = x.a.rowptr[i]; k < x.a.rowptr[i + 1]; ++k) {
      products += x.b.rowptr[x.a.colind[k] + 1] - x.b.rowptr[x.a.colind[k]];
    }
  }
  return static_cast<index_t>(std::min<std::int64_t>(1 + products / most_products, std::max(x.a.rows, 1)));
}

}  // namespace

template <scalar T>
spgemm_verdict check_spgemm(const context& host, const spgemm_expectation<T>& expected, csr_view<T, std::int64_t> c,
                            std::int64_t most_products) {
  spgemm_verdict verdict;
  if (c.rows != expected.a.rows || c.cols != expected.b.cols) {
    return {infinity, 0, fmt::format("C is {} x {}", c.rows, c.cols)};
  }
  const index_t stride = stride_for(expected, most_products);
  const index_t rows = (c.rows + stride - 1) / stride;
  index_t first_wrong = rows;
#pragma omp parallel num_threads(host.threads())
  {
    row_checker<T> checker(expected);
    double worst = 0;
    std::string wrong;
#pragma omp for schedule(dynamic, 16)
    for (index_t i = 0; i < rows; ++i) {
      worst = std::max(worst, checker.check(i * stride, c, wrong));
      if (wrong.empty()) continue;
#pragma omp critical(tulle_check_spgemm)
      if (i < first_wrong) {
        first_wrong = i;
        verdict.wrong = wrong;
      }
    }
#pragma omp critical(tulle_check_spgemm)
    verdict.error_ratio = std::max(verdict.error_ratio, worst);
  }
  verdict.checked_rows = rows;
  return verdict;
}

template <scalar T>
bool has_sorted_rows(const context& host, csr_view<T, std::int64_t> c) {
  bool sorted = true;
#pragma omp parallel for num_threads(host.threads()) reduction(&& : sorted)
  for (index_t row = 0; row < c.rows; ++row) {
    for (std::int64_t k = c.rowptr[row] + 1; k < c.rowptr[row + 1]; ++k) {
      sorted = sorted && c.colind[k - 1] < c.colind[k];
    }
  }
  return sorted;
}

#define TULLE_INSTANTIATE(T)                                                                                       \
  template spgemm_verdict check_spgemm<T>(const context&, const spgemm_expectation<T>&, csr_view<T, std::int64_t>, \
                                          std::int64_t);                                                           \
  template bool has_sorted_rows<T>(const context&, csr_view<T, std::int64_t>);
TULLE_INSTANTIATE(float)
TULLE_INSTANTIATE(double)

}  // namespace tulle::cli
