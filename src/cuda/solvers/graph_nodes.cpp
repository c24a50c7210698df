#include "cuda/solvers/graph_nodes.hpp"

#include <exception>
#include <memory>

#include "cuda/runtime/check.hpp"

namespace tulle::cuda {
namespace {

/// The signatures of CUDA 13 take the data of edges as well.
cudaGraphNode_t add_node(cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                         cudaGraphNodeParams& params) {
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&node, graph, after, nullptr, count, &params), "cudaGraphAddNode");
#else
  check(cudaGraphAddNode(&node, graph, after, count, &params), "cudaGraphAddNode");
#endif
  return node;
}

struct captured {
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* after = nullptr;
  std::size_t count = 0;
};

captured capture_of(cudaStream_t stream) {
  captured found;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &found.graph, &found.after, nullptr, &found.count),
        "cudaStreamGetCaptureInfo");
#else
  check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &found.graph, &found.after, &found.count),
        "cudaStreamGetCaptureInfo");
#endif
  return found;
}

struct loop_node {
  cudaGraphNode_t node;
  cudaGraph_t body;
};

loop_node add_while(cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                    cudaGraphConditionalHandle handle) {
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  const cudaGraphNode_t node = add_node(graph, after, count, params);
  return {node, params.conditional.phGraph_out[0]};
}

cudaGraphConditionalHandle make_handle(cudaGraph_t graph, unsigned at_first) {
  cudaGraphConditionalHandle handle = 0;
  check(cudaGraphConditionalHandleCreate(&handle, graph, at_first, cudaGraphCondAssignDefault),
        "cudaGraphConditionalHandleCreate", status::unsupported);
  return handle;
}

cudaGraphNode_t add_loop_to(cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                            cudaGraphConditionalHandle outer, const loop_parts& parts) {
  const loop_node whole = add_while(graph, after, count, outer);
  cudaGraphConditionalHandle inner = make_handle(whole.body, 0);
  void* state = parts.state;
  void* arguments[] = {&state, &inner};
  cudaKernelNodeParams tell{};
  tell.func = reinterpret_cast<void*>(parts.tell);
  tell.gridDim = tell.blockDim = dim3(1);
  tell.kernelParams = arguments;
  cudaGraphNode_t first = nullptr, second = nullptr, only = nullptr;
  check(cudaGraphAddKernelNode(&first, whole.body, nullptr, 0, &tell), "cudaGraphAddKernelNode");
  check(cudaGraphAddChildGraphNode(&second, whole.body, &first, 1, parts.anew), "cudaGraphAddChildGraphNode");
  const loop_node iterations = add_while(whole.body, &second, 1, inner);
  check(cudaGraphAddChildGraphNode(&only, iterations.body, nullptr, 0, parts.rounds), "cudaGraphAddChildGraphNode");
  return whole.node;
}

struct stream_destroy {
  void operator()(cudaStream_t s) const { (void)cudaStreamDestroy(s); }
};

}  // namespace

graph_segment::~graph_segment() {
  if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
}
void graph_segment::instantiate() { check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate"); }
void graph_segment::launch(cudaStream_t stream) const {
  check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch", status::kernel_launch);
}

bool has_conditional_nodes(int driver_version) { return driver_version >= 12040; }

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status == cudaStreamCaptureStatusActive;
}

graph_segment capture_segment(const std::function<void(cudaStream_t)>& work) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  const std::unique_ptr<CUstream_st, stream_destroy> owned(stream);
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  std::exception_ptr failure;
  try {
    work(stream);
  } catch (...) {
    failure = std::current_exception();
  }
  graph_segment segment;
  const cudaError_t ended = cudaStreamEndCapture(stream, &segment.graph);
  if (failure != nullptr) {
    (void)cudaGetLastError();
    std::rethrow_exception(failure);
  }
  check(ended, "cudaStreamEndCapture");
  return segment;
}

loop_place place_loop(cudaGraph_t graph) { return {graph, make_handle(graph, 1)}; }
loop_place place_loop(cudaStream_t capturing) { return place_loop(capture_of(capturing).graph); }

void add_loop(const loop_place& place, const loop_parts& parts) {
  (void)add_loop_to(place.graph, nullptr, 0, place.outer, parts);
}

void add_loop(cudaStream_t capturing, const loop_place& place, const loop_parts& parts) {
  const captured before = capture_of(capturing);
  cudaGraphNode_t node = add_loop_to(place.graph, before.after, before.count, place.outer, parts);
#if CUDART_VERSION >= 13000
  check(cudaStreamUpdateCaptureDependencies(capturing, &node, nullptr, 1, cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies");
#else
  check(cudaStreamUpdateCaptureDependencies(capturing, &node, 1, cudaStreamSetCaptureDependencies),
        "cudaStreamUpdateCaptureDependencies");
#endif
}

}  // namespace tulle::cuda
