#include "machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>

#include "core/backends.hpp"
#include "core/build_info.hpp"
#include "cpu/bandwidth.hpp"
#include "statistics.hpp"

namespace tulle::cli::bench {
namespace {

double empty_parallel_region(int threads) {
  std::array<double, 100> times{};
  for (double& t : times) {
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads)
    { asm volatile("" ::: "memory"); }
    t = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  return summarise(times).min;
}

/// CUDA encodes 13.0 as 13000.
std::string driver_name(int version) {
  return version == 0 ? "" : fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

machine measure_machine(const context& ctx) {
  machine m;
  m.device = ctx.info();
  m.threads = ctx.threads();
  if (ctx.backend() == backend_kind::cuda) {
    m.memory = cuda_runtime()->measure_bandwidth(ctx.device());
    m.launch_us = cuda_runtime()->measure_launch_latency(ctx.device());
  } else {
    m.memory = cpu::measure_bandwidth(ctx);
    m.launch_us = empty_parallel_region(ctx.threads());
  }
  return m;
}

json describe(const machine& m) {
  const build_info& build = built_from();
  json j;
  j["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  j["executable"] = "tulle bench";
  j["num_cpus"] = m.threads;
  j["library_version"] = build.version;
  j["library_build_type"] = "release";
  j["schema_version"] = schema_version;
  j["commit"] = build.commit;
  j["compiler"] = build.compiler;
  j["flags"] = build.flags;
  j["backend"] = name(m.device.backend);
  j["device"] = m.device.name;
  j["driver"] = driver_name(m.device.driver_version);
  j["threads"] = m.threads;
  j["cache_bytes"] = m.device.l2_bytes;
  j["bandwidth"] = {{"read", m.memory.read}, {"copy", m.memory.copy}, {"triad", m.memory.triad}, {"cache", m.memory.cache}};
  j["launch_us"] = m.launch_us;
  return j;
}

std::string headline(const machine& m) {
  const std::string threads = m.device.backend == backend_kind::cpu ? fmt::format(", {} threads", m.threads) : "";
  return fmt::format("{}{}: read {}/s, copy {}/s, triad {}/s, launch {:.1f} us", m.device.name, threads,
                     human_bytes(m.memory.read), human_bytes(m.memory.copy), human_bytes(m.memory.triad), m.launch_us);
}

}  // namespace tulle::cli::bench
