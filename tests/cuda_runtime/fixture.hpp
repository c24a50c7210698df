// What the tests of the runtime share: a matrix that every kernel takes, and a check of what is called.
#pragma once

#include <functional>
#include <tulle/tulle.hpp>

#include "failing_cuda.hpp"
#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/spmv.hpp"

namespace tulle::test {

/// A small finite-element matrix with 3 unknowns per node, in host memory.
inline csr<double> small_matrix() { return generate<double>(context::cpu(), "gen:fem:n=6"); }

/// `work` must neither take nor give back memory, nor copy, nor wait. How many kernels it launches.
inline std::int64_t launches_of(const std::function<void()>& work) {
  const cuda_counts before = counts();
  work();
  const cuda_counts after = counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.deallocations, before.deallocations);
  EXPECT_EQ(after.synchronizations, before.synchronizations);
  EXPECT_EQ(after.copies, before.copies);
  return after.launches - before.launches;
}
/// The same of the second of two calls.
inline void expect_only_launches(const context& ctx, const std::function<void()>& work) {
  work();  // what is set up once
  ctx.synchronize();
  launches_of(work);
}

}  // namespace tulle::test
