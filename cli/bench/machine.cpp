#include "machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>

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

}  // namespace

std::string cuda_version(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

machine measure_machine(const context& ctx) {
  if (ctx.backend() == backend_kind::cpu) {
    return {ctx.info(), ctx.threads(), cpu::measure_bandwidth(ctx), empty_parallel_region(ctx.threads())};
  }
  device_runtime& cuda = *cuda_runtime();
  return {ctx.info(), ctx.threads(), cuda.measure_bandwidth(ctx.device()), cuda.measure_launch_latency(ctx.device())};
}

json describe(const machine& m) {
  const build_info& build = built_from();
  const std::string driver = cuda_version(m.device.driver_version);
  return object(
      field("date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))),
      field("executable", "tulle bench"), field("num_cpus", m.threads), field("library_version", build.version),
      field("library_build_type", "release"), field("schema_version", schema_version), field("commit", build.commit),
      field("compiler", build.compiler), field("flags", build.flags), field("backend", name(m.device.backend)),
      field("device", m.device.name), field("driver", driver.empty() ? "" : "CUDA " + driver),
      field("threads", m.threads), field("cache_bytes", m.device.l2_bytes),
      field("bandwidth", object(field("read", m.memory.read), field("copy", m.memory.copy),
                                field("triad", m.memory.triad), field("cache", m.memory.cache))),
      field("launch_us", m.launch_us));
}

std::string headline(const machine& m) {
  const std::string threads = m.device.backend == backend_kind::cpu ? fmt::format(", {} threads", m.threads) : "";
  return fmt::format("{}{}: read {}/s, copy {}/s, triad {}/s, launch {:.1f} us", m.device.name, threads,
                     human_bytes(m.memory.read), human_bytes(m.memory.copy), human_bytes(m.memory.triad), m.launch_us);
}

}  // namespace tulle::cli::bench
