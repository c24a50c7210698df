// tulle doctor: what this machine and this build can do, and what is missing.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <tulle/core/build_info.hpp>
#include <tulle/ops/spmv.hpp>

#include "bench/load.hpp"
#include "bench/machine.hpp"
#include "common/command.hpp"
#include "common/options.hpp"
#include "common/page.hpp"

namespace tulle::cli {
namespace {

struct doctor_result {
  bench::machine cpu;
  std::vector<bench::machine> gpus;
  std::vector<bench::waiting> waits;  // of each GPU
  std::vector<bench::limits> limits;  // of each GPU
  std::string why_no_gpu;
  std::string nvcc;  // empty where there is none
  std::string cache_directory;
  std::optional<double> cores_of_others;                     // while this was measured
  std::vector<std::pair<std::string, std::string>> missing;  // what, and how to get it
};

/// The first nvcc on the PATH or in the place that NVIDIA's packages use; empty when there is none.
std::string find_nvcc() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(fmt::format("{}:/usr/local/cuda/bin", path != nullptr ? path : ""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path candidate = std::filesystem::path(folder) / "nvcc";
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

/// Whether autotune could remember a result: the directory, or the nearest that exists above it, can be written.
bool can_write(std::filesystem::path directory) {
  std::error_code ignored;
  while (!directory.empty() && !std::filesystem::exists(directory, ignored)) directory = directory.parent_path();
  return !directory.empty() && access(directory.c_str(), W_OK) == 0;
}

void find_missing(doctor_result& r) {
  auto& list = r.missing;
  if (built_from().cuda.empty() && !r.nvcc.empty()) {
    list.push_back({"the CUDA backend is not built, though nvcc is here",
                    "cmake --preset release && cmake --build --preset release"});
  } else if (built_from().cuda.empty()) {
    list.push_back(
        {"the CUDA backend is not built: no nvcc",
         "install the CUDA toolkit, 12.4 or newer (developer.nvidia.com/cuda-downloads), then cmake --preset release"});
  } else if (cuda_device_count() == 0) {
    list.push_back({fmt::format("no usable GPU: {}", r.why_no_gpu),
                    "with an NVIDIA GPU in the machine, install its driver until nvidia-smi lists it"});
  }
  if (!can_write(r.cache_directory)) {
    list.push_back({"autotune cannot remember results: no writable cache directory",
                    "set TULLE_CACHE_DIR to a directory that can be written"});
  }
}

std::string capability(const device_info& gpu) {
  return fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10);
}

json bandwidth_json(const bench::machine& m) {
  return object(field("read_gbs", m.read / 1e9), field("copy_gbs", m.copy / 1e9), field("triad_gbs", m.triad / 1e9));
}

json waiting_json(const bench::waiting& w) {
  return object(field("grid_barrier", w.grid_barrier), field("cooperative_groups_barrier", w.cooperative_barrier),
                field("cluster_barrier", w.cluster_barrier), field("atomic_hop", w.atomic_hop),
                field("graph_node", w.graph_node));
}

json limits_json(const bench::limits& l) {
  return object(field("warps", l.warps), field("blocks", l.blocks), field("threads", l.threads),
                field("threads_of_block", l.threads_of_block), field("registers", l.registers),
                field("line_bytes", l.line_bytes), field("sector_bytes", l.sector_bytes),
                field("shared_bytes", l.shared_bytes), field("shared_bytes_of_block", l.shared_bytes_of_block),
                field("peak_f32_gflops", l.peak_f32 / 1e9), field("peak_f64_gflops", l.peak_f64 / 1e9));
}

json to_json(const doctor_result& r) {
  const device_info& cpu = r.cpu.device;
  json devices = json::array(), missing = json::array();
  for (const bench::machine& m : r.gpus) {
    const device_info& gpu = m.device;
    const bench::waiting& w = r.waits[devices.size()];
    devices.push_back(object(field("device", devices.size()), field("name", gpu.name),
                             field("compute_capability", capability(gpu)),
                             field("driver_supports_cuda", bench::cuda_version(gpu.driver_version)),
                             field("multiprocessors", gpu.multiprocessors), field("memory_bytes", gpu.memory_bytes),
                             field("l2_bytes", gpu.l2_bytes), field("bandwidth", bandwidth_json(m)),
                             field("limits", limits_json(r.limits[devices.size()])),
                             field("launch_latency_us", m.launch_us), field("waiting_us", waiting_json(w))));
  }
  for (const auto& [what, how] : r.missing) missing.push_back(object(field("what", what), field("how", how)));
  return object(
      field("version", built_from().version), field("commit", built_from().commit),
      field("compiler", built_from().compiler), field("flags", built_from().flags),
      field("cpu", object(field("name", cpu.name), field("threads", r.cpu.threads),
                          field("memory_bytes", cpu.memory_bytes), field("last_level_cache_bytes", cpu.l2_bytes),
                          field("bandwidth", bandwidth_json(r.cpu)), field("row_sums", bench::row_sums()),
                          field("cores_of_others", r.cores_of_others ? json(*r.cores_of_others) : json()))),
      field("cuda", object(field("built", !built_from().cuda.empty()), field("build", built_from().cuda),
                           field("why_no_gpu", r.why_no_gpu), field("nvcc", r.nvcc), field("devices", devices))),
      field("cache_directory", r.cache_directory), field("missing", missing));
}

void add_memory(page& to, const bench::machine& m, const char* cache) {
  to.fact("memory", fmt::format("{}, {} {}", human_bytes(static_cast<double>(m.device.memory_bytes)), cache,
                                human_bytes(static_cast<double>(m.device.l2_bytes))));
  to.fact("bandwidth",
          fmt::format("read {}, copy {}, triad {}", human_rate(m.read), human_rate(m.copy), human_rate(m.triad)));
}

void add_limits(page& to, const bench::limits& l) {
  to.fact("multiprocessor",
          fmt::format("{} warps, {} blocks, {} threads at once ({} in a block), {} registers", l.warps, l.blocks,
                      grouped(l.threads), grouped(l.threads_of_block), grouped(l.registers)));
  to.fact("shared memory", fmt::format("{} KiB per multiprocessor, {} KiB per block", l.shared_bytes / 1024,
                                       l.shared_bytes_of_block / 1024));
  to.fact("caches", fmt::format("lines of {} bytes in sectors of {}, L2 {:.1f} MiB", l.line_bytes, l.sector_bytes,
                                static_cast<double>(l.l2_bytes) / (1 << 20)));
  if (l.peak_f32 > 0) {
    to.fact("peak", fmt::format("{:.1f} TFLOP/s in f32, {:.1f} TFLOP/s in f64, without tensor cores", l.peak_f32 / 1e12,
                                l.peak_f64 / 1e12));
  }
}

void add_waiting(page& to, const bench::waiting& w) {
  to.fact("graph node", human_time(w.graph_node));
  to.fact("atomic hop", fmt::format("{}, one way between two blocks", human_time(w.atomic_hop)));
  to.fact("grid barrier",
          fmt::format("{}, {} by cooperative_groups", human_time(w.grid_barrier), human_time(w.cooperative_barrier)));
  if (w.cluster_barrier > 0) to.fact("cluster barrier", fmt::format("{}, 8 blocks", human_time(w.cluster_barrier)));
}

void add_gpu(page& to, const doctor_result& r, std::size_t i) {
  const device_info& gpu = r.gpus[i].device;
  to.line(fmt::format("GPU {}: {}", i, gpu.name), look::bold);
  to.fact("capability", fmt::format("{}, {} multiprocessors, driver for CUDA {}", capability(gpu), gpu.multiprocessors,
                                    bench::cuda_version(gpu.driver_version)));
  add_memory(to, r.gpus[i], "L2");
  add_limits(to, r.limits[i]);
  to.fact("launch", human_time(r.gpus[i].launch_us));
  add_waiting(to, r.waits[i]);
}

void print_text(const doctor_result& r) {
  page to(stdout, 15);
  to.line(fmt::format("CPU: {}", r.cpu.device.name), look::bold);
  to.fact("threads", fmt::format("{}", r.cpu.threads));
  add_memory(to, r.cpu, "last-level cache");
  to.fact("sums of rows", fmt::format("{} (measured once, for CSR)", bench::row_sums()));
  if (const std::string said = bench::overload(r.cores_of_others, r.cpu.threads, bench::cores()); !said.empty()) {
    to.fact("load", said, look::red);
  }
  for (std::size_t i = 0; i < r.gpus.size(); ++i) add_gpu(to, r, i);
  to.line("tulle", look::bold);
  to.fact("version", fmt::format("{} ({}), {}, {}", built_from().version, built_from().commit, built_from().compiler,
                                 built_from().flags));
  to.fact("CUDA backend", built_from().cuda.empty() ? "not built" : built_from().cuda);
  to.fact("nvcc", r.nvcc.empty() ? "not found" : r.nvcc);
  to.fact("cache directory", r.cache_directory);
  to.line(r.missing.empty() ? "Nothing is missing." : "Missing", look::bold);
  for (const auto& [what, how] : r.missing) to.line("  " + what).line("    " + how);
  to.print(stdout);
}

int run(const run_options& o) {
  check_device_option(o);
  doctor_result r;
  const bench::load_watch load;
  r.cpu = bench::measure_machine(context::cpu(o.threads));
  r.cores_of_others = load.others();
  const int devices = o.backend == "cpu" ? 0 : cuda_device_count();
  for (int device = 0; device < devices; ++device) {
    r.gpus.push_back(bench::measure_machine(context::cuda(device)));
    r.waits.push_back(bench::measure_waiting(context::cuda(device)));
    r.limits.push_back(bench::limits_of(context::cuda(device)));
  }
  r.why_no_gpu = cuda_unavailable_reason();
  r.nvcc = find_nvcc();
  r.cache_directory = cache_directory().string();
  find_missing(r);
  print(r, o.json);
  return ok;
}

}  // namespace

void add_doctor(CLI::App& app, int& result) {
  auto [command, o] = add_command(app, result, "doctor", "What this machine reaches, and what is missing",
                                  "Takes a few seconds: bandwidths are measured, not looked up.\n"
                                  "Examples: tulle doctor\n"
                                  "          tulle doctor --backend cpu\n"
                                  "          tulle doctor --json",
                                  run);
  add_backend_options(command, o);
  add_json_option(command, o);
}

}  // namespace tulle::cli
