// Halves the rows of a product until each part keeps a memory limit.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/limited_memory.hpp"
#include "core/memory_status.hpp"
#include "kernels/backends.hpp"
#include "ops/spgemm_panels.hpp"

namespace tulle::detail {

/// A failed attempt costs the work done until it failed. So parts with at least as many products as one that failed are
/// halved untried, until `patience` attempts in a row have succeeded.
class halving {
 public:
  halving(const context& ctx, const spgemm_problem& problem, std::size_t limit)
      : ctx_(ctx), problem_(problem), limit_(limit) {}

  /// Calls work(panel, held) for parts of the panels, in order; where it throws limit_exceeded, for their halves.
  /// Throws it where a single row does not keep the limit; `held`, which work may set, is then added to what the row
  /// needed. Returns the panels that kept it.
  template <class Work>
  std::vector<row_panel> run(const std::vector<row_panel>& panels, const Work& work) {
    for (const row_panel& p : panels) try_panel(p, work);
    return std::move(kept_);
  }

 private:
  static constexpr int patience = 16;
  static constexpr std::int64_t nothing_failed = std::numeric_limits<std::int64_t>::max();

  template <class Work>
  void try_panel(row_panel p, const Work& work) {
    if (p.rows() <= 1 || is_promising(p)) {
      std::size_t held = 0;
      try {
        work(p, held);
        kept_.push_back(p);
        ++succeeded_;
        return;
      } catch (const limit_exceeded& e) {
        if (p.rows() <= 1) refuse(p, held + e.needed());
      }
      fewest_failed_ = std::min(fewest_failed_, products(p));
      succeeded_ = 0;
    }
    const index_t middle = p.begin + p.rows() / 2;
    try_panel({p.begin, middle}, work);
    try_panel({middle, p.end}, work);
  }

  /// One row, or none.
  [[noreturn]] void refuse(row_panel p, std::size_t needed) const {
    const std::string what = p.rows() > 0 ? fmt::format("row {}", p.begin) : "a product without rows";
    throw limit_exceeded(out_of(ctx_.space()),
                         fmt::format("memory_limit of {} bytes: {} needs at least {} bytes", limit_, what, needed),
                         needed);
  }
  [[nodiscard]] std::int64_t products(row_panel p) const {
    return count_products(ctx_, panel_of(ctx_, problem_, p)).products;
  }
  [[nodiscard]] bool is_promising(row_panel p) const {
    return fewest_failed_ == nothing_failed || succeeded_ >= patience || products(p) < fewest_failed_;
  }

  const context& ctx_;
  const spgemm_problem& problem_;
  std::size_t limit_;
  std::vector<row_panel> kept_;
  std::int64_t fewest_failed_ = nothing_failed;
  int succeeded_ = 0;  // attempts since one failed
};

}  // namespace tulle::detail
