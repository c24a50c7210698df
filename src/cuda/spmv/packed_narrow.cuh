// How the kernel of packed is started for values in fewer bytes; see packed.cu. Values are read in less time, so fewer
// ways of dividing a slice are told apart, and a condition at each position costs more: rounds of full positions have
// none.
#pragma once

#include <type_traits>

#include "cuda/device/epilogue.cuh"
#include "cuda/spmv/packed_kernel.cuh"

namespace tulle::cuda {

template <class Values, class T, class Epilogue>
void packed_narrow(const packed_run& run, const Values& values, const T* x, T* part_sum, const Epilogue& epilogue,
                   cudaStream_t stream) {
  // More registers where loads are most of the work, more warps elsewhere: the faster of both on an NVIDIA H200.
  constexpr bool loads_most = std::is_same_v<Values, f32_under_f64> || std::is_same_v<Values, sliced_values>;
  constexpr int resident = loads_most ? 8 : 9;
  launch("packed",
         run.height == 64 ? packed_kernel<packed_tuning<2, 4, resident, false, true>, Values, T, Epilogue>
                          : packed_kernel<packed_tuning<1, 8, 8, false, true>, Values, T, Epilogue>,
         {run.blocks(), packed_threads}, stream, run.pattern, values, x, part_sum, epilogue);
}

}  // namespace tulle::cuda
