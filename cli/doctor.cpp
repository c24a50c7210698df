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
      field("cpu",
            object(field("name", cpu.name), field("threads", r.cpu.threads), field("memory_bytes", cpu.memory_bytes),
                   field("last_level_cache_bytes", cpu.l2_bytes), field("bandwidth", bandwidth_json(r.cpu)), field("row_sums", bench::row_sums()),
                   field("cores_of_others", r.cores_of_others ? json(*r.cores_of_others) : json()))),
      field("cuda", object(field("built", !built_from().cuda.empty()), field("build", built_from().cuda),
                           field("why_no_gpu", r.why_no_gpu), field("nvcc", r.nvcc), field("devices", devices))),
      field("cache_directory", r.cache_directory), field("missing", missing));
}

void print_heading(std::string_view text) {
  put_styled(stdout, look::bold, printable(text));
  put("\n");
}

void print_memory(const bench::machine& m, const char* cache) {
  put("  memory           {}, {} {}\n", human_bytes(static_cast<double>(m.device.memory_bytes)), cache,
      human_bytes(static_cast<double>(m.device.l2_bytes)));
  put("  bandwidth        read {:.1f} GB/s, copy {:.1f} GB/s, triad {:.1f} GB/s\n", m.read / 1e9, m.copy / 1e9,
      m.triad / 1e9);
}

void print_limits(const bench::limits& l) {
  put("  multiprocessor   {} warps, {} blocks, {} threads at once ({} in a block), {} registers\n", l.warps, l.blocks,
      l.threads, l.threads_of_block, l.registers);
  put("  shared memory    {} KiB per multiprocessor, {} KiB per block\n", l.shared_bytes / 1024,
      l.shared_bytes_of_block / 1024);
  put("  caches           lines of {} bytes in sectors of {}, L2 {:.1f} MiB\n", l.line_bytes, l.sector_bytes,
      static_cast<double>(l.l2_bytes) / (1 << 20));
  if (l.peak_f32 > 0) {
    put("  peak             {:.1f} TFLOP/s in f32, {:.1f} TFLOP/s in f64, without tensor cores\n", l.peak_f32 / 1e12,
        l.peak_f64 / 1e12);
  }
}

void print_waiting(const bench::waiting& w) {
  put("  graph node       {:.2f} us\n", w.graph_node);
  put("  atomic hop       {:.2f} us, one way between two blocks\n", w.atomic_hop);
  put("  grid barrier     {:.2f} us, {:.2f} us by cooperative_groups\n", w.grid_barrier, w.cooperative_barrier);
  if (w.cluster_barrier > 0) put("  cluster barrier  {:.2f} us, 8 blocks\n", w.cluster_barrier);
}

void print_text(const doctor_result& r) {
  print_heading(fmt::format("CPU: {}", r.cpu.device.name));
  put("  threads          {}\n", r.cpu.threads);
  print_memory(r.cpu, "last-level cache");
  put("  sums of rows     {} (measured once, for CSR)\n", bench::row_sums());
  if (const std::string said = bench::overload(r.cores_of_others, r.cpu.threads, bench::cores()); !said.empty()) {
    put("  load             {}\n", said);
  }
  for (std::size_t i = 0; i < r.gpus.size(); ++i) {
    const device_info& gpu = r.gpus[i].device;
    print_heading(fmt::format("GPU {}: {}", i, gpu.name));
    put("  capability       {}, {} multiprocessors, driver for CUDA {}\n", capability(gpu), gpu.multiprocessors,
        bench::cuda_version(gpu.driver_version));
    print_memory(r.gpus[i], "L2");
    print_limits(r.limits[i]);
    put("  launch latency   {:.2f} us\n", r.gpus[i].launch_us);
    print_waiting(r.waits[i]);
  }
  print_heading("tulle");
  put("  version          {} ({}), {}, {}\n", built_from().version, built_from().commit, built_from().compiler,
      built_from().flags);
  put("  CUDA backend     {}\n", built_from().cuda.empty() ? "not built" : built_from().cuda);
  put("  nvcc             {}\n", r.nvcc.empty() ? "not found" : r.nvcc);
  put("  cache directory  {}\n", r.cache_directory);
  print_heading(r.missing.empty() ? "Nothing is missing." : "Missing");
  for (const auto& [what, how] : r.missing) put("  {}\n    {}\n", what, how);
}

int run(const run_options& o) {
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
  auto [command, o] =
      add_command(app, result, "doctor", "What this machine reaches, and what is missing",
                  "Takes a few seconds: bandwidths are measured, not looked up.\nExample: tulle doctor", run);
  add_backend_options(command, o);
  add_json_option(command, o);
}

}  // namespace tulle::cli
