// What runs now, how much of it is done and about how long it takes yet: one line of standard error, on a terminal
// alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace tulle::cli {

class progress_bar {
 public:
  progress_bar() = default;
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() { clear(); }

  /// Before the first: how many items there are, which count alike.
  void expect(std::size_t items) noexcept { items_ = items; }
  /// The next item begins, in one part.
  void next();
  /// The rest of the item is so many parts, which count alike.
  void divide(std::size_t parts) noexcept;
  /// The next part begins: "cant f64 csr.rows, cold".
  void step(std::string_view what);
  /// So much of the part is done, from 0 to 1. Draws a few times a second at most.
  void within(double share);
  /// The same of a single item, with other words.
  void tell(std::string_view what, double share);
  void clear();
  /// From 0 to 1.
  [[nodiscard]] double done() const noexcept;

 private:
  using clock = std::chrono::steady_clock;
  void draw();

  std::size_t items_ = 1, begun_ = 0;
  double base_ = 0, part_ = 1;  // of the item: done before this part, and this part
  double share_ = 0;            // of the part
  bool in_part_ = false;
  std::string what_;
  clock::time_point start_ = clock::now(), drawn_ = start_;
  bool shown_ = false;
};

/// "[======>    ]  42% cant f64 csr.rows, cold; 12.0 s left" in at most `width` columns; nothing of what is left where
/// less than two seconds have passed.
std::string progress_line(double done, double seconds, std::string_view what, std::size_t width);

}  // namespace tulle::cli
