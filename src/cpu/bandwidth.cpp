#include "cpu/bandwidth.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <tulle/core/buffer.hpp>

#include "core/workers.hpp"
#include "cpu/spmv/isa.hpp"

namespace tulle::cpu {
namespace {

constexpr std::size_t least_bytes = std::size_t{192} << 20;
constexpr std::size_t most_bytes = std::size_t{4} << 30;

/// Sum with as many accumulators as keep the loads, not the additions, waiting.
[[gnu::always_inline]] inline double sum_body(const double* a, std::size_t n) {
  constexpr std::size_t lanes = 32;
  constexpr std::size_t ahead = 512;  // a page: the hardware's prefetchers alone leave bandwidth unused
  double partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t line = 0; line < lanes; line += 8) __builtin_prefetch(a + i + ahead + line);
#pragma omp simd
    for (std::size_t lane = 0; lane < lanes; ++lane) partial[lane] += a[i + lane];
  }
  double total = 0;
  for (; i < n; ++i) total += a[i];
  for (const double p : partial) total += p;
  return total;
}

/// With the widest loads that the machine has, as the kernels use them.
double sum(const double* a, std::size_t n) {
  double total = 0;
  with_isa(
      best_isa(), [&]() __attribute__((always_inline)) { total = sum_body(a, n); });
  return total;
}

/// Memory that a container allows (cgroup v2), else all of the machine's.
std::size_t allowed_memory(std::size_t machine) {
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  std::size_t bytes = 0;
  return limit >> bytes ? std::min(bytes, machine) : machine;
}

/// Elements of each of three arrays that together are four last-level caches, and at most a quarter of the memory.
std::size_t array_elements(const device_info& info) {
  const std::size_t wanted = std::clamp(4 * info.l2_bytes, least_bytes, most_bytes);
  return std::min(wanted, allowed_memory(info.memory_bytes) / 4) / (3 * sizeof(double));
}

/// Calls body(begin, end) on every thread with its share of n elements, always the same.
template <class Body>
void in_shares(int threads, std::size_t n, const Body& body) {
  for_each_part(threads, [&](int part) {
    const auto count = static_cast<std::size_t>(threads), id = static_cast<std::size_t>(part);
    body(n / count * id, id + 1 == count ? n : n / count * (id + 1));
  });
}

/// `bytes` over the shortest of at least three runs, as many as fit the time given.
template <class Run>
double best_rate(double bytes, const Run& run, std::chrono::milliseconds fit = std::chrono::milliseconds(500)) {
  using clock = std::chrono::steady_clock;
  double best = 0;
  const auto begin = clock::now();
  for (int i = 0; i < 3 || (i < 20 && clock::now() - begin < fit); ++i) {
    const auto start = clock::now();
    run();
    best = std::max(best, bytes / std::chrono::duration<double>(clock::now() - start).count());
  }
  return best;
}

}  // namespace

bandwidth measure_bandwidth(const context& ctx) {
  const context host = context::cpu(ctx.threads());
  const int threads = host.threads();
  const std::size_t n = array_elements(host.info());
  buffer<double> a(host, n);
  buffer<double> b(host, n);
  buffer<double> c(host, n);
  in_shares(threads, n, [&](std::size_t begin, std::size_t end) {
    std::fill(a.data() + begin, a.data() + end, 1.0);
    std::fill(b.data() + begin, b.data() + end, 2.0);
    std::fill(c.data() + begin, c.data() + end, 3.0);
  });

  bandwidth result;
  const auto bytes = static_cast<double>(n * sizeof(double));
  std::atomic<double> seen = 0;  // keeps the sums from being optimised away
  result.read = best_rate(3 * bytes, [&] {
    in_shares(threads, n, [&](std::size_t begin, std::size_t end) {
      for (const double* array : {a.data(), b.data(), c.data()}) seen = sum(array + begin, end - begin);
    });
  });
  result.copy = best_rate(2 * bytes, [&] {
    in_shares(threads, n, [&](std::size_t begin, std::size_t end) {
      std::memcpy(b.data() + begin, a.data() + begin, (end - begin) * sizeof(double));
    });
  });
  result.triad = best_rate(3 * bytes, [&] {
    in_shares(threads, n, [&](std::size_t begin, std::size_t end) {
      double* to = a.data();
      const double* from = b.data();
      const double* add = c.data();
#pragma omp simd
      for (std::size_t i = begin; i < end; ++i) to[i] = from[i] + 0.5 * add[i];
    });
  });
  return result;
}

double measure_read_bandwidth(const context& ctx) {
  const context host = context::cpu(ctx.threads());
  const int threads = host.threads();
  const std::size_t n = array_elements(host.info());
  buffer<double> a(host, n);
  in_shares(threads, n, [&](std::size_t begin, std::size_t end) { std::fill(a.data() + begin, a.data() + end, 1.0); });
  std::atomic<double> seen = 0;
  const auto read_all = [&] {
    in_shares(threads, n, [&](std::size_t begin, std::size_t end) { seen = sum(a.data() + begin, end - begin); });
  };
  return best_rate(static_cast<double>(n * sizeof(double)), read_all, std::chrono::milliseconds(50));
}

double measure_launch_latency(int threads) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 100; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for_each_part(threads, [](int) { asm volatile("" ::: "memory"); });
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::micro>(end - begin).count());
  }
  return best;
}

}  // namespace tulle::cpu
