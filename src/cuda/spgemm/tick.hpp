#pragma once
#include <cuda_runtime_api.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
namespace tulle::cuda {
inline void tick(const char* what, cudaStream_t stream) {
  static const bool on = std::getenv("TULLE_TICK") != nullptr;
  static auto last = std::chrono::steady_clock::now();
  if (!on) return;
  cudaStreamSynchronize(stream);
  const auto now = std::chrono::steady_clock::now();
  std::fprintf(stderr, "tick %-16s %8.1f us\n", what, std::chrono::duration<double, std::micro>(now - last).count());
  last = std::chrono::steady_clock::now();
}
}  // namespace tulle::cuda
