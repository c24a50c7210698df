// Which kernel makes C = A B: the one that was asked for, else the first production kernel that can take the operands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/spgemm.hpp"

namespace tulle {

struct spgemm_choice {
  const spgemm_kernel* kernel = nullptr;
  std::string reason;
};

/// `wanted`: a name in `table`, or empty. Throws INVALID_ARGUMENT listing the names there are, and UNSUPPORTED with the
/// reason where the kernel, or every kernel that may be chosen silently, cannot take the problem.
spgemm_choice choose_spgemm(std::span<const spgemm_kernel> table, const spgemm_problem& problem,
                            const device_info& device, std::string_view wanted);

/// The same from the context's table, where `option` or else TULLE_KERNEL names the kernel.
spgemm_choice choose_spgemm(const context& ctx, const spgemm_problem& problem, const std::string& option);

}  // namespace tulle
