// packed where slices share values; see packed.cu. Hardly any values come from memory, so that x and y are what is left
// of the bytes (16 a row, and 32 a slice), and instructions and reads of x through L2 what takes the time.
#include "cuda/spmv/packed_narrow.cuh"

namespace tulle::cuda {

#define TULLE_INSTANTIATE_ONE(VALUES, T, EPILOGUE) \
  template void packed_narrow(const packed_run&, const VALUES&, const T*, T*, const EPILOGUE&, cudaStream_t);
#define TULLE_INSTANTIATE(VALUES, T)                   \
  TULLE_INSTANTIATE_ONE(VALUES, T, scale_and_store<T>) \
  TULLE_INSTANTIATE_ONE(VALUES, T, store_with_dots<T>) \
  TULLE_INSTANTIATE_ONE(VALUES, T, jacobi_step<T>)
TULLE_INSTANTIATE(repeated_values<float>, float)
TULLE_INSTANTIATE(repeated_values<double>, double)
TULLE_INSTANTIATE(repeated_f32_under_f64, double)
#undef TULLE_INSTANTIATE
#undef TULLE_INSTANTIATE_ONE

}  // namespace tulle::cuda
