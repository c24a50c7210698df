#include <tulle/core/memory_resource.hpp>

#include <new>

#include <fmt/format.h>

#include <tulle/core/status.hpp>

namespace tulle {
namespace {

constexpr std::align_val_t alignment{64};

class host_resource final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, stream_view) override {
    void* p = ::operator new(bytes, alignment, std::nothrow);
    if (p == nullptr) throw error(status::out_of_memory, fmt::format("cannot allocate {} bytes of host memory", bytes));
    return p;
  }
  void deallocate(void* p, std::size_t, stream_view) noexcept override { ::operator delete(p, alignment); }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }
};

}  // namespace

std::shared_ptr<memory_resource> host_memory() {
  static const auto resource = std::make_shared<host_resource>();
  return resource;
}

}  // namespace tulle
