// packed for values that are stored in fewer bytes than they are used in; see packed.cu. Values are read in less time,
// so fewer ways of dividing a slice are told apart.
#include "cuda/device/epilogue.cuh"
#include "cuda/spmv/packed_kernel.cuh"
#include "cuda/spmv/tried.hpp"

namespace tulle::cuda {

namespace {

template <class Values, class T, class Epilogue>
auto kernel_for(const packed_run& run) -> packed_function<Values, T, Epilogue> {
  const bool high = run.height == 64;
  if constexpr (std::is_same_v<Epilogue, scale_and_store<double>> &&
                (std::is_same_v<Values, f32_under_f64> || std::is_same_v<Values, sliced_values> ||
                 std::is_same_v<Values, listed_values<double>>)) {
    if (high) {
      if (tried('1')) return packed_kernel<packed_tuning<2, 4, 9, false, true>, Values, T, Epilogue>;
      if (tried('2')) return packed_kernel<packed_tuning<2, 8, 8, false, true>, Values, T, Epilogue>;
      if (tried('3')) return packed_kernel<packed_tuning<2, 8, 6, false, true>, Values, T, Epilogue>;
      if (tried('4')) return packed_kernel<packed_tuning<2, 4, 9, true, true>, Values, T, Epilogue>;
      if (tried('5')) return packed_kernel<packed_tuning<2, 8, 6, true, true>, Values, T, Epilogue>;
    } else {
      if (tried('1')) return packed_kernel<packed_tuning<1, 8, 8, false, true>, Values, T, Epilogue>;
      if (tried('2')) return packed_kernel<packed_tuning<1, 4, 12, false, true>, Values, T, Epilogue>;
      if (tried('3')) return packed_kernel<packed_tuning<1, 16, 6, false, true>, Values, T, Epilogue>;
      if (tried('4')) return packed_kernel<packed_tuning<1, 8, 8, true, true>, Values, T, Epilogue>;
      if (tried('5')) return packed_kernel<packed_tuning<1, 4, 12, true, true>, Values, T, Epilogue>;
    }
  }
  return high ? packed_kernel<tall, Values, T, Epilogue> : packed_kernel<scattered, Values, T, Epilogue>;
}

}  // namespace

template <class Values, class T, class Epilogue>
void packed_narrow(const packed_run& run, const Values& values, const T* x, T* part_sum, const Epilogue& epilogue,
                   cudaStream_t stream) {
  launch("packed", kernel_for<Values, T, Epilogue>(run), {run.blocks(), packed_threads}, stream, run.pattern, values, x, part_sum, epilogue);
}

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
