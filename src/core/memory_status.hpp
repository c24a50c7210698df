// What it is called when there is no more of a memory.
#pragma once

#include <tulle/core/memory_resource.hpp>
#include <tulle/core/status.hpp>

namespace tulle {

inline status out_of(memory_space space) {
  return space == memory_space::host ? status::out_of_memory : status::device_out_of_memory;
}

}  // namespace tulle
