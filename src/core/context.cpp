#include <tulle/core/context.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <tulle/core/status.hpp>
#include <tulle/core/stream.hpp>

#include "core/device_runtime.hpp"

namespace tulle {

struct context::state {
  backend_kind backend = backend_kind::cpu;
  int threads = 1;
  int device = -1;
  stream_view stream;
  std::shared_ptr<const void> owned_stream;  // destroys the stream with its last context
  std::shared_ptr<memory_resource> memory;
  device_info info;
};

namespace {

constexpr int most_threads = 4096;

std::atomic<bool> device_in_use = false;

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::size_t sysconf_bytes(int what) {
  const long value = sysconf(what);
  return value > 0 ? static_cast<std::size_t>(value) : 0;
}

device_info cpu_info(int threads) {
  static const std::string name = cpu_name();
  device_info info;
  info.name = name;
  info.multiprocessors = threads;
  info.l2_bytes = sysconf_bytes(_SC_LEVEL3_CACHE_SIZE);
  info.memory_bytes = sysconf_bytes(_SC_PHYS_PAGES) * sysconf_bytes(_SC_PAGESIZE);
  return info;
}

/// What OpenMP would use, unless that is far more than the machine runs at a time: each costs memory in every plan.
int default_threads() { return std::min({omp_get_max_threads(), std::max(64, 4 * omp_get_num_procs()), most_threads}); }

device_runtime& require_device(int device) {
  const int count = cuda_device_count();
  if (count == 0) throw error(status::unsupported, cuda_unavailable_reason());
  if (device < 0 || device >= count) {
    throw error(status::invalid_argument, fmt::format("device {} does not exist: there are {} (0 to {})", device, count, count - 1));
  }
  return *cuda_runtime();
}

}  // namespace

context context::best() { return cuda_device_count() > 0 ? cuda() : cpu(); }

context context::cpu(int threads) {
  if (threads < 0) throw error(status::invalid_argument, fmt::format("threads = {} is negative", threads));
  if (threads > most_threads) {
    throw error(status::invalid_argument, fmt::format("threads = {}: at most {} are started", threads, most_threads));
  }
  auto s = std::make_shared<state>();
  s->threads = threads > 0 ? threads : default_threads();
  s->memory = host_memory();
  s->info = cpu_info(s->threads);
  return context(std::move(s));
}

context context::cuda(int device) {
  const context base = cuda(device, stream_view{});
  auto own = std::make_shared<const tulle::stream>(base);
  auto s = std::make_shared<state>(*base.state_);
  s->stream = own->view();
  s->owned_stream = std::move(own);
  return context(std::move(s));
}

context context::cuda(int device, stream_view stream) {
  device_runtime& runtime = require_device(device);
  auto s = std::make_shared<state>();
  s->backend = backend_kind::cuda;
  s->threads = default_threads();
  s->device = device;
  s->stream = stream;
  s->memory = runtime.memory(device);
  s->info = runtime.info(device);
  device_in_use = true;
  return context(std::move(s));
}

context context::with_memory(std::shared_ptr<memory_resource> memory) const {
  if (memory == nullptr) throw error(status::null_pointer, "with_memory: memory is null");
  if (memory->space() != space()) {
    throw error(status::invalid_argument, fmt::format("with_memory: {} memory for a {} context", name(memory->space()),
                                                      name(backend())));
  }
  if (memory->device() >= 0 && memory->device() != device()) {
    throw error(status::invalid_argument, fmt::format("with_memory: memory of device {} for a context of device {}",
                                                      memory->device(), device()));
  }
  auto s = std::make_shared<state>(*state_);
  s->memory = std::move(memory);
  return context(std::move(s));
}

backend_kind context::backend() const noexcept { return state_->backend; }
memory_space context::space() const noexcept {
  return state_->backend == backend_kind::cpu ? memory_space::host : memory_space::device;
}
int context::threads() const noexcept { return state_->threads; }
int context::device() const noexcept { return state_->device; }
stream_view context::stream() const noexcept { return state_->stream; }
memory_resource& context::memory() const noexcept { return *state_->memory; }
const device_info& context::info() const noexcept { return state_->info; }

void context::synchronize() const {
  if (state_->backend == backend_kind::cuda) cuda_runtime()->synchronize(state_->device, state_->stream);
}

bool works_on_device() noexcept { return device_in_use; }

int cuda_device_count() noexcept {
  device_runtime* runtime = cuda_runtime();
  return runtime == nullptr ? 0 : runtime->device_count();
}

std::string cuda_unavailable_reason() {
  device_runtime* runtime = cuda_runtime();
  if (runtime == nullptr) return "this tulle was built without CUDA: install nvcc 12.4 or newer and build again";
  return runtime->unavailable_reason();
}

}  // namespace tulle
