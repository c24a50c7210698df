#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "output.hpp"
#include "page.hpp"

namespace tulle::cli {

std::string progress_line(double done, double seconds, std::string_view what, std::size_t width) {
  constexpr std::size_t bar = 20;
  constexpr double told_after = 2, least_done = 0.02;
  const auto filled = static_cast<std::size_t>(static_cast<double>(bar) * done);
  std::string line = fmt::format("[{}{}] {:>3.0f}% {}", std::string(filled, '='), std::string(bar - filled, ' '),
                                 100 * done, printable(what));
  std::string left;
  if (seconds >= told_after && done >= least_done) {
    const double rest = std::max(1.0, seconds * (1 - done) / done);
    left = fmt::format("; {} left", rest < 120 ? fmt::format("{:.0f} s", rest) : human_time(1e6 * rest));
  }
  const std::size_t room = width - std::min(width, left.size() + 1);  // a full line would wrap
  return lines_within(line, room).front() + left;
}

double progress_bar::done() const noexcept {
  if (begun_ == 0) return 0;
  const double items = static_cast<double>(begun_ - 1) + std::min(1.0, base_ + part_ * share_);
  return std::min(1.0, items / static_cast<double>(std::max(items_, begun_)));
}

void progress_bar::next() {
  ++begun_;
  base_ = share_ = 0;
  part_ = 1;
  in_part_ = false;
}

void progress_bar::divide(std::size_t parts) noexcept {
  if (in_part_) base_ += part_ * share_;
  share_ = 0;
  in_part_ = false;
  part_ = (1 - base_) / static_cast<double>(std::max<std::size_t>(parts, 1));
}

void progress_bar::step(std::string_view what) {
  if (in_part_) base_ += part_;
  in_part_ = true;
  share_ = 0;
  what_ = what;
  draw();
}

void progress_bar::within(double share) {
  share_ = std::clamp(share, 0.0, 1.0);
  if (clock::now() - drawn_ >= std::chrono::milliseconds(200)) draw();
}

void progress_bar::tell(std::string_view what, double share) {
  begun_ = 1;
  what_ = what;
  within(share);
}

void progress_bar::draw() {
  if (!shows_progress()) return;
  drawn_ = clock::now();
  const double seconds = std::chrono::duration<double>(drawn_ - start_).count();
  put_raw(stderr, "\r\x1b[K" + progress_line(done(), seconds, what_, width_of(stderr)));
  shown_ = true;
}

void progress_bar::clear() {
  if (shown_) put_raw(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace tulle::cli
