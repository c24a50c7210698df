// Operator new for the whole process, OpenMP's threads included: it counts, and fails once when told to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace tulle::test {

/// The allocation after `skip` more, of any thread, fails, once.
void fail_allocation_after(std::int64_t skip);
/// Back to normal; true if an allocation failed since `fail_allocation_after`.
bool stop_failing();
/// Host memory that was given back is kept for later, until an allocation fails, as one does here.
void give_back_kept_blocks();
/// Allocations less deallocations so far.
std::int64_t live_allocations();
/// Allocations so far.
std::int64_t allocations();

enum class outcome { done, out_of_memory, other };
/// What comes of `operation` when its allocation number `skip` fails, and whether it has so many. OUT_OF_MEMORY counts
/// as std::bad_alloc does, which the C API and the command line turn into it.
std::pair<outcome, bool> run_failing(std::int64_t skip, const std::function<void()>& operation);

/// Every allocation of `operation` fails once, in turn: it throws OUT_OF_MEMORY or does without, as an optional cache
/// may, leaks nothing, and works when tried again.
void fail_each_allocation(const std::string& name, const std::function<void()>& operation);
void expect_no_allocations(const std::string& name, const std::function<void()>& operation);

}  // namespace tulle::test
