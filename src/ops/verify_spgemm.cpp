// The check of a product: one row at a time by Gustavson's method, into the slots that the row of C claims.
//
// The bound of an entry is that of exact_sum.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <mutex>
#include <optional>
#include <tulle/ops/verify.hpp>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "formats/check.hpp"
#include "ops/exact_sum.hpp"

namespace tulle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// An entry of C.
template <scalar T>
struct entry {
  term_sum<T> product, d;
  T scaled = 0;  // the product in T, with alpha a factor of each term
};

/// What one thread needs: a slot for each column, 0 where the row of C has none.
template <scalar T, offset O, offset P>
class row_checker {
 public:
  explicit row_checker(const spgemm_expectation<T, O>& x)
      : x_(x), slot_(static_cast<std::size_t>(x.b.cols), 0), allowed_(x.mask ? slot_.size() : 0, -1) {}

  /// The largest error of the row over its bound; `wrong` where that is infinite for the pattern.
  double check(index_t row, csr_view<T, P> c, std::string& wrong) {
    const std::int64_t first = c.rowptr[row], last = c.rowptr[row + 1];
    if (first < 0 || last < first || last > c.nnz) {
      wrong = fmt::format("row {}: its offsets are {} and {}", row, first, last);
      return infinity;
    }
    entries_.assign(static_cast<std::size_t>(last - first), {});
    wrong = claim(row, c);
    if (wrong.empty()) wrong = add_products(row);
    if (wrong.empty()) wrong = add_d(row);
    double worst = 0;
    for (std::int64_t k = first; k < last && wrong.empty(); ++k) {
      const entry<T>& e = entries_[static_cast<std::size_t>(k - first)];
      if (e.product.terms + e.d.terms == 0) {
        wrong = fmt::format("row {}: column {} is not in the product", row, c.colind[k]);
      }
      worst = std::max(worst, ratio(e, static_cast<double>(c.values[k])));
    }
    for (std::int64_t k = first; k < last; ++k) {
      if (in_range(c.colind[k])) slot_[static_cast<std::size_t>(c.colind[k])] = 0;
    }
    return wrong.empty() ? worst : infinity;
  }

 private:
  /// The error of a computed entry over its bound. alpha may multiply every term or their sum: where that makes other
  /// infinities or NaNs (an infinite alpha, or alpha a_ik beyond T's largest number), either is right, and the sign of
  /// an infinite alpha times a sum that may round to zero is anybody's.
  [[nodiscard]] double ratio(const entry<T>& e, double computed) const {
    const double of_sum = error_ratio(exact_of(e.product, e.d, x_.alpha, x_.beta), computed);
    if (std::integral<T> || of_sum <= 1 || std::isfinite(computed)) return of_sum;
    const bool adds = x_.beta != 0 && e.d.terms > 0;
    const double of_terms = adds ? e.scaled + x_.beta * e.d.plain : e.scaled;
    if (std::isnan(of_terms) ? std::isnan(computed) : computed == of_terms) return 0;
    const exact_element sum = exact_of(e.product, {}, T{1}, T{0});
    return std::isinf(static_cast<double>(x_.alpha)) && std::abs(sum.value) <= sum.bound ? 0 : of_sum;
  }

  [[nodiscard]] bool in_range(index_t column) const { return column >= 0 && column < x_.b.cols; }

  std::string claim(index_t row, csr_view<T, P> c) {
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
        entry<T>& e = entries_[static_cast<std::size_t>(slot_[column] - 1)];
        e.product.add(a.values[k], b.values[l]);
        if constexpr (std::floating_point<T>) e.scaled += x_.alpha * a.values[k] * b.values[l];
      }
    }
    return {};
  }

  std::string add_d(index_t row) {
    if (!x_.d) return {};
    for (std::int64_t k = x_.d->rowptr[row]; k < x_.d->rowptr[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(x_.d->colind[k]);
      if (slot_[column] == 0) return fmt::format("row {}: column {} of D is missing", row, column);
      entries_[static_cast<std::size_t>(slot_[column] - 1)].d.add(x_.d->values[k], 1);
    }
    return {};
  }

  const spgemm_expectation<T, O>& x_;
  std::vector<index_t> slot_;     // 1 + position in the row of C
  std::vector<index_t> allowed_;  // the last row whose mask had the column
  std::vector<entry<T>> entries_;
};

