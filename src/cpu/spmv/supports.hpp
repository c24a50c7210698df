// Which matrices the CPU's kernels of blocks take.
#pragma once

#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Those whose best blocks are not nearly empty.
support supports_bsr(const csr_stats& stats, type_key types, const device_info&);

}  // namespace tulle::cpu
