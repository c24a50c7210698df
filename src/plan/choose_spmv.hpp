// Which kernel suits a matrix: a pure function of its statistics, its types and the device.
#pragma once

#include <string>

#include <tulle/formats/stats.hpp>
#include <tulle/ops/spmv.hpp>

namespace tulle {

struct spmv_choice {
  std::string kernel;
  std::string reason;  // why, with the numbers
};

spmv_choice choose_spmv(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy);

}  // namespace tulle
