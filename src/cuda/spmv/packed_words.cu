// packed for values in two words, both (the bits of f64, 8 bytes a nonzero) or the high ones alone (4); see packed.cu.
#include "cuda/spmv/packed_narrow.cuh"

namespace tulle::cuda {

#define TULLE_INSTANTIATE_ONE(VALUES, EPILOGUE) \
  template void packed_narrow(const packed_run&, const VALUES&, const double*, double*, const EPILOGUE&, cudaStream_t);
#define TULLE_INSTANTIATE(VALUES)                        \
  TULLE_INSTANTIATE_ONE(VALUES, scale_and_store<double>) \
  TULLE_INSTANTIATE_ONE(VALUES, store_with_dots<double>) \
  TULLE_INSTANTIATE_ONE(VALUES, jacobi_step<double>)
TULLE_INSTANTIATE(words_values)
TULLE_INSTANTIATE(high_values)
#undef TULLE_INSTANTIATE
#undef TULLE_INSTANTIATE_ONE

}  // namespace tulle::cuda
