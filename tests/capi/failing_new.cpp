#include "failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local std::int64_t allocations_left = -1;  // negative: do not fail
thread_local bool failed = false;
thread_local std::int64_t live = 0;

bool must_fail() {
  if (allocations_left < 0 || allocations_left-- > 0) return false;
  failed = true;
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (must_fail()) throw std::bad_alloc();
  void* pointer = nullptr;
  if (posix_memalign(&pointer, alignment, bytes > 0 ? bytes : 1) != 0) throw std::bad_alloc();
  ++live;
  return pointer;
}

void deallocate(void* pointer) noexcept {
  if (pointer != nullptr) --live;
  std::free(pointer);
}

}  // namespace

namespace tulle::test {

void fail_allocation_after(std::int64_t skip) {
  failed = false;
  allocations_left = skip;
}
bool stop_failing() {
  allocations_left = -1;
  return failed;
}
std::int64_t live_allocations() { return live; }

}  // namespace tulle::test

// The array and nothrow forms of the standard library end up here.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { deallocate(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { deallocate(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { deallocate(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { deallocate(pointer); }
