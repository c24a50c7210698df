// Halves the rows of a product until each part keeps a memory limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/backends.hpp"
#include "ops/spgemm_panels.hpp"

namespace tulle::detail {

/// A failed attempt costs the work done until it failed. So parts with at least as many products as one that failed are
/// halved untried, until `patience` attempts in a row have succeeded.
class halving {
 public:
  halving(const context& ctx, const spgemm_problem& problem) : ctx_(ctx), problem_(problem) {}

  /// Calls attempt(first row, last row + 1), in order, for parts of [begin, end). It returns whether the limit was
  /// kept, and throws where a single row does not keep it.
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
