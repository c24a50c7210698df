#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tulle/ops/matrix.hpp>
#include <tulle/reorder/matching.hpp>
#include <utility>
#include <vector>

#include "kernels/types.hpp"

namespace tulle {
namespace {

constexpr index_t none = -1;
constexpr double far = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The entries of each row that are not 0, each with its cost: log of the row's greatest over its own, 0 or above.
struct costs {
  struct entry {
    index_t column;
    double cost;
  };
  std::vector<std::int64_t> begin{0};
  std::vector<entry> entries;

  [[nodiscard]] index_t rows() const { return static_cast<index_t>(begin.size()) - 1; }
  [[nodiscard]] std::span<const entry> row(index_t i) const {
    return std::span(entries).subspan(at(begin[at(i)]), at(begin[at(i) + 1] - begin[at(i)]));
  }
};

template <scalar T, offset O>
costs costs_of(csr_view<T, O> a) {
  costs out;
  out.begin.reserve(at(a.rows) + 1);
  out.entries.reserve(at(a.nnz));
  for (index_t i = 0; i < a.rows; ++i) {
    double greatest = 0;
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const double size = std::fabs(static_cast<double>(a.values[k]));
      if (!std::isfinite(size)) {
        throw error(status::not_finite,
                    fmt::format("A has a value that is not finite in row {}, counted from 0: it cannot be matched", i));
      }
      greatest = std::max(greatest, size);
    }
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const double size = std::fabs(static_cast<double>(a.values[k]));
      if (size > 0) out.entries.push_back({a.colind[k], std::log(greatest) - std::log(size)});
    }
    out.begin.push_back(static_cast<std::int64_t>(out.entries.size()));
  }
  return out;
}

/// Every row with a column of its own, the sum of costs least. Prices are the dual variables: cost - row price - column
/// price is 0 or above, and 0 for what is matched.
class matching {
 public:
  explicit matching(costs c)
      : costs_(std::move(c)),
        row_price_(at(costs_.rows())),
        column_price_(at(costs_.rows()), far),
        column_of_(at(costs_.rows()), none),
        row_of_(at(costs_.rows()), none),
        distance_(at(costs_.rows()), far),
        from_(at(costs_.rows()), none),
        done_(at(costs_.rows())) {
    match_cheaply();
    for (index_t i = 0; i < costs_.rows(); ++i) {
      if (column_of_[at(i)] == none) augment(i);
    }
  }

  /// By columns.
  [[nodiscard]] const std::vector<index_t>& rows() const { return row_of_; }

 private:
  [[nodiscard]] double reduced(index_t row, const costs::entry& e) const {
    return std::max(0.0, e.cost - row_price_[at(row)] - column_price_[at(e.column)]);
  }

  /// Searches would find them, too, after all others.
  void refuse_empty() const {
    const auto refuse = [](const char* what, std::int64_t i) {
      throw error(status::invalid_structure,
                  fmt::format("A is structurally singular: {} {}, counted from 0, has no entry that is not 0", what, i));
    };
    for (index_t i = 0; i < costs_.rows(); ++i) {
      if (costs_.row(i).empty()) refuse("row", i);
    }
    const auto column = std::ranges::find(column_price_, far);
    if (column != column_price_.end()) refuse("column", column - column_price_.begin());
  }

  void match_cheaply() {
    for (const costs::entry& e : costs_.entries) {
      column_price_[at(e.column)] = std::min(column_price_[at(e.column)], e.cost);
    }
    refuse_empty();
    for (index_t i = 0; i < costs_.rows(); ++i) {
      double least = far;
      for (const costs::entry& e : costs_.row(i)) least = std::min(least, e.cost - column_price_[at(e.column)]);
      row_price_[at(i)] = least;
      for (const costs::entry& e : costs_.row(i)) {
        if (row_of_[at(e.column)] != none || reduced(i, e) > 0) continue;
        column_of_[at(i)] = e.column;
        row_of_[at(e.column)] = i;
        break;
      }
    }
  }

  /// Dijkstra's search from a row to the nearest column without a row.
  void augment(index_t start) {
    using place = std::pair<double, index_t>;
    std::priority_queue<place, std::vector<place>, std::greater<>> next;
    double nearest = far, walked = 0;
    index_t end = none;
    for (index_t row = start; row != none;) {
      for (const costs::entry& e : costs_.row(row)) {
        const double d = walked + reduced(row, e);
        if (done_[at(e.column)] || d >= nearest || d >= distance_[at(e.column)]) continue;
        if (distance_[at(e.column)] == far) seen_.push_back(e.column);
        distance_[at(e.column)] = d;
        from_[at(e.column)] = row;
        if (row_of_[at(e.column)] == none) {
          nearest = d;
          end = e.column;
        } else {
          next.emplace(d, e.column);
        }
      }
      row = none;
      while (!next.empty() && row == none) {
        const auto [d, column] = next.top();
        next.pop();
        if (d >= nearest) break;
        if (done_[at(column)]) continue;
        done_[at(column)] = true;
        walked = d;
        row = row_of_[at(column)];
      }
    }
    if (end == none) {
      throw error(
          status::invalid_structure,
          fmt::format("A is structurally singular: row {}, counted from 0, cannot be matched with a column that no "
                      "other row needs",
                      start));
    }
    for (const index_t column : seen_) {
      if (done_[at(column)]) {
        column_price_[at(column)] -= nearest - distance_[at(column)];
        row_price_[at(row_of_[at(column)])] += nearest - distance_[at(column)];
      }
      done_[at(column)] = false;
      distance_[at(column)] = far;
    }
    row_price_[at(start)] += nearest;
    seen_.clear();
    for (index_t column = end; column != none;) {
      const index_t row = from_[at(column)];
      row_of_[at(column)] = row;
      std::swap(column_of_[at(row)], column);  // that of the start is none
    }
  }

  costs costs_;
  std::vector<double> row_price_, column_price_;
  std::vector<index_t> column_of_, row_of_;
  std::vector<double> distance_;  // of columns, in the search at hand, as the next two
  std::vector<index_t> from_;
  std::vector<bool> done_;
  std::vector<index_t> seen_;
};

}  // namespace

permutation match_diagonal(const context& ctx, const matrix_ref& a) {
  if (a.rows != a.cols) {
    throw error(status::invalid_dimensions,
                fmt::format("A is {} x {}: only a square matrix has a whole diagonal", a.rows, a.cols));
  }
  const context host = ctx.backend() == backend_kind::cpu ? ctx : context::cpu();
  matrix_ref csr = sum_duplicates(ctx, a);
  if (csr.space != memory_space::host) csr = clone(host, csr);
  return dispatch<type_set::all>(csr.types, [&]<class T, class O>() -> permutation {
    return {ctx, matching(costs_of(csr.as<T, O>())).rows()};
  });
}

}  // namespace tulle
