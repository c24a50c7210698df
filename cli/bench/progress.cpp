#include "progress.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "../common.hpp"

namespace tulle::cli::bench {

progress::progress(std::size_t steps) : steps_(std::max<std::size_t>(steps, 1)), enabled_(is_terminal(stderr)) {}

void progress::show(std::string_view what) {
  if (!enabled_) return;
  constexpr std::size_t width = 30;
  const std::size_t filled = std::min(width, width * done_ / steps_);
  fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}", std::string(filled, '='), std::string(width - filled, ' '), done_,
             steps_, what.substr(0, 80));
  std::fflush(stderr);
  shown_ = true;
}

void progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace tulle::cli::bench
