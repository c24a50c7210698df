// Which values of a matrix can be stored in fewer bytes without losing a bit.
#pragma once

#include <tulle/core/buffer.hpp>

#include "kernels/value_storage.hpp"

namespace tulle::cuda {

/// The narrowest storage of an array. Of `listed`, the values that there are, in increasing order of their bits.
template <class T>
struct narrow_values {
  value_storage storage = value_storage::whole;
  buffer<T> list;
};

/// Looks at each of `count` values on the device, and stops early where nothing can come of it. Waits for the stream.
template <class T>
narrow_values<T> narrowest(const context& ctx, const T* values, std::int64_t count);

}  // namespace tulle::cuda
