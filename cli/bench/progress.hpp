// A bar on stderr, where that is a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace tulle::cli::bench {

class progress {
 public:
  explicit progress(std::size_t steps);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// Shows what runs now.
  void show(std::string_view what);
  /// One of the steps is done.
  void advance() { ++done_; }
  /// Wipes the line, before other output.
  void clear();

 private:
  std::size_t steps_;
  std::size_t done_ = 0;
  bool enabled_;
  bool shown_ = false;
};

}  // namespace tulle::cli::bench
