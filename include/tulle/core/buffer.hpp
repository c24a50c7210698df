/// @file
/// Owned, uninitialised memory of a context, freed in the order of the context's stream.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <tulle/core/context.hpp>
#include <tulle/core/span.hpp>
#include <tulle/core/status.hpp>

namespace tulle {

/// Copies `bytes` between any two spaces, in the order of the context's stream; returns when a host side may be
/// touched again. A CPU context, which has no stream, copies device memory after everything that is queued on the device
/// that owns it, and waits. The named way to copy: buffers do not copy themselves.
void copy_bytes(const context& ctx, void* to, memory_space to_space, const void* from, memory_space from_space,
                std::size_t bytes);
/// Sets `bytes` bytes to `value`, in stream order.
void fill_bytes(const context& ctx, void* to, memory_space space, unsigned char value, std::size_t bytes);

/// Move-only array of `size` uninitialised elements of a trivial type, in the memory of a context.
template <class T>
  requires std::is_trivially_copyable_v<T>
class buffer {
 public:
  buffer() noexcept = default;

  /// Throws OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY, or OVERFLOW when size * sizeof(T) does not fit.
  buffer(const context& ctx, std::size_t size) : ctx_(ctx), size_(size) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw error(status::overflow, "buffer: size in bytes does not fit 64 bits");
    }
    if (size > 0) data_ = static_cast<T*>(ctx.memory().allocate(size * sizeof(T), ctx.stream()));
  }
  /// Takes the memory over; `other` is empty afterwards.
  buffer(buffer&& other) noexcept
      : ctx_(std::exchange(other.ctx_, std::nullopt)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// Frees what it held, then takes the memory over; `other` is empty afterwards.
  buffer& operator=(buffer&& other) noexcept {
    if (this != &other) {
      release();
      ctx_ = std::exchange(other.ctx_, std::nullopt);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { release(); }

  /// The first element, in the memory that space() says; null where there is none.
  [[nodiscard]] T* data() noexcept { return data_; }
  /// The first element, read-only.
  [[nodiscard]] const T* data() const noexcept { return data_; }
  /// Elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// size() * sizeof(T).
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  /// Whether there is no element.
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Host or device; the host for a buffer that was made without a context.
  [[nodiscard]] memory_space space() const noexcept { return ctx_ ? ctx_->space() : memory_space::host; }
  /// The number of the device whose memory it is in, -1 for the host.
  [[nodiscard]] int device() const noexcept { return ctx_ ? ctx_->device() : -1; }

  /// The elements as a host span. Throws INVALID_ARGUMENT for device memory.
  [[nodiscard]] host_span<T> host() {
    require_host();
    return {data_, size_};
  }
  /// The elements as a host span, read-only. Throws INVALID_ARGUMENT for device memory.
  [[nodiscard]] host_span<const T> host() const {
    require_host();
    return {data_, size_};
  }

 private:
  void require_host() const {
    if (space() != memory_space::host) throw error(status::invalid_argument, "buffer: host() asked of device memory");
  }
  void release() noexcept {
    if (data_ != nullptr) ctx_->memory().deallocate(data_, bytes(), ctx_->stream());
    data_ = nullptr;
  }

  std::optional<context> ctx_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A new buffer on `ctx` with the elements of a host range: std::vector, std::array, std::span, host_span.
template <std::ranges::contiguous_range R>
  requires std::ranges::sized_range<R>
buffer<std::ranges::range_value_t<R>> to_buffer(const context& ctx, const R& from) {
  buffer<std::ranges::range_value_t<R>> to(ctx, std::ranges::size(from));
  copy_bytes(ctx, to.data(), ctx.space(), std::ranges::data(from), memory_space::host, to.bytes());
  return to;
}

/// A copy of `from` on `ctx`, whichever space either is in.
template <class T>
buffer<T> clone(const context& ctx, const buffer<T>& from) {
  buffer<T> to(ctx, from.size());
  copy_bytes(ctx, to.data(), ctx.space(), from.data(), from.space(), to.bytes());
  return to;
}

/// The elements in a host vector.
template <class T>
std::vector<T> to_vector(const context& ctx, const buffer<T>& from) {
  std::vector<T> to(from.size());
  copy_bytes(ctx, to.data(), memory_space::host, from.data(), from.space(), from.bytes());
  return to;
}

}  // namespace tulle
