// bin_bsr.compact for values in 16 bits under f64 vectors: 2 bytes a nonzero, and for halves one a block; see
// bin_bsr_compact.cu.
#include "cuda/spmv/bin_bsr_compact.cuh"

namespace tulle::cuda {

template void multiply_bins(const short_bins&, const bins_run&, const double*, const scale_and_store<double>&,
                            cudaStream_t);
template void multiply_bins(const short_bins&, const bins_run&, const double*, const store_with_dots<double>&,
                            cudaStream_t);
template void multiply_bins(const short_bins&, const bins_run&, const double*, const jacobi_step<double>&,
                            cudaStream_t);
template void multiply_bins_many(const short_bins&, const bins_run&, double, const strided_vectors&, double,
                                 const strided_vectors&, const double*, cudaStream_t);

}  // namespace tulle::cuda
