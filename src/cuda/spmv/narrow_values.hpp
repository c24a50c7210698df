// Which values of a matrix can be stored in fewer bytes without losing a bit.
#pragma once

#include <tulle/core/buffer.hpp>

#include "kernels/value_storage.hpp"

namespace tulle::cuda {

/// The storage of an array that is read in the least time: nothing is looked up in a list where floats will do. Where
/// there are at most 256 values, they are listed in increasing order of their bits, whatever the storage.
template <class T>
struct narrow_values {
  value_storage storage = value_storage::whole;
  buffer<T> list;
};

/// Looks at each of `count` values on the device, and stops early where nothing can come of it. Waits for the stream.
template <class T>
narrow_values<T> narrowest(const context& ctx, const T* values, std::int64_t count);

}  // namespace tulle::cuda
