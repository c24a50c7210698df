#include <exception>

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/parts.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {
namespace {

struct graph_destroy {
  void operator()(cudaGraph_t g) const { (void)cudaGraphDestroy(g); }
};
using unique_graph = std::unique_ptr<CUgraph_st, graph_destroy>;

class executable_graph final : public device_graph {
 public:
  executable_graph(int device, cudaGraph_t graph) : device_(device) {
    check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
  }
  ~executable_graph() override { (void)cudaGraphExecDestroy(executable_); }
  executable_graph(const executable_graph&) = delete;
  executable_graph& operator=(const executable_graph&) = delete;

  void launch(stream_view stream) override {
    const device_guard guard(device_);
    check(cudaGraphLaunch(executable_, native(stream)), "cudaGraphLaunch", status::kernel_launch);
  }

 private:
  int device_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

std::unique_ptr<device_graph> capture_graph(int device, stream_view stream, const std::function<void()>& work) {
  const device_guard guard(device);
  check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture",
        status::unsupported);
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(native(stream), &graph);  // in any case: the stream is needed again
  const unique_graph captured(graph);
  if (failure != nullptr) {
    (void)cudaGetLastError();
    std::rethrow_exception(failure);
  }
  check(ended, "cudaStreamEndCapture", status::unsupported);
  return std::make_unique<executable_graph>(device, captured.get());
}

}  // namespace tulle::cuda
