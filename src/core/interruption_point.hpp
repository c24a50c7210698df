// Where long work may end, for the sake of tulle/core/interruption.hpp. Costs a load where nobody asked for it.
#pragma once

#include <atomic>
#include <tulle/core/interruption.hpp>

namespace tulle {

/// Calls the `look` of this thread's interruption, where it has one and looked long enough ago; `at_once`: whenever
/// that was.
void look_for_interruption(bool at_once = false);

/// The same for a parallel region: made by the thread that began it, asked by every thread of it.
class interruption_point {
 public:
  interruption_point();
  /// Whether to leave the rest undone. On the thread that began the region it throws instead.
  [[nodiscard]] bool is_over() const { return state_ != nullptr && ask(); }

 private:
  [[nodiscard]] bool ask() const;

  interruption::state* state_;
  mutable std::atomic<bool> over_ = false;  // of this region: the next one begins anew
};

}  // namespace tulle
