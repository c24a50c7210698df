// One kernel of C = alpha P o (U V^T) + beta C on one pattern of the battery, for one combination of types.
#pragma once

#include <string>

#include "kernels/sddmm.hpp"
#include "support/battery.hpp"

namespace tulle::test {

struct sddmm_case {
  const sddmm_kernel* kernel = nullptr;
  type_key types = {};
  const battery_matrix* matrix = nullptr;

  /// "cuda/csr.dots/f64.i32/rmat".
  [[nodiscard]] std::string name() const;
};

/// 0 to 100 features in both orders, aligned and not, with and without A's values and panels, for several alpha and
/// beta, then with other values: each entry is held to the error bound, and to the same bits in a second run; nothing
/// else is written.
void run_sddmm_case(const context& ctx, const sddmm_case& c);

}  // namespace tulle::test
