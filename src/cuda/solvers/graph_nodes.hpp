// Loops on the device: graphs with conditional nodes (CUDA 12.4 and later), of a solve that starts anew and iterates.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <utility>

namespace tulle::cuda {

/// Work that was captured, to be launched or to become part of a loop.
struct graph_segment {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;

  graph_segment() = default;
  graph_segment(graph_segment&& other) noexcept { swap(other); }
  graph_segment& operator=(graph_segment&& other) noexcept {
    swap(other);
    return *this;
  }
  ~graph_segment();
  void swap(graph_segment& other) noexcept {
    std::swap(graph, other.graph);
    std::swap(executable, other.executable);
  }
  /// What changes `graph` comes before.
  void instantiate();
  void launch(cudaStream_t stream) const;
};

bool has_conditional_nodes(int driver_version);
bool is_capturing(cudaStream_t stream);

/// Calls work(stream) while a stream is captured.
graph_segment capture_segment(const std::function<void(cudaStream_t)>& work);

/// while (outer) { tell(state, inner); anew; while (inner) rounds; }
struct loop_parts {
  cudaGraph_t anew, rounds;
  void (*tell)(void* state, unsigned long long inner);  // a kernel
  void* state;
};
/// The condition of an outer loop in a new graph, or in the one that a stream is captured to. At first it holds.
struct loop_place {
  cudaGraph_t graph;
  cudaGraphConditionalHandle outer;
};
loop_place place_loop(cudaGraph_t graph);
loop_place place_loop(cudaStream_t capturing);
/// Puts the loop there: alone, or behind what was captured so far.
void add_loop(const loop_place& place, const loop_parts& parts);
void add_loop(cudaStream_t capturing, const loop_place& place, const loop_parts& parts);

}  // namespace tulle::cuda
