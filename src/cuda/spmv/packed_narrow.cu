// packed for values that are stored in fewer bytes than they are used in; see packed.cu. Values are read in less time,
// so fewer ways of dividing a slice are told apart.
#include "cuda/device/epilogue.cuh"
#include "cuda/spmv/packed_kernel.cuh"

namespace tulle::cuda {

template <class Values, class T, class Epilogue>
void packed_narrow(const packed_run& run, const Values& values, const T* x, T* part_sum, const Epilogue& epilogue,
                   cudaStream_t stream) {
  const auto kernel =
      run.height == 64 ? packed_kernel<tall, Values, T, Epilogue> : packed_kernel<scattered, Values, T, Epilogue>;
  launch("packed", kernel, {run.blocks(), packed_threads}, stream, run.pattern, values, x, part_sum, epilogue);
}

#define TULLE_INSTANTIATE_ONE(VALUES, T, EPILOGUE) \
  template void packed_narrow(const packed_run&, const VALUES&, const T*, T*, const EPILOGUE&, cudaStream_t);
#define TULLE_INSTANTIATE(VALUES, T)                   \
  TULLE_INSTANTIATE_ONE(VALUES, T, scale_and_store<T>) \
  TULLE_INSTANTIATE_ONE(VALUES, T, store_with_dots<T>) \
  TULLE_INSTANTIATE_ONE(VALUES, T, jacobi_step<T>)
TULLE_INSTANTIATE(bf16_values<float>, float)
TULLE_INSTANTIATE(listed_values<float>, float)
TULLE_INSTANTIATE(f32_under_f64, double)
TULLE_INSTANTIATE(bf16_values<double>, double)
TULLE_INSTANTIATE(listed_values<double>, double)
TULLE_INSTANTIATE(listed_f32_under_f64, double)
TULLE_INSTANTIATE(sliced_values, double)
#undef TULLE_INSTANTIATE
#undef TULLE_INSTANTIATE_ONE

}  // namespace tulle::cuda
