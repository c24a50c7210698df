// The study of rounding error against row length: i32 has none, f64 little, f32 more.
#pragma once

#include <span>
#include <tulle/core/context.hpp>
#include <vector>

#include "common/output.hpp"
#include "common/page.hpp"

namespace tulle::cli::bench {

/// The worst row of one kernel on rows of one length.
struct rounding {
  std::string kernel;
  std::string precision;      // i32, f64, f32
  std::int64_t length = 0;    // nonzeros of each row
  double relative_error = 0;  // |y - exact| / |exact|
  double bound = 0;           // gamma(length + 2), 0 for i32
  double error_ratio = 0;     // error over bound; 0 for 0 / 0
};

/// Rows of 1, 4, 16, ..., 2^20 nonzeros. The f32 and f64 runs get the same numbers, drawn from [0.5, 1] so that nothing
/// cancels and the relative error is that of the summation; i32 gets small integers, whose sums are exact. `kernels`:
/// names, or all for those that take all three types. Kernels that decline are left out.
std::vector<rounding> study_errors(const context& ctx, const std::vector<std::string>& kernels);

json to_json(const rounding& r);

/// One table for each kernel: row length down, types across.
void add_errors(page& to, std::span<const rounding> study);

}  // namespace tulle::cli::bench
