// What it costs blocks to wait for each other: rounds of barriers in one launch, and of a word that goes back and
// forth.
#include <cooperative_groups.h>

#include <algorithm>
#include <memory>

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/parts.hpp"

namespace tulle::cuda {
namespace {

constexpr int rounds = 2000;
constexpr int threads = 256;
constexpr int passes = 5;
constexpr int cluster_blocks = 8;
constexpr int graph_nodes = 200;

__device__ unsigned load_acquire(const unsigned* from) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
  return v;
}
__device__ void store_release(unsigned* to, unsigned v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}

/// Arrivals are counted in one word, that all poll.
__global__ void grid_barrier_kernel(unsigned* count) {
  for (unsigned round = 1; round <= rounds; ++round) {
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
      while (load_acquire(count) < round * gridDim.x) {
      }
    }
    __syncthreads();
  }
}

__global__ void cooperative_barrier_kernel() {
  for (int round = 0; round < rounds; ++round) cooperative_groups::this_grid().sync();
}

__global__ void cluster_barrier_kernel() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  for (int round = 0; round < rounds; ++round) cooperative_groups::this_cluster().sync();
#endif
}

/// Two blocks answer each other.
__global__ void hop_kernel(unsigned* word) {
  if (threadIdx.x != 0) return;
  for (unsigned i = blockIdx.x; i < 2 * rounds; i += 2) {
    while (load_acquire(word) != i) {
    }
    store_release(word, i + 1);
  }
}

__global__ void node_kernel() {}

struct cuda_free {
  void operator()(unsigned* p) const { (void)cudaFree(p); }
};

/// Microseconds of the fastest pass.
template <class F>
double best_of(int device, stream_view stream, const F& work) {
  const auto begin = make_event(device), end = make_event(device);
  double best = 0;
  for (int pass = 0; pass <= passes; ++pass) {
    begin->record(stream);
    work();
    end->record(stream);
    end->synchronize();
    const double microseconds = end->microseconds_since(*begin);
    if (pass == 1 || (pass > 1 && microseconds < best)) best = microseconds;
  }
  return best;
}

template <class... Parameters>
void launch_with(cudaLaunchAttribute attribute, int blocks, cudaStream_t stream, void (*kernel)(Parameters...),
                 Parameters... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "latency kernel", status::kernel_launch);
}

cudaLaunchAttribute together() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  return attribute;
}

double node_latency(int device, stream_view stream) {
  const auto graph_of = [&](int nodes) {
    return capture_graph(device, stream, [&] {
      for (int i = 0; i < nodes; ++i) launch("node_kernel", node_kernel, {1, 32}, native(stream));
    });
  };
  const auto few = graph_of(20), many = graph_of(20 + graph_nodes);
  const double of_few = best_of(device, stream, [&] { few->launch(stream); });
  return (best_of(device, stream, [&] { many->launch(stream); }) - of_few) / graph_nodes;
}

}  // namespace

latencies measure_latencies(const device_info& info, int device, stream_view stream) {
  const cudaStream_t s = native(stream);
  void* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(unsigned)), "cudaMalloc");
  const std::unique_ptr<unsigned, cuda_free> word(static_cast<unsigned*>(memory));
  const auto clear = [&] { check(cudaMemsetAsync(word.get(), 0, sizeof(unsigned), s), "cudaMemsetAsync"); };
  const auto barrier = [&](auto work) { return best_of(device, stream, work) / rounds; };

  latencies found;
  found.grid_barrier = barrier([&] {
    clear();
    launch_with<unsigned*>(together(), info.multiprocessors, s, grid_barrier_kernel, word.get());
  });
  found.cooperative_barrier =
      barrier([&] { launch_with<>(together(), info.multiprocessors, s, cooperative_barrier_kernel); });
  if (info.compute_capability >= 90) {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = cluster_blocks;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    found.cluster_barrier = barrier([&] { launch_with<>(cluster, cluster_blocks, s, cluster_barrier_kernel); });
  }
  found.atomic_hop = barrier([&] {
                       clear();
                       launch_with<unsigned*>(together(), 2, s, hop_kernel, word.get());
                     }) /
                     2;
  found.graph_node = node_latency(device, stream);
  return found;
}

}  // namespace tulle::cuda
