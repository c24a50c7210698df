// Rows of a product in one go, or in halves of halves, until they keep a limit of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tulle/core/types.hpp>

namespace tulle::detail {

/// An attempt that fails has cost what was done of it. So rows with as many products as some that failed lately are
/// halved untried, until `patience` attempts in a row have gone well.
class halving {
 public:
  /// Calls attempt(first row, last row + 1), in order, for rows that together are [begin, end). It says whether the
  /// limit was kept, which a single row must. products(first, last + 1) is the work in rows.
  template <class Products, class Attempt>
  void run(index_t begin, index_t end, const Products& products, const Attempt& attempt) {
    if (end - begin <= 1 || is_promising(begin, end, products)) {
      if (attempt(begin, end)) {
        ++kept_;
        return;
      }
      fewest_failed_ = std::min(fewest_failed_, products(begin, end));
      kept_ = 0;
    }
    const index_t middle = begin + (end - begin) / 2;
    run(begin, middle, products, attempt);
    run(middle, end, products, attempt);
  }

 private:
  static constexpr int patience = 16;
  static constexpr std::int64_t nothing_failed = std::numeric_limits<std::int64_t>::max();

  template <class Products>
  [[nodiscard]] bool is_promising(index_t begin, index_t end, const Products& products) const {
    return fewest_failed_ == nothing_failed || kept_ >= patience || products(begin, end) < fewest_failed_;
  }

  std::int64_t fewest_failed_ = nothing_failed;
  int kept_ = 0;  // attempts since one failed
};

}  // namespace tulle::detail
