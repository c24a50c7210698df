// tulle doctor: what this machine and this build can do, and what is missing.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/color.h>
#include <fmt/format.h>

#include "common.hpp"
#include "core/backends.hpp"
#include "core/build_info.hpp"
#include "cpu/bandwidth.hpp"
#include "plan/autotune_cache.hpp"

namespace tulle::cli {
namespace {

json to_json(const bandwidth& b) {
  return {{"read_gbs", b.read / 1e9}, {"copy_gbs", b.copy / 1e9}, {"triad_gbs", b.triad / 1e9}};
}

json examine_cpu(const run_options& o) {
  const context ctx = context::cpu(o.threads);
  const device_info& info = ctx.info();
  return {{"name", info.name},
          {"threads", ctx.threads()},
          {"memory_bytes", info.memory_bytes},
          {"last_level_cache_bytes", info.l2_bytes},
          {"bandwidth", to_json(cpu::measure_bandwidth(ctx))}};
}

json examine_gpu(device_runtime& runtime, int device) {
  const device_info info = runtime.info(device);
  return {{"device", device},
          {"name", info.name},
          {"compute_capability", fmt::format("{}.{}", info.compute_capability / 10, info.compute_capability % 10)},
          {"driver_supports_cuda", fmt::format("{}.{}", info.driver_version / 1000, info.driver_version % 1000 / 10)},
          {"multiprocessors", info.multiprocessors},
          {"memory_bytes", info.memory_bytes},
          {"l2_bytes", info.l2_bytes},
          {"bandwidth", to_json(runtime.measure_bandwidth(device))},
          {"launch_latency_us", runtime.measure_launch_latency(device)}};
}

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

json examine_cuda(const run_options& o) {
  json cuda{{"built", cuda_runtime() != nullptr},
            {"why_no_gpu", cuda_unavailable_reason()},
            {"nvcc", find_nvcc()},
            {"devices", json::array()}};
  const int devices = o.backend == "cpu" ? 0 : cuda_device_count();
  for (int device = 0; device < devices; ++device) cuda["devices"].push_back(examine_gpu(*cuda_runtime(), device));
  return cuda;
}

/// Whether autotune could remember a result: the directory, or the nearest that exists above it, can be written.
bool can_write(std::filesystem::path directory) {
  std::error_code ignored;
  while (!directory.empty() && !std::filesystem::exists(directory, ignored)) directory = directory.parent_path();
  return !directory.empty() && access(directory.c_str(), W_OK) == 0;
}

struct advice {
  std::string missing;
  std::string how;
};

std::vector<advice> missing_things(const json& cuda) {
  std::vector<advice> list;
  const bool nvcc = !cuda["nvcc"].get<std::string>().empty();
  if (!cuda["built"] && nvcc) {
    list.push_back({"the CUDA backend is not built, though nvcc is here",
                    "cmake --preset release && cmake --build --preset release"});
  } else if (!cuda["built"]) {
    list.push_back(
        {"the CUDA backend is not built: no nvcc",
         "install the CUDA toolkit, 12.4 or newer (developer.nvidia.com/cuda-downloads), then cmake --preset release"});
  } else if (cuda_device_count() == 0) {
    list.push_back({fmt::format("no usable GPU: {}", cuda["why_no_gpu"].get<std::string>()),
                    "with an NVIDIA GPU in the machine, install its driver until nvidia-smi lists it"});
  }
  if (!can_write(cache_directory())) {
    list.push_back({"autotune cannot remember results: no writable cache directory",
                    "set TULLE_CACHE_DIR to a directory that can be written"});
  }
  return list;
}

void print_heading(std::string_view text) {
  fmt::print(use_colour(stdout) ? fmt::text_style(fmt::emphasis::bold) : fmt::text_style{}, "{}", text);
  fmt::print("\n");
}

void print_bandwidth(const json& b) {
  fmt::print("  bandwidth        read {:.1f} GB/s, copy {:.1f} GB/s, triad {:.1f} GB/s\n", b["read_gbs"].get<double>(),
             b["copy_gbs"].get<double>(), b["triad_gbs"].get<double>());
}

void print_cpu(const json& cpu) {
  print_heading(fmt::format("CPU: {}", cpu["name"].get<std::string>()));
  fmt::print("  threads          {}\n  memory           {}, last-level cache {}\n", cpu["threads"].get<int>(),
             human_bytes(cpu["memory_bytes"].get<double>()), human_bytes(cpu["last_level_cache_bytes"].get<double>()));
  print_bandwidth(cpu["bandwidth"]);
}

void print_gpu(const json& gpu) {
  print_heading(fmt::format("GPU {}: {}", gpu["device"].get<int>(), gpu["name"].get<std::string>()));
  fmt::print("  capability       {}, {} multiprocessors, driver for CUDA {}\n",
             gpu["compute_capability"].get<std::string>(), gpu["multiprocessors"].get<int>(),
             gpu["driver_supports_cuda"].get<std::string>());
  fmt::print("  memory           {}, L2 {}\n", human_bytes(gpu["memory_bytes"].get<double>()),
             human_bytes(gpu["l2_bytes"].get<double>()));
  print_bandwidth(gpu["bandwidth"]);
  fmt::print("  launch latency   {:.2f} us\n", gpu["launch_latency_us"].get<double>());
}

void print_text(const json& record) {
  print_cpu(record["cpu"]);
  for (const json& gpu : record["cuda"]["devices"]) print_gpu(gpu);
  print_heading("tulle");
  fmt::print("  version          {} ({}), {}, {}\n", record["version"].get<std::string>(),
             record["commit"].get<std::string>(), record["compiler"].get<std::string>(),
             record["flags"].get<std::string>());
  fmt::print("  CUDA backend     {}\n", record["cuda"]["built"] ? "built" : "not built");
  const auto nvcc = record["cuda"]["nvcc"].get<std::string>();
  fmt::print("  nvcc             {}\n", nvcc.empty() ? "not found" : nvcc);
  fmt::print("  cache directory  {}\n", record["cache_directory"].get<std::string>());
  print_heading(record["missing"].empty() ? "Nothing is missing." : "Missing");
  for (const json& item : record["missing"]) {
    fmt::print("  {}\n    {}\n", item["what"].get<std::string>(), item["how"].get<std::string>());
  }
}

int run(const run_options& o) {
  json record{{"schema_version", schema_version}, {"version", built_from().version},
              {"commit", built_from().commit},
              {"compiler", built_from().compiler},
              {"flags", built_from().flags},          {"cpu", examine_cpu(o)},
              {"cuda", examine_cuda(o)},          {"cache_directory", cache_directory().string()},
              {"missing", json::array()}};
  for (const auto& [missing, how] : missing_things(record["cuda"])) {
    record["missing"].push_back({{"what", missing}, {"how", how}});
  }
  if (o.json) {
    print_json(record);
  } else {
    print_text(record);
  }
  return ok;
}

}  // namespace

void add_doctor(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("doctor", "What this machine reaches, and what is missing");
  const auto o = std::make_shared<run_options>();
  add_backend_options(*command, *o);
  add_json_option(*command, *o);
  command->footer("Takes a few seconds: bandwidths are measured, not looked up.\nExample: tulle doctor");
  command->callback([o, &result] { result = run(*o); });
}

}  // namespace tulle::cli
