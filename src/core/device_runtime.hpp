// What a device backend offers the core: streams, memory, copies, and what the benchmarks measure with.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>

namespace tulle {

/// A point of a stream; see event in core/stream.hpp.
class device_event {
 public:
  virtual ~device_event() = default;
  virtual void record(stream_view stream) = 0;
  virtual void make_wait(stream_view stream) const = 0;
  virtual void synchronize() const = 0;
  [[nodiscard]] virtual bool is_done() const = 0;
  /// `earlier` is of the same runtime. INVALID_ARGUMENT unless both are recorded, done and of one device.
  [[nodiscard]] virtual double microseconds_since(const device_event& earlier) const = 0;
};

/// Work that was recorded, to be launched as a whole.
class device_graph {
 public:
  virtual ~device_graph() = default;
  virtual void launch(stream_view stream) = 0;
};

/// What memory reaches when nothing else is in the way, in bytes per second.
struct bandwidth {
  double read = 0;   // sum of a large array
  double copy = 0;   // read + write
  double triad = 0;  // a = b + s c
  double cache = 0;  // CUDA: sum of an array that stays in the L2, past the L1; 0 on the CPU
};

/// What it costs blocks of threads to wait for each other, and kernels to follow each other, in microseconds.
struct latencies {
  double grid_barrier = 0;         // one block on every multiprocessor, by a counter
  double cooperative_barrier = 0;  // the same by cooperative_groups
  double cluster_barrier = 0;      // a cluster of 8 blocks; 0 where there are none
  double atomic_hop = 0;           // one way from block to block through memory
  double graph_node = 0;           // an empty kernel in a graph
};

class device_runtime {
 public:
  virtual ~device_runtime() = default;

  virtual int device_count() noexcept = 0;
  virtual std::string unavailable_reason() = 0;
  virtual device_info info(int device) = 0;

  virtual stream_view create_stream(int device) = 0;
  virtual void destroy_stream(int device, stream_view stream) noexcept = 0;
  virtual void synchronize(int device, stream_view stream) = 0;

  /// Stream-ordered memory from a pool.
  virtual std::shared_ptr<memory_resource> memory(int device) = 0;
  /// Host memory that devices copy from and to without a detour.
  virtual std::shared_ptr<memory_resource> pinned_memory() = 0;
  /// In stream order; returns once a host side may be touched again.
  virtual void copy(int device, stream_view stream, void* to, memory_space to_space, const void* from,
                    memory_space from_space, std::size_t bytes) = 0;
  /// The same outside of any stream: after everything that is queued on the devices that own the memory, and done when
  /// it returns. Throws INVALID_ARGUMENT where no device owns what is said to be device memory.
  virtual void copy_after_all(void* to, memory_space to_space, const void* from, memory_space from_space,
                              std::size_t bytes) = 0;
  /// The only memory that an address is in; nothing where both sides reach it, or the driver cannot tell.
  virtual std::optional<memory_space> space_of(const void* p) noexcept = 0;
  virtual void fill(int device, stream_view stream, void* to, unsigned char value, std::size_t bytes) = 0;

  virtual std::unique_ptr<device_event> create_event(int device) = 0;
  /// Records what `work` queues on the stream, without running it. Where that cannot be recorded it throws UNSUPPORTED,
  /// or what `work` threw; the stream is as before.
  virtual std::unique_ptr<device_graph> capture(int device, stream_view stream, const std::function<void()>& work) = 0;
  virtual bandwidth measure_bandwidth(int device) = 0;
  /// From launch to the end of an empty kernel, seen from the host, in microseconds.
  virtual double measure_launch_latency(int device) = 0;
  virtual latencies measure_latencies(int device) = 0;
};

/// Whether a CUDA context was made in this process: questions to the driver start no device then.
bool works_on_device() noexcept;

/// Null when CUDA is not built.
device_runtime* cuda_runtime() noexcept;

}  // namespace tulle
