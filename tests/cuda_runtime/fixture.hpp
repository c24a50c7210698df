// What the tests of the runtime share: a matrix that every kernel takes, and a check of what is called.
#pragma once

#include <functional>
#include <tulle/tulle.hpp>

#include "failing_cuda.hpp"
#include "support/backends.hpp"
#include "support/errors.hpp"
#include "support/spmv.hpp"

namespace tulle::test {

/// A small finite-element matrix with 3 unknowns a node, in host memory.
csr<double> small_matrix();

/// `work` must neither take nor give back memory, nor copy, nor wait. How many kernels it launches.
std::int64_t launches_of(const std::function<void()>& work);
/// The same of the second of two calls.
void expect_only_launches(const context& ctx, const std::function<void()>& work);

}  // namespace tulle::test
