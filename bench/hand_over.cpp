// What a parallel region costs beyond its parts, and how soon a worker is there after a pause
// (docs/notes/0014-threads.md).
//
//   tulle_hand_over          two threads; microseconds: the median, the tenth and the ninetieth of a hundred
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "core/workers.hpp"

namespace tulle::bench {
namespace {

using clock = std::chrono::steady_clock;

double since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}
void compute(double microseconds) {
  for (const auto begin = clock::now(); since(begin) < microseconds;) {
  }
}
std::string told(std::vector<double> all) {
  std::ranges::sort(all);
  const auto at = [&](std::size_t percent) { return all[(all.size() - 1) * percent / 100]; };
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", at(50), at(10), at(90));
}

/// Regions in a row whose parts take so long.
void in_a_row(double part) {
  std::vector<double> beyond;
  for (int i = 0; i < 3000; ++i) {
    const auto begin = clock::now();
    for_each_part(2, [&](int) { compute(part); });
    if (i >= 200) beyond.push_back(since(begin) - part);
  }
  fmt::print("parts of {} us in a row: {} us beyond\n", part, told(beyond));
}

/// From the first region after a pause to the first part that a worker takes.
void after(std::chrono::microseconds pause, bool computing) {
  const auto caller = std::this_thread::get_id();
  std::vector<double> until;
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 100; ++k) for_each_part(2, [](int) { compute(5); });
    computing ? compute(static_cast<double>(pause.count())) : std::this_thread::sleep_for(pause);
    std::atomic<bool> there = false;
    double at = 0;
    const auto begin = clock::now();
    for (int k = 0; k < 100'000 && !there; ++k) {
      for_each_part(2, [&](int) {
        if (std::this_thread::get_id() != caller && !there) at = since(begin), there = true;
        compute(10);
      });
    }
    until.push_back(there ? at : since(begin));
  }
  fmt::print("after {} us of {}: a worker after {} us\n", pause.count(), computing ? "other work" : "sleep",
             told(until));
}

}  // namespace
}  // namespace tulle::bench

int main() {
  using namespace tulle::bench;
  for (const double part : {1.0, 5.0, 20.0}) in_a_row(part);
  for (const int pause : {200, 1000, 2000, 5000, 20000}) {
    for (const bool computing : {true, false}) after(std::chrono::microseconds(pause), computing);
  }
}
