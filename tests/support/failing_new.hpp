// Operator new for the whole process, OpenMP's threads included: it counts, and fails once when told to.
#pragma once

#include <cstdint>

namespace tulle::test {

/// The allocation after `skip` more, of any thread, fails, once.
void fail_allocation_after(std::int64_t skip);
/// Back to normal; true if an allocation failed since `fail_allocation_after`.
bool stop_failing();
/// Allocations less deallocations so far.
std::int64_t live_allocations();
/// Allocations so far.
std::int64_t allocations();

}  // namespace tulle::test
