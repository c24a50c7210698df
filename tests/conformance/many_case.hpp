// Several right-hand sides at once.
#pragma once

#include "conformance/spmv_case.hpp"

namespace tulle::test {

/// Whether a plan may count on the kernel's apply_many.
bool must_have_many(const spmv_kernel& kernel);

/// Y = alpha A X + beta Y for 1, 2, 3, 8 and 17 vectors, row-major, column-major and mixed, with room between rows or
/// vectors that nobody may touch: every vector is held to the error bound, and to the same bits in a second run.
/// Skipped where the kernel has no apply_many and need not.
void run_many_case(const context& ctx, const spmv_case& c);

}  // namespace tulle::test
