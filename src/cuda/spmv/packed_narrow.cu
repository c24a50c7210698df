// packed for values in fewer bytes than they are used in; see packed.cu.
#include "cuda/spmv/packed_narrow.cuh"

namespace tulle::cuda {

#define TULLE_INSTANTIATE_ONE(VALUES, T, EPILOGUE) \
  template void packed_narrow(const packed_run&, const VALUES&, const T*, T*, const EPILOGUE&, cudaStream_t);
#define TULLE_INSTANTIATE(VALUES, T)                   \
  TULLE_INSTANTIATE_ONE(VALUES, T, scale_and_store<T>) \
  TULLE_INSTANTIATE_ONE(VALUES, T, store_with_dots<T>) \
  TULLE_INSTANTIATE_ONE(VALUES, T, jacobi_step<T>)
TULLE_INSTANTIATE(bf16_values<float>, float)
TULLE_INSTANTIATE(f32_under_f64, double)
TULLE_INSTANTIATE(bf16_values<double>, double)
TULLE_INSTANTIATE(listed_values<double>, double)
TULLE_INSTANTIATE(sliced_values, double)
#undef TULLE_INSTANTIATE
#undef TULLE_INSTANTIATE_ONE

}  // namespace tulle::cuda
