// Streaming kernels: each thread keeps four 16-byte loads in flight, on a grid that fills the device once.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/parts.hpp"

namespace tulle::cuda {
namespace {

constexpr int block_size = 256;
constexpr int blocks_per_multiprocessor = 4;  // all resident at once: 64 KB of loads in flight each
constexpr int unroll = 4;
constexpr int passes = 10;
constexpr std::size_t largest_array = std::size_t{4} << 30;
constexpr int cached_rounds = 50;
constexpr std::size_t chunk = std::size_t{1} << 20;  // array sizes are multiples of this

/// Calls f(first, threads) for the first of every `unroll` elements below n that a thread takes, `threads` apart.
template <class F>
__device__ void stream_over(std::size_t n, F f) {
  const std::size_t threads = std::size_t{gridDim.x} * block_size;
  for (std::size_t i = std::size_t{blockIdx.x} * block_size + threadIdx.x; i < n; i += threads * unroll) f(i, threads);
}

/// Sums `rounds` times over. `Cached`: by loads that the L1 does not keep but the L2 does; else past both.
template <bool Cached>
__global__ void __launch_bounds__(block_size, blocks_per_multiprocessor)
    read_kernel(const uint4* from, std::size_t n, int rounds, unsigned* sums) {
  unsigned sum = 0;
  for (int round = 0; round < rounds; ++round) {
    stream_over(n, [&](std::size_t first, std::size_t step) {
      uint4 part[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        const std::size_t i = first + u * step;
        part[u] = i >= n ? uint4{0, 0, 0, 0} : Cached ? __ldcg(from + i) : __ldcs(from + i);
      }
#pragma unroll
      for (int u = 0; u < unroll; ++u) sum += part[u].x + part[u].y + part[u].z + part[u].w;
    });
    asm volatile("" ::: "memory");  // a round is not hoisted out of the loop
  }
  sums[blockIdx.x * block_size + threadIdx.x] = sum;  // stored, so that no load is optimised away
}

/// a = b + s c; a = b unless `Triad`.
template <bool Triad>
__global__ void __launch_bounds__(block_size, blocks_per_multiprocessor)
    write_kernel(double2* a, const double2* b, const double2* c, double s, std::size_t n) {
  stream_over(n, [&](std::size_t first, std::size_t step) {
    double2 left[unroll], right[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::size_t i = first + u * step;
      if (i < n) left[u] = __ldcs(b + i);
      if (Triad && i < n) right[u] = __ldcs(c + i);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::size_t i = first + u * step;
      if (i < n) __stcs(a + i, Triad ? double2{left[u].x + s * right[u].x, left[u].y + s * right[u].y} : left[u]);
    }
  });
}

__global__ void empty_kernel() {}

struct cuda_free {
  void operator()(std::byte* p) const { (void)cudaFree(p); }
};
using device_array = std::unique_ptr<std::byte, cuda_free>;

device_array allocate(std::size_t bytes) {
  void* p = nullptr;
  check(cudaMalloc(&p, bytes), "cudaMalloc");
  return device_array(static_cast<std::byte*>(p));
}

/// Three arrays of this size leave a quarter of the free memory alone.
std::size_t array_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return std::max(std::min(largest_array, free / 4) / chunk, std::size_t{1}) * chunk;
}

/// A third of the L2.
std::size_t cached_bytes() {
  int device = 0, l2 = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  return std::max(static_cast<std::size_t>(l2) / 3 / chunk, std::size_t{1}) * chunk;
}

/// Bytes per second of the fastest pass of a kernel on a grid that fills the device once.
template <class... Parameters, class... Args>
double best_rate(std::size_t bytes, int device, stream_view stream, const char* name, void (*kernel)(Parameters...),
                 int grid, const Args&... args) {
  const auto begin = make_event(device), end = make_event(device);
  double best = 0;
  for (int pass = 0; pass <= passes; ++pass) {  // the first warms up
    begin->record(stream);
    launch(name, kernel, {grid, block_size}, native(stream), args...);
    end->record(stream);
    end->synchronize();
    const double microseconds = end->microseconds_since(*begin);
    if (pass > 0 && microseconds > 0) best = std::max(best, static_cast<double>(bytes) / (1e-6 * microseconds));
  }
  return best;
}

}  // namespace

bandwidth measure_bandwidth(int multiprocessors, int device, stream_view stream) {
  const std::size_t bytes = array_bytes();
  const std::size_t n = bytes / sizeof(uint4);
  const device_array a = allocate(bytes), b = allocate(bytes), c = allocate(bytes);
  const int grid = multiprocessors * blocks_per_multiprocessor;
  const device_array sums = allocate(static_cast<std::size_t>(grid) * block_size * sizeof(unsigned));
  const cudaStream_t s = native(stream);
  for (const device_array* array : {&a, &b, &c}) check(cudaMemsetAsync(array->get(), 0, bytes, s), "cudaMemsetAsync");

  auto* const a2 = reinterpret_cast<double2*>(a.get());
  const auto* const b4 = reinterpret_cast<const uint4*>(b.get());
  const auto* const b2 = reinterpret_cast<const double2*>(b.get());
  const auto* const c2 = reinterpret_cast<const double2*>(c.get());
  auto* const sums4 = reinterpret_cast<unsigned*>(sums.get());

  const std::size_t cached = std::min(bytes, cached_bytes());
  bandwidth found;
  found.read = best_rate(bytes, device, stream, "read_kernel", read_kernel<false>, grid, b4, n, 1, sums4);
  found.cache = best_rate(cached * cached_rounds, device, stream, "read_cache_kernel", read_kernel<true>, grid, b4,
                          cached / sizeof(uint4), cached_rounds, sums4);
  found.copy = best_rate(2 * bytes, device, stream, "copy_kernel", write_kernel<false>, grid, a2, b2, c2, 0.0, n);
  found.triad = best_rate(3 * bytes, device, stream, "triad_kernel", write_kernel<true>, grid, a2, b2, c2, 3.0, n);
  return found;
}

double measure_launch_latency(stream_view stream) {
  using clock = std::chrono::steady_clock;
  constexpr int warm_up = 20;
  std::array<double, 201> microseconds;
  for (int i = -warm_up; i < static_cast<int>(microseconds.size()); ++i) {
    const auto start = clock::now();
    launch("empty_kernel", empty_kernel, {1, 1}, native(stream));
    check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
    const std::chrono::duration<double, std::micro> elapsed = clock::now() - start;
    if (i >= 0) microseconds[static_cast<std::size_t>(i)] = elapsed.count();
  }
  const auto middle = microseconds.begin() + microseconds.size() / 2;
  std::nth_element(microseconds.begin(), middle, microseconds.end());
  return *middle;
}

}  // namespace tulle::cuda
