// Whether a kernel of the table takes a matrix.
#pragma once

#include <fmt/format.h>

#include "kernels/spmv.hpp"
#include "matrix.hpp"

namespace tulle::cli {

/// With the reason where it does not.
inline support kernel_support(const spmv_kernel& kernel, const csr_stats& stats, type_key types,
                              const device_info& device) {
  if (!contains(kernel.types, types)) return {false, fmt::format("not built for {} values", name(types.value))};
  return kernel.supports(stats, types, device);
}

}  // namespace tulle::cli
