#include "support/failing_new.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <tulle/core/buffer.hpp>
#include <tulle/core/status.hpp>

namespace {

constexpr std::int64_t never = std::int64_t{1} << 62;
std::atomic<std::int64_t> allocations_left{never};
std::atomic<bool> failed{false};
std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> live{0};

/// Null when it must fail, or there is no memory.
void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (allocations_left.fetch_sub(1) == 0) {
    failed = true;
    return nullptr;
  }
  void* pointer = nullptr;
  if (posix_memalign(&pointer, std::max(alignment, sizeof(void*)), std::max<std::size_t>(bytes, 1)) != 0)
    return nullptr;
  ++made;
  ++live;
  return pointer;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* pointer = allocate(bytes, alignment);
  if (pointer == nullptr) throw std::bad_alloc();
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
  allocations_left = never;
  return failed;
}
std::int64_t live_allocations() { return live; }
std::int64_t allocations() { return made; }

std::pair<outcome, bool> run_failing(std::int64_t skip, const std::function<void()>& operation) {
  outcome result = outcome::other;
  fail_allocation_after(skip);
  try {
    operation();
    result = outcome::done;
  } catch (const error& e) {
    if (e.code() == status::out_of_memory) result = outcome::out_of_memory;
  } catch (const std::bad_alloc&) {
    result = outcome::out_of_memory;
  } catch (const std::exception&) {
  }
  return {result, stop_failing()};
}

void give_back_kept_blocks() {
  const context ctx = context::cpu(1);
  fail_allocation_after(0);
  try {
    const buffer<char> small(ctx, 1);
  } catch (const error&) {
  }
  stop_failing();
}

namespace {

std::int64_t live_but_for_kept_blocks() {
  give_back_kept_blocks();
  return live_allocations();
}

}  // namespace

void fail_each_allocation(const std::string& name, const std::function<void()>& operation) {
  SCOPED_TRACE(name);
  operation();  // fills what is kept for good
  const std::int64_t before = live_but_for_kept_blocks();
  for (std::int64_t skip = 0;; ++skip) {
    const auto [result, reached] = run_failing(skip, operation);
    ASSERT_NE(result, outcome::other) << "when allocation " << skip << " fails";
    ASSERT_EQ(live_but_for_kept_blocks(), before) << "leak when allocation " << skip << " fails";
    if (!reached) {
      EXPECT_EQ(result, outcome::done) << "without a failure";
      EXPECT_GT(skip, 0) << "allocates nothing";
      return;
    }
    ASSERT_EQ(run_failing(never, operation).first, outcome::done)
        << "tried again after allocation " << skip << " failed";
    ASSERT_LT(skip, 20'000);
  }
}

void expect_no_allocations(const std::string& name, const std::function<void()>& operation) {
  const std::int64_t before = allocations();
  operation();
  EXPECT_EQ(allocations(), before) << name;
}

}  // namespace tulle::test

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { deallocate(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { deallocate(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { deallocate(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { deallocate(pointer); }
