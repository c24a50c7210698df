// Blocks on a device: `blocks choice FILE.json` times what `default` takes for matrices of blocks beside what it could
// take, `blocks pattern FILE.json` the construction from pairs and the refill of values. A number behind makes all of
// it so many times smaller. The files are what docs/notes/0011 and 0012 show.
#include "blocks.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tulle/core/build_info.hpp>

namespace {

int run(std::string_view what, const char* file_name, int smaller) {
  const tulle::context ctx = tulle::context::best();
  const std::string found =
      what == "choice" ? tulle::bench::time_choices(ctx, smaller) : tulle::bench::time_patterns(ctx, smaller);
  std::FILE* const file = std::fopen(file_name, "w");
  if (file == nullptr) {
    fmt::print(stderr, "{} cannot be written\n", file_name);
    return 4;
  }
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  fmt::print(file, "{{\"context\": {{\"device\": \"{}\", \"commit\": \"{}\", \"date\": \"{:%F}\"}},\n{}}}\n",
             ctx.info().name, tulle::built_from().commit, today, found);
  return std::fclose(file) == 0 ? 0 : 4;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (argc < 3 || (what != "choice" && what != "pattern")) {
    fmt::print(stderr, "usage: {} choice|pattern FILE.json [SMALLER]\n", argv[0]);
    return 2;
  }
  try {
    return run(what, argv[2], argc > 3 ? std::max(std::atoi(argv[3]), 1) : 1);
  } catch (const tulle::error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 5;
  }
}
