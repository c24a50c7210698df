// The values of a CSR on the device apart by type: kernels/split_values.hpp.
#pragma once

#include "kernels/split_values.hpp"

namespace tulle::cuda {

/// As tulle::split; the arrays are in the device's memory. Waits for the stream.
template <offset O>
split_values<O> split(const context& ctx, csr_view<double, O> a, const spmv_options& options, split_form form);

}  // namespace tulle::cuda
