// How fast a Matrix Market file is read: read_matrix_market FILE [THREADS] [REPEATS] prints the best time as JSON.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <tulle/core/status.hpp>
#include <tulle/io/matrix_market.hpp>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE [THREADS] [REPEATS]\n", argv[0]);
    return 2;
  }
  tulle::matrix_market_options options;
  options.threads = argc > 2 ? std::atoi(argv[2]) : 0;
  const int repeats = argc > 3 ? std::atoi(argv[3]) : 5;
  try {
    tulle::matrix_market_info info;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repeats; ++i) {
      tulle::read_matrix_market<double>(argv[1], options, &info);
      best = std::min(best, info.seconds);
    }
    std::printf("{\"threads\": %d, \"seconds\": %.6f, \"megabytes_per_second\": %.1f, \"entries\": %lld}\n",
                options.threads, best, static_cast<double>(info.bytes) / 1e6 / best,
                static_cast<long long>(info.stored_entries));
  } catch (const tulle::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
  return 0;
}
