// Operator new that can be told to fail once, and counts what this thread has not given back.
#pragma once

#include <cstdint>

namespace tulle::test {

/// The allocation after `skip` more of this thread throws std::bad_alloc, once.
void fail_allocation_after(std::int64_t skip);
/// Back to normal; true if an allocation failed since `fail_allocation_after`.
bool stop_failing();
/// Allocations less deallocations of this thread so far.
std::int64_t live_allocations();

}  // namespace tulle::test
