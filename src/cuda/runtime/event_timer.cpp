#include "cuda/runtime/event_timer.hpp"

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {
namespace {

class event {
 public:
  event() { check(cudaEventCreate(&native_), "cudaEventCreate"); }
  ~event() { (void)cudaEventDestroy(native_); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  void record(stream_view stream) { check(cudaEventRecord(native_, native(stream)), "cudaEventRecord"); }
  [[nodiscard]] cudaEvent_t get() const { return native_; }

 private:
  cudaEvent_t native_ = nullptr;
};

class event_timer final : public device_timer {
 public:
  explicit event_timer(int device) : device_(device) {}

  void start(stream_view stream) override {
    const device_guard guard(device_);
    start_.record(stream);
  }
  void stop(stream_view stream) override {
    const device_guard guard(device_);
    stop_.record(stream);
  }
  double microseconds() override {
    check(cudaEventSynchronize(stop_.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "cudaEventElapsedTime");
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  int device_;
  event start_;
  event stop_;
};

}  // namespace

std::unique_ptr<device_timer> make_event_timer(int device) {
  const device_guard guard(device);  // events belong to the device that is current when they are created
  return std::make_unique<event_timer>(device);
}

}  // namespace tulle::cuda
