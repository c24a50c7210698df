#include <chrono>
#include <tulle/core/status.hpp>
#include <tulle/core/stream.hpp>

#include "core/device_runtime.hpp"

namespace tulle {
namespace {

bool on_device(const context& ctx) { return ctx.backend() == backend_kind::cuda; }

double now_in_microseconds() {
  const std::chrono::duration<double, std::micro> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

}  // namespace

stream::stream(const context& ctx) : ctx_(ctx) {
  if (!on_device(ctx)) return;
  view_ = cuda_runtime()->create_stream(ctx.device());
  owner_ = std::shared_ptr<const void>(view_.native, [device = ctx.device(), view = view_](const void*) {
    cuda_runtime()->destroy_stream(device, view);
  });
}

void stream::synchronize() const {
  if (on_device(ctx_)) cuda_runtime()->synchronize(ctx_.device(), view_);
}

event::event(const context& ctx) : ctx_(ctx) {
  if (on_device(ctx)) native_ = cuda_runtime()->create_event(ctx.device());
}

void event::record(stream_view stream) {
  if (native_ != nullptr) {
    native_->record(stream);
  } else {
    host_time_ = now_in_microseconds();
  }
}

void event::make_wait(stream_view stream) const {
  if (native_ != nullptr) native_->make_wait(stream);
}

void event::synchronize() const {
  if (native_ != nullptr) native_->synchronize();
}

bool event::is_done() const { return native_ == nullptr || native_->is_done(); }

double event::microseconds_since(const event& earlier) const {
  if ((native_ == nullptr) != (earlier.native_ == nullptr)) {
    throw error(status::invalid_argument, "microseconds_since: one event is of the CPU, the other of a device");
  }
  if (native_ != nullptr) return native_->microseconds_since(*earlier.native_);
  if (host_time_ < 0 || earlier.host_time_ < 0) {
    throw error(status::invalid_argument, "microseconds_since: an event was never recorded");
  }
  return host_time_ - earlier.host_time_;
}

graph::graph(const context& ctx, const std::function<void()>& work, std::optional<stream_view> stream) : ctx_(ctx) {
  if (!on_device(ctx)) throw error(status::unsupported, "a graph needs a device: the CPU has no streams to capture");
  native_ = cuda_runtime()->capture(ctx.device(), stream.value_or(ctx.stream()), work);
}

void graph::launch(std::optional<stream_view> stream) const { native_->launch(stream.value_or(ctx_.stream())); }

}  // namespace tulle
