/// @file
/// Ending a long call early.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace tulle {

/// While one lives, long work that its thread begins on the CPU looks now and then whether it shall end: products of
/// sparse matrices, files, planning that measures. `look` is called by that thread, never by a worker, and not again
/// before `pause` has gone by; what it throws ends the call and arrives at its caller, once no worker is at it any
/// more. A result that was being filled in place is then half done; everything else is as before the call. They nest:
/// the inner one counts.
class interruption {
 public:
  /// Throws std::bad_alloc.
  explicit interruption(std::function<void()> look, std::chrono::milliseconds pause = std::chrono::milliseconds(100));
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  struct state;  ///< the library's own

 private:
  std::unique_ptr<state> state_;
  state* outer_;
};

}  // namespace tulle
