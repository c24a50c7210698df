// C = M o (alpha A B), as `gustavson` makes it.
#pragma once

#include <memory>

#include "kernels/spgemm.hpp"

namespace tulle::cpu {

std::unique_ptr<spgemm_operator> make_spgemm_masked(const context& ctx, const spgemm_problem& p);

}  // namespace tulle::cpu