/// The distance between the rows that are checked.
template <scalar T, offset O>
index_t sampling_stride(const spgemm_expectation<T, O>& x, std::int64_t most_products) {
  std::int64_t products = 0;
  for (index_t i = 0; i < x.a.rows; ++i) {
    for (std::int64_t k = x.a.rowptr[i]; k < x.a.rowptr[i + 1]; ++k) {
      products += x.b.rowptr[x.a.colind[k] + 1] - x.b.rowptr[x.a.colind[k]];
    }
  }
  return static_cast<index_t>(std::min<std::int64_t>(1 + products / most_products, std::max(x.a.rows, 1)));
}

template <scalar T, offset O, offset P>
spgemm_verdict check_rows(const context& ctx, const spgemm_expectation<T, O>& expected, csr_view<T, P> c,
                          std::int64_t most_products) {
  spgemm_verdict verdict;
  const index_t stride = sampling_stride(expected, most_products);
  const index_t rows = (c.rows + stride - 1) / stride;
  index_t first_wrong = rows;
  std::mutex lock;
  // Every part has a checker of its own.
  parallel_chunks(threads_for(ctx, c), rows, 16, [&](int, auto next) {
    row_checker<T, O, P> checker(expected);
    double worst = 0;
    std::string wrong;
    next([&](index_t i) {
      worst = std::max(worst, checker.check(i * stride, c, wrong));
      if (wrong.empty()) return;
      const std::scoped_lock hold(lock);
      if (i >= first_wrong) return;
      first_wrong = i;
      verdict.wrong = wrong;
    });
    const std::scoped_lock hold(lock);
    verdict.error_ratio = std::max(verdict.error_ratio, worst);
  });
  verdict.checked_rows = rows;
  return verdict;
}

/// Throws where its pattern cannot be read on the host.
template <scalar T, offset O>
void check_on_host(const std::string& matrix, const csr_view<T, O>& m) {
  const std::string name = "check_spgemm: " + matrix;
  check_dimensions(name, m.rows, m.cols, m.nnz);
  check_array(name, "rowptr", m.rowptr, std::int64_t{m.rows} + 1);
  check_array(name, "colind", m.colind, m.nnz);
  if (m.space != memory_space::host) {
    throw error(status::invalid_argument, name + " is in device memory; it must be on the host");
  }
}

/// The same of the mask or D, which have the shape of A B.
template <scalar T, offset O>
void check_term(const char* name, const std::optional<csr_view<T, O>>& m, shape wanted) {
  if (!m) return;
  if (m->rows != wanted.rows || m->cols != wanted.cols) {
    throw error(status::invalid_dimensions, fmt::format("check_spgemm: {} is {} x {}, A B is {} x {}", name, m->rows,
                                                        m->cols, wanted.rows, wanted.cols));
  }
  check_on_host(name, *m);
}

}  // namespace

template <scalar T, offset O, offset P>
spgemm_verdict check_spgemm(const context& ctx, const spgemm_expectation<T, O>& expected, csr_view<T, P> c,
                            std::int64_t most_products) {
  const auto& [a, b, mask, d, alpha, beta] = expected;
  check_on_host("A", a);
  check_on_host("B", b);
  check_on_host("C", c);
  if (a.cols != b.rows) {
    throw error(status::invalid_dimensions, fmt::format("check_spgemm: A has {} columns, B {} rows", a.cols, b.rows));
  }
  check_term("the mask", mask, {a.rows, b.cols});
  check_term("D", d, {a.rows, b.cols});
  if (c.rows != a.rows || c.cols != b.cols) {
    return {infinity, 0, fmt::format("C is {} x {}", c.rows, c.cols)};
  }
  if (const auto end = static_cast<std::int64_t>(c.rowptr[c.rows]); c.rowptr[0] != 0 || end != c.nnz) {
    return {infinity, 0, fmt::format("the offsets of C run from {} to {}", c.rowptr[0], end)};
  }
  return check_rows(ctx, expected, c, most_products);
}

#define TULLE_INSTANTIATE(T, O)                                                                                    \
  template spgemm_verdict check_spgemm(const context&, const spgemm_expectation<T, O>&, csr_view<T, std::int32_t>, \
                                       std::int64_t);                                                              \
  template spgemm_verdict check_spgemm(const context&, const spgemm_expectation<T, O>&, csr_view<T, std::int64_t>, \
                                       std::int64_t);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
