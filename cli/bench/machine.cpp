// Bandwidths and launch latencies, by the library's own probes. They are no part of its public interface, and this is
// the one file of the command line that includes its internal headers; tools/check_includes sees to that.
#include "machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <tulle/core/build_info.hpp>

#include "core/device_limits.hpp"
#include "core/device_runtime.hpp"
#include "cpu/bandwidth.hpp"
#include "cpu/spmv/row_path.hpp"
#include "harness.hpp"
#include "kernels/autotune_cache.hpp"

namespace tulle::cli::bench {

std::string cuda_version(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

namespace {

constexpr std::string_view folder = "bandwidth";

std::string key_of(const context& ctx) {
  return fmt::format("{} {} threads={} read", name(ctx.backend()), ctx.info().name, ctx.threads());
}

/// What was measured while others were in the way is not remembered.
void remember(const context& ctx, double rate, const load_watch& load) {
  if (rate <= 0 || is_overloaded(load.others(), threads_that_count(ctx), cores())) return;
  remember_winner(key_of(ctx), fmt::format("{:.0f}", rate), folder);
}

}  // namespace

double read_bandwidth(const context& ctx) try {
  if (const std::optional<std::string> known = cached_winner(key_of(ctx), folder)) {
    double rate = 0;
    const char* const end = known->data() + known->size();
    if (std::from_chars(known->data(), end, rate).ptr == end && rate > 0) return rate;
  }
  const load_watch load;
  const bool gpu = ctx.backend() == backend_kind::cuda;
  const double rate = gpu ? cuda_runtime()->measure_bandwidth(ctx.device()).read : cpu::measure_read_bandwidth(ctx);
  remember(ctx, rate, load);
  return rate;
} catch (const error& e) {
  if (e.code() == status::out_of_memory || e.code() == status::device_out_of_memory) return 0;
  throw;
}

machine measure_machine(const context& ctx, bool memory) {
  const bool gpu = ctx.backend() == backend_kind::cuda;
  const load_watch load;
  bandwidth b;
  if (memory) b = gpu ? cuda_runtime()->measure_bandwidth(ctx.device()) : cpu::measure_bandwidth(ctx);
  remember(ctx, b.read, load);
  const double launch_us =
      gpu ? cuda_runtime()->measure_launch_latency(ctx.device()) : cpu::measure_launch_latency(ctx.threads());
  return {ctx.info(), ctx.threads(), b.read, b.copy, b.triad, b.cache, launch_us};
}

std::string row_sums() { return cpu::describe_row_paths(); }

waiting measure_waiting(const context& ctx) {
  const latencies l = cuda_runtime()->measure_latencies(ctx.device());
  return {l.grid_barrier, l.cooperative_barrier, l.cluster_barrier, l.atomic_hop, l.graph_node};
}

limits limits_of(const context& ctx) {
  const device_limits l = limits_of_gpu(ctx.device());
  return {l.warps,        l.blocks,           l.threads,
          l.registers,    l.threads_of_block, l.line_bytes,
          l.sector_bytes, l.shared_bytes,     l.shared_bytes_of_block,
          l.l2_bytes,     l.peak_f32,         l.peak_f64};
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
      field("bandwidth", object(field("read", unless_unknown(m.read)), field("copy", unless_unknown(m.copy)),
                                field("triad", unless_unknown(m.triad)), field("cache", unless_unknown(m.cache)))),
      field("launch_us", m.launch_us));
}

std::string headline(const machine& m) {
  const std::string threads =
      m.device.backend == backend_kind::cpu ? fmt::format(", {}", counted(m.threads, "thread")) : "";
  const std::string memory = m.read == 0 ? ""
                                         : fmt::format("read {}/s, copy {}/s, triad {}/s, ", human_bytes(m.read),
                                                       human_bytes(m.copy), human_bytes(m.triad));
  return fmt::format("{}{}: {}launch {}", m.device.name, threads, memory, human_time(m.launch_us));
}

}  // namespace tulle::cli::bench
