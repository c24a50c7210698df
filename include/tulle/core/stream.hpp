// Streams and events of a device as values; on the CPU, whose work is done when a call returns, both do nothing.
#pragma once

#include <memory>

#include <tulle/core/context.hpp>

namespace tulle {

/// A queue of work on a context's device, apart from the context's own. Owned; `view()` is what calls take.
class stream {
 public:
  explicit stream(const context& ctx);

  [[nodiscard]] stream_view view() const noexcept { return view_; }
  operator stream_view() const noexcept { return view_; }
  /// Waits for everything queued so far, and throws what it failed with.
  void synchronize() const;

 private:
  context ctx_;
  stream_view view_;
  std::shared_ptr<const void> owner_;
};

/// A point of a stream that others can wait for.
class event {
 public:
  explicit event(const context& ctx);
  event(event&&) noexcept = default;
  event& operator=(event&&) noexcept = default;

  /// From now on the point is where `stream` is.
  void record(stream_view stream);
  /// What is queued on `stream` from now on runs after the point; the host does not wait.
  void make_wait(stream_view stream) const;
  /// The host waits.
  void synchronize() const;
  /// Whether everything before the point is done.
  [[nodiscard]] bool is_done() const;
  /// Between two points of the same device, of which both are done. Microseconds.
  [[nodiscard]] double microseconds_since(const event& earlier) const;

 private:
  context ctx_;
  std::shared_ptr<void> native_;  // null on the CPU
  double host_time_ = 0;          // microseconds of a steady clock, on the CPU
};

}  // namespace tulle
