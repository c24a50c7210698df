#include "spgemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tulle::test {

void entry_sum::add(double a, double b) {
  sum = sum + two_product(a, b);
  plain += a * b;
  magnitude += std::abs(a * b);
  ++terms;
  finite = finite && std::isfinite(a) && std::isfinite(b);
}

/// As for y = A x (src/ops/verify.cpp): gamma(n + 2) |alpha| |A| |B|, and as much as underflow may take.
template <scalar T>
spmv_reference product_reference::scaled(double alpha) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  spmv_reference out{std::vector<double>(entries.size()), std::vector<double>(entries.size()),
                     std::vector<double>(entries.size())};
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const entry_sum& e = entries[k];
    out.value[k] = alpha * e.plain;
    if (!e.finite) continue;
    const double terms = static_cast<double>(e.terms) + 2;
    const double ku = terms * std::numeric_limits<T>::epsilon() / 2;
    const double scaled = std::abs(alpha) * e.magnitude;
    if (ku >= 1 || !(std::max(e.magnitude, scaled) * (1 + ku) < std::numeric_limits<T>::max())) {
      out.bound[k] = infinity;
      continue;
    }
    const double_double exact = alpha * e.sum;
    out.value[k] = exact.high;
    out.value_low[k] = exact.low;
    out.bound[k] =
        ku / (1 - ku) * scaled + terms * std::max(1.0, std::abs(alpha)) * std::numeric_limits<T>::denorm_min();
  }
  return out;
}

product_reference product_reference::masked(const std::vector<std::int64_t>& mask_rowptr,
                                            const std::vector<index_t>& mask_colind) const {
  product_reference out{{0}, {}, {}};
  for (std::size_t row = 0; row + 1 < rowptr.size(); ++row) {
    const auto begin = mask_colind.begin() + mask_rowptr[row], end = mask_colind.begin() + mask_rowptr[row + 1];
    for (auto k = static_cast<std::size_t>(rowptr[row]); k < static_cast<std::size_t>(rowptr[row + 1]); ++k) {
      if (!std::binary_search(begin, end, colind[k])) continue;
      out.colind.push_back(colind[k]);
      out.entries.push_back(entries[k]);
    }
    out.rowptr.push_back(static_cast<std::int64_t>(out.colind.size()));
  }
  return out;
}

template <scalar T, offset O>
product_reference reference_product(csr_view<T, O> a, csr_view<T, O> b, index_t first, index_t last) {
  product_reference out{{0}, {}, {}};
  std::vector<entry_sum> row(static_cast<std::size_t>(b.cols));
  std::vector<index_t> hit;
  for (index_t i = first; i < last; ++i) {
    hit.clear();
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      for (O l = b.rowptr[a.colind[k]]; l < b.rowptr[a.colind[k] + 1]; ++l) {
        entry_sum& e = row[static_cast<std::size_t>(b.colind[l])];
        if (e.terms == 0) hit.push_back(b.colind[l]);
        e.add(a.values[k], b.values[l]);
      }
    }
    std::sort(hit.begin(), hit.end());
    for (const index_t column : hit) {
      out.colind.push_back(column);
      out.entries.push_back(row[static_cast<std::size_t>(column)]);
      row[static_cast<std::size_t>(column)] = {};
    }
    out.rowptr.push_back(static_cast<std::int64_t>(out.colind.size()));
  }
  return out;
}

template spmv_reference product_reference::scaled<float>(double) const;
template spmv_reference product_reference::scaled<double>(double) const;
template product_reference reference_product(csr_view<float, std::int32_t>, csr_view<float, std::int32_t>, index_t,
                                             index_t);
template product_reference reference_product(csr_view<float, std::int64_t>, csr_view<float, std::int64_t>, index_t,
                                             index_t);
template product_reference reference_product(csr_view<double, std::int32_t>, csr_view<double, std::int32_t>, index_t,
                                             index_t);
template product_reference reference_product(csr_view<double, std::int64_t>, csr_view<double, std::int64_t>, index_t,
                                             index_t);

}  // namespace tulle::test
