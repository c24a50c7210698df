// The statuses of exhausted memory.
#pragma once

#include <tulle/core/memory_resource.hpp>
#include <tulle/core/status.hpp>

namespace tulle {

inline status out_of(memory_space space) {
  return space == memory_space::host ? status::out_of_memory : status::device_out_of_memory;
}

inline bool is_out_of_memory(const error& e) {
  return e.code() == status::out_of_memory || e.code() == status::device_out_of_memory;
}

}  // namespace tulle
