#include "cuda/runtime/side_stream.hpp"

#include "cuda/runtime/check.hpp"

namespace tulle::cuda {
namespace {

/// What `after` gets from now on waits for all that `before` has.
cudaError_t order(cudaStream_t before, cudaEvent_t event, cudaStream_t after) {
  const cudaError_t code = cudaEventRecord(event, before);
  return code == cudaSuccess ? cudaStreamWaitEvent(after, event, 0) : code;
}

}  // namespace

side_stream::~side_stream() {
  if (event_ != nullptr) (void)cudaEventDestroy(event_);
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

void side_stream::make() {
  if (event_ == nullptr) check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  if (stream_ != nullptr) return;
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
}

side_work::side_work(side_stream& side, cudaStream_t main, bool worthwhile) : side_(nullptr), main_(main) {
  if (!worthwhile) return;
  side.make();
  check(order(main, side.event_, side.stream_), "cudaStreamWaitEvent");
  side_ = &side;
}

side_work::~side_work() {
  if (side_ == nullptr || order(side_->stream_, side_->event_, main_) == cudaSuccess) return;
  (void)cudaGetLastError();
  (void)cudaStreamSynchronize(side_->stream_);  // a failure stays with the device, and the next call tells it
}

}  // namespace tulle::cuda
