#include "failing_cuda.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace tulle::test {
namespace {

constexpr std::int64_t never = std::int64_t{1} << 62;

std::mutex mutex;  // guards all that follows
std::int64_t calls_left = never;
failed_call failed;
cudaError_t injected = cudaSuccess;  // what the last error would be
cuda_counts made;

/// Fails with `failure` when it is this call's turn, otherwise does `real` and counts a success in `counter`.
template <class Real>
cudaError_t call(const char* name, cudaError_t failure, std::vector<status> allowed, std::int64_t cuda_counts::*counter,
                 Real real) {
  const std::lock_guard lock(mutex);
  if (calls_left-- == 0) {
    failed = {name, std::move(allowed)};
    injected = failure;
    return failure;
  }
  const cudaError_t result = real();
  if (result == cudaSuccess && counter != nullptr) ++(made.*counter);
  return result;
}

/// A call that never fails.
template <class Real>
cudaError_t count_only(std::int64_t cuda_counts::*counter, Real real) {
  const std::lock_guard lock(mutex);
  const cudaError_t result = real();
  if (result == cudaSuccess) ++(made.*counter);
  return result;
}

template <class Real>
cudaError_t allocate(const char* name, Real real) {
  return call(name, cudaErrorMemoryAllocation, {status::device_out_of_memory}, &cuda_counts::allocations, real);
}

template <class Real>
cudaError_t launch(const char* name, Real real) {
  return call(name, cudaErrorLaunchOutOfResources, {status::kernel_launch}, &cuda_counts::launches, real);
}

}  // namespace

void fail_call_after(std::int64_t skip) {
  const std::lock_guard lock(mutex);
  failed = {};
  injected = cudaSuccess;
  calls_left = skip;
}

failed_call stop_failing() {
  const std::lock_guard lock(mutex);
  calls_left = never;
  return failed;
}

bool error_left_behind() {
  const std::lock_guard lock(mutex);
  return std::exchange(injected, cudaSuccess) != cudaSuccess;
}

cuda_counts counts() {
  const std::lock_guard lock(mutex);
  return made;
}

extern "C" {

cudaError_t __real_cudaMalloc(void** p, std::size_t bytes);
cudaError_t __real_cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t stream);
cudaError_t __real_cudaMallocFromPoolAsync(void** p, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t __real_cudaFree(void* p);
cudaError_t __real_cudaFreeAsync(void* p, cudaStream_t stream);
cudaError_t __real_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t __real_cudaStreamDestroy(cudaStream_t stream);
cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s);
cudaError_t __real_cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t __real_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __real_cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t __real_cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, std::size_t shared,
                                    cudaStream_t stream);
// Launches by CUDA 13's compiler; CUDA 12 has no such function.
[[gnu::weak]] cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                                    std::size_t shared, cudaStream_t stream);
cudaError_t __real_cudaPeekAtLastError();
cudaError_t __real_cudaGetLastError();
cudaError_t __real_cudaDriverGetVersion(int* version);

cudaError_t __wrap_cudaMalloc(void** p, std::size_t bytes) {
  return allocate("cudaMalloc", [&] { return __real_cudaMalloc(p, bytes); });
}
cudaError_t __wrap_cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t stream) {
  return allocate("cudaMallocAsync", [&] { return __real_cudaMallocAsync(p, bytes, stream); });
}
cudaError_t __wrap_cudaMallocFromPoolAsync(void** p, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return allocate("cudaMallocFromPoolAsync", [&] { return __real_cudaMallocFromPoolAsync(p, bytes, pool, stream); });
}
cudaError_t __wrap_cudaFree(void* p) {
  return count_only(&cuda_counts::deallocations, [&] { return __real_cudaFree(p); });
}
cudaError_t __wrap_cudaFreeAsync(void* p, cudaStream_t stream) {
  return count_only(&cuda_counts::deallocations, [&] { return __real_cudaFreeAsync(p, stream); });
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", cudaErrorMemoryAllocation, {status::device_out_of_memory},
              &cuda_counts::streams_created, [&] { return __real_cudaStreamCreateWithFlags(stream, flags); });
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream) {
  return count_only(&cuda_counts::streams_destroyed, [&] { return __real_cudaStreamDestroy(stream); });
}
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  return call("cudaMemcpyAsync", cudaErrorInvalidValue, {status::cuda_memcpy}, &cuda_counts::copies,
              [&] { return __real_cudaMemcpyAsync(to, from, bytes, kind, s); });
}
cudaError_t __wrap_cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  // CUB's sorts use it too, and report what goes wrong in them as a launch.
  return call("cudaMemsetAsync", cudaErrorInvalidValue, {status::cuda_memcpy, status::kernel_launch}, nullptr,
              [&] { return __real_cudaMemsetAsync(to, value, bytes, stream); });
}
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream) {
  // Waits even if it shall fail: what a copy writes to may go away now.
  const cudaError_t result = __real_cudaStreamSynchronize(stream);
  return call("cudaStreamSynchronize", cudaErrorLaunchFailure, {status::kernel_launch}, &cuda_counts::synchronizations,
              [&] { return result; });
}
cudaError_t __wrap_cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call("cudaFuncSetAttribute", cudaErrorInvalidValue, {status::internal, status::kernel_launch}, nullptr,
              [&] { return __real_cudaFuncSetAttribute(function, attribute, value); });
}
cudaError_t __wrap_cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, std::size_t shared,
                                    cudaStream_t stream) {
  return launch("cudaLaunchKernel",
                [&] { return __real_cudaLaunchKernel(function, grid, block, args, shared, stream); });
}
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, std::size_t shared,
                                      cudaStream_t stream) {
  return launch("__cudaLaunchKernel",
                [&] { return __real___cudaLaunchKernel(kernel, grid, block, args, shared, stream); });
}
cudaError_t __wrap_cudaPeekAtLastError() {
  const std::lock_guard lock(mutex);
  return injected != cudaSuccess ? injected : __real_cudaPeekAtLastError();
}
cudaError_t __wrap_cudaGetLastError() {
  const std::lock_guard lock(mutex);
  const cudaError_t real = __real_cudaGetLastError();
  const cudaError_t seen = std::exchange(injected, cudaSuccess);
  return seen != cudaSuccess ? seen : real;
}
cudaError_t __wrap_cudaDriverGetVersion(int* version) {
  const cudaError_t result = __real_cudaDriverGetVersion(version);
  *version = std::min(*version, 12030);  // the last without loops in graphs: see old_driver_test.cpp
  return result;
}

}  // extern "C"

}  // namespace tulle::test
