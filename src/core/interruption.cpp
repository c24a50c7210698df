#include <atomic>
#include <tulle/core/interruption.hpp>
#include <utility>

#include "core/interruption_point.hpp"

namespace tulle {

struct interruption::state {
  using clock = std::chrono::steady_clock;

  std::function<void()> look;
  std::chrono::milliseconds pause;
  clock::time_point last = clock::now();
  std::atomic<bool> over = false;

  void look_if_due(bool at_once = false) {
    const auto now = clock::now();
    if (!at_once && now - last < pause) return;
    last = now;
    try {
      look();
    } catch (...) {
      over = true;
      throw;
    }
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
  if (current == state_) state_->look_if_due();
  return state_->over.load(std::memory_order_relaxed);
}

}  // namespace tulle
