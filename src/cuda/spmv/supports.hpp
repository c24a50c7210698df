// Which matrices the CUDA kernels take, and why not the others.
#pragma once

#include "kernels/spmv.hpp"

namespace tulle::cuda {

support supports_csr_vector_shared(const csr_stats&, type_key, const device_info&);
support supports_ell(const csr_stats&, type_key, const device_info&);
support supports_sell(const csr_stats&, type_key, const device_info&);
support supports_bsr(const csr_stats&, type_key, const device_info&);
support supports_packed(const csr_stats&, type_key, const device_info&);
support supports_cusparse(const csr_stats&, type_key, const device_info&);
support supports_cusparse_bsr(const csr_stats&, type_key, const device_info&);
support supports_cusparse_sell(const csr_stats&, type_key, const device_info&);

}  // namespace tulle::cuda
