#include "load.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace tulle::cli::bench {
namespace {

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

/// Of all processes, by all cores: user, nice, system, irq, softirq and steal of the first line of /proc/stat; -1 where
/// there is none. Guests are counted in user.
double busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  if (!(stat >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal)) return -1;
  return (user + nice + system + irq + softirq + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

load_watch::load_watch() : begin_(now()) {}

load_watch::times load_watch::now() {
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
  return {wall.count(), seconds(own.ru_utime) + seconds(own.ru_stime), busy_seconds()};
}

std::optional<double> load_watch::others() const {
  constexpr double least_wall = 0.2;
  const times end = now();
  const double wall = end.wall - begin_.wall;
  if (begin_.all < 0 || end.all < 0 || wall < least_wall) return {};
  return std::max(0.0, (end.all - begin_.all - (end.own - begin_.own)) / wall);
}

bool is_overloaded(std::optional<double> others, int threads, int cores) {
  constexpr double background = 0.25;  // what a machine does besides
  return others && *others + threads > cores + background;
}

std::string overload(std::optional<double> others, int threads, int cores) {
  if (!is_overloaded(others, threads, cores)) return {};
  const auto of = [](int count, const char* one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); };
  return fmt::format(
      "the machine is overloaded: {} here and {:.1f} cores' worth of other processes on {}; times are longer than on a "
      "quiet machine",
      of(threads, "thread"), *others, of(cores, "core"));
}

int cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

}  // namespace tulle::cli::bench
