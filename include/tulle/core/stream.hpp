/// @file
/// Streams, events and graphs of a device as values; on the CPU, whose work is done when a call returns, streams do
/// nothing, events only tell the time, and there are no graphs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tulle/core/context.hpp>

namespace tulle {

class device_event;
class device_graph;

/// A queue of work on a context's device, apart from the context's own. Owned; `view()` is what calls take.
class stream {
 public:
  /// On the device of `ctx`, beside its own stream. Throws OUT_OF_MEMORY or KERNEL_LAUNCH where the device gives none.
  explicit stream(const context& ctx);

  /// For calls; the stream must outlive what is queued on it.
  [[nodiscard]] stream_view view() const noexcept { return view_; }
  /// The same as view().
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
  /// On the device of `ctx`. It is no point of any stream before record().
  explicit event(const context& ctx);
  /// Takes the point over.
  event(event&&) noexcept = default;
  /// Takes the point over.
  event& operator=(event&&) noexcept = default;

  /// From now on the point is where `stream` is.
  void record(stream_view stream);
  /// What is queued on `stream` from now on runs after the point; the host does not wait.
  void make_wait(stream_view stream) const;
  /// The host waits.
  void synchronize() const;
  /// Whether everything before the point is done.
  [[nodiscard]] bool is_done() const;
  /// Between two points of the same device, of which both are done; else throws INVALID_ARGUMENT. Microseconds.
  [[nodiscard]] double microseconds_since(const event& earlier) const;

 private:
  context ctx_;
  std::shared_ptr<device_event> native_;  // null on the CPU
  double host_time_ = -1;                 // on the CPU: microseconds of a steady clock, below 0 before the first record
};

/// Work that was captured once and is launched as a whole, as often as one likes, at the cost of one launch.
class graph {
 public:
  /// Captures what `work` queues on `stream` (none: the context's), without running it. What cannot be captured (work
  /// that waits, mostly) throws UNSUPPORTED, as does a context on the CPU; what `work` throws passes through; the
  /// stream stays usable in any case. Everything that the work uses must outlive the graph.
  graph(const context& ctx, const std::function<void()>& work, std::optional<stream_view> stream = {});

  /// Queues the work once more, on `stream` (none: the context's). Does not wait.
  void launch(std::optional<stream_view> stream = {}) const;

 private:
  context ctx_;
  std::shared_ptr<device_graph> native_;
};

}  // namespace tulle
