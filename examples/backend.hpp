// What the command lines of examples share: [cpu|cuda], then words of their own.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tulle/tulle.hpp>

/// The one that the first argument names, cpu or cuda, which is taken off the arguments; else the best there is.
inline tulle::context take_context(int& argc, char**& argv) {
  const std::string_view backend = argc > 1 ? argv[1] : "";
  if (backend != "cpu" && backend != "cuda") return tulle::context::best();
  --argc, ++argv;
  return backend == "cpu" ? tulle::context::cpu() : tulle::context::cuda();
}

[[noreturn]] inline void show_usage(const char* usage) {
  std::fprintf(stderr, "usage: %s\n", usage);
  std::exit(2);
}

/// A whole number from `least` to `most`; anything else ends in the usage.
inline int number(std::string_view text, int least, int most, const char* usage) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < least || value > most) show_usage(usage);
  return value;
}
