#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/parts.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {
namespace {

class stream_event final : public device_event {
 public:
  explicit stream_event(int device) : device_(device) {
    const device_guard guard(device);  // events belong to the device that is current when they are created
    check(cudaEventCreate(&native_), "cudaEventCreate");
  }
  ~stream_event() override { (void)cudaEventDestroy(native_); }
  stream_event(const stream_event&) = delete;
  stream_event& operator=(const stream_event&) = delete;

  void record(stream_view stream) override {
    const device_guard guard(device_);
    check(cudaEventRecord(native_, native(stream)), "cudaEventRecord");
  }
  void make_wait(stream_view stream) const override {
    const device_guard guard(device_);
    check(cudaStreamWaitEvent(native(stream), native_, 0), "cudaStreamWaitEvent");
  }
  void synchronize() const override { check(cudaEventSynchronize(native_), "cudaEventSynchronize"); }
  [[nodiscard]] bool is_done() const override {
    const cudaError_t code = cudaEventQuery(native_);
    if (code != cudaErrorNotReady) check(code, "cudaEventQuery");
    (void)cudaGetLastError();
    return code == cudaSuccess;
  }
  [[nodiscard]] double microseconds_since(const device_event& earlier) const override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, static_cast<const stream_event&>(earlier).native_, native_),
          "cudaEventElapsedTime", status::invalid_argument);
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  int device_;
  cudaEvent_t native_ = nullptr;
};

}  // namespace

std::unique_ptr<device_event> make_event(int device) { return std::make_unique<stream_event>(device); }

}  // namespace tulle::cuda
