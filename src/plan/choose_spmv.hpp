// Which kernel suits a matrix: a pure function of its statistics, its types and the device.
#pragma once

#include <string>
#include <string_view>

#include <tulle/formats/stats.hpp>
#include <tulle/core/context.hpp>
#include <tulle/ops/spmv_options.hpp>

namespace tulle {

struct spmv_choice {
  std::string kernel;
  std::string reason;  // why, with the numbers
};

/// The kernel that takes every CSR where it is and learns nothing about it first.
std::string_view kernel_without_set_up(backend_kind backend);
/// The kernel that takes several right-hand sides where the one chosen takes one at a time; it has no set-up.
std::string_view kernel_for_many(backend_kind backend);
/// The kernel that reads a BSR in place.
std::string_view kernel_for_blocks(backend_kind backend);

spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy);

}  // namespace tulle
