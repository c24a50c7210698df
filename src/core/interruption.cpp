#include <tulle/core/interruption.hpp>
#include <utility>

#include "core/interruption_point.hpp"

namespace tulle {

struct interruption::state {
  using clock = std::chrono::steady_clock;

  std::function<void()> look;
  std::chrono::milliseconds pause;
  clock::time_point last = clock::now();

  void look_if_due(bool at_once = false) {
    const auto now = clock::now();
    if (!at_once && now - last < pause) return;
    last = now;
    look();
  }
};

namespace {

thread_local interruption::state* current = nullptr;

}  // namespace

interruption::interruption(std::function<void()> look, std::chrono::milliseconds pause)
    : state_(new state{std::move(look), pause}), outer_(std::exchange(current, state_.get())) {}

interruption::~interruption() { current = outer_; }

void look_for_interruption(bool at_once) {
  if (current != nullptr) current->look_if_due(at_once);
}

interruption_point::interruption_point() : state_(current) {}

bool interruption_point::ask() const {
  if (over_.load(std::memory_order_relaxed)) return true;
  if (current != state_) return false;
  try {
    state_->look_if_due();
  } catch (...) {
    over_ = true;
    throw;
  }
  return false;
}

}  // namespace tulle
