// Rows of a product in one go, or in halves of halves, until they keep a limit of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/backends.hpp"
#include "ops/spgemm_panels.hpp"

namespace tulle::detail {

/// An attempt that fails has cost what was done of it. So rows with as many products as some that failed lately are
/// halved untried, until `patience` attempts in a row have gone well.
class halving {
 public:
  halving(const context& ctx, const spgemm_problem& problem) : ctx_(ctx), problem_(problem) {}

  /// Calls attempt(first row, last row + 1), in order, for rows that together are [begin, end). It says whether the
  /// limit was kept, which a single row must.
  template <class Attempt>
  void run(index_t begin, index_t end, const Attempt& attempt) {
    if (end - begin <= 1 || is_promising(begin, end)) {
      if (attempt(begin, end)) {
        ++kept_;
        return;
      }
      fewest_failed_ = std::min(fewest_failed_, products(begin, end));
      kept_ = 0;
    }
    const index_t middle = begin + (end - begin) / 2;
    run(begin, middle, attempt);
    run(middle, end, attempt);
  }

 private:
  static constexpr int patience = 16;
  static constexpr std::int64_t nothing_failed = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t products(index_t begin, index_t end) const {
    return count_products(ctx_, panel_of(ctx_, problem_, begin, end)).products;
  }
  [[nodiscard]] bool is_promising(index_t begin, index_t end) const {
    return fewest_failed_ == nothing_failed || kept_ >= patience || products(begin, end) < fewest_failed_;
  }

  const context& ctx_;
  const spgemm_problem& problem_;
  std::int64_t fewest_failed_ = nothing_failed;
  int kept_ = 0;  // attempts since one failed
};

}  // namespace tulle::detail
