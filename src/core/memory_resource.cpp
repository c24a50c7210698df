#include <tulle/core/memory_resource.hpp>

#include <cstddef>
#include <limits>
#include <new>

#include <fmt/format.h>
#include <sys/mman.h>

#include <tulle/core/status.hpp>

#include "core/block_cache.hpp"
#include "core/device_runtime.hpp"

namespace tulle {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Large arrays start on a huge page, so that the system can back them with such pages.
constexpr std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes >= 2 * huge_page ? huge_page : 64}; }

/// Sanitizers are to see every block come and go.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool keeps_blocks = false;
#else
constexpr bool keeps_blocks = true;
#endif

class host_resource final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, stream_view) override {
    if (keeps_blocks) bytes = block_cache::size_for(bytes);
    if (void* const kept = keeps_blocks ? kept_.take(bytes) : nullptr; kept != nullptr) return kept;
    // The system's allocator rounds sizes up to the alignment, beyond all numbers where they are large enough.
    constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() - huge_page;
    void* p = bytes > most ? nullptr : ::operator new(bytes, alignment(bytes), std::nothrow);
    if (p == nullptr && keeps_blocks && bytes <= most && kept_.clear(release)) {
      p = ::operator new(bytes, alignment(bytes), std::nothrow);
    }
    if (p == nullptr) throw error(status::out_of_memory, fmt::format("cannot allocate {} bytes of host memory", bytes));
    // Fewer misses of the address translation: 10% of the bandwidth of a large SpMV. A system without them is no error.
    if (bytes >= 2 * huge_page) (void)madvise(p, bytes / huge_page * huge_page, MADV_HUGEPAGE);
    return p;
  }
  void deallocate(void* p, std::size_t bytes, stream_view) noexcept override {
    if (keeps_blocks) return kept_.give({p, block_cache::size_for(bytes)}, release);
    release({p, bytes});
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }

 private:
  static void release(const block_cache::block& b) noexcept { ::operator delete(b.memory, alignment(b.bytes)); }

  block_cache kept_;
};

}  // namespace

std::shared_ptr<memory_resource> host_memory() {
  static const auto resource = std::make_shared<host_resource>();
  return resource;
}

std::shared_ptr<memory_resource> pinned_memory() {
  return cuda_device_count() > 0 ? cuda_runtime()->pinned_memory() : host_memory();
}

}  // namespace tulle
