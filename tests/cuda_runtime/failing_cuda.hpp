// The CUDA calls of the whole process, put between the library and the CUDA runtime by the linker: they are counted,
// and fail once when told to.
#pragma once

#include <cstdint>
#include <string>
#include <tulle/core/status.hpp>
#include <vector>

namespace tulle::test {

/// The call that was made to fail, and the statuses that are right for it.
struct failed_call {
  std::string name;  // empty when none failed
  std::vector<status> allowed;
};

/// The call after `skip` more fails, once. Deallocations, and reading the last error, never fail.
void fail_call_after(std::int64_t skip);
/// Back to normal.
failed_call stop_failing();
/// Whether an injected error still is CUDA's last error: nobody looked at it, or nobody cleared it.
bool error_left_behind();

/// Calls so far.
struct cuda_counts {
  std::int64_t allocations = 0;
  std::int64_t deallocations = 0;
  std::int64_t streams_created = 0;
  std::int64_t streams_destroyed = 0;
  std::int64_t launches = 0;
  std::int64_t copies = 0;
  std::int64_t synchronizations = 0;

  [[nodiscard]] std::int64_t live_allocations() const { return allocations - deallocations; }
  [[nodiscard]] std::int64_t live_streams() const { return streams_created - streams_destroyed; }
};
cuda_counts counts();

}  // namespace tulle::test
