// What a GPU holds at once, for people: no kernel is chosen by it.
#pragma once

#include <cstddef>

namespace tulle {

/// Sizes in bytes.
struct device_limits {
  int warps = 0;    // at once on a multiprocessor
  int blocks = 0;   // at once on a multiprocessor
  int threads = 0;  // at once on a multiprocessor
  int threads_of_block = 0;
  int registers = 0;  // of 32 bits, of a multiprocessor
  std::size_t line_bytes = 0;
  std::size_t sector_bytes = 0;
  std::size_t shared_bytes = 0;           // of a multiprocessor
  std::size_t shared_bytes_of_block = 0;  // that a block may opt in to
  std::size_t l2_bytes = 0;
  double peak_f32 =
      0;  // operations per second, two for each multiply-add, at the clock that the driver says; 0: not known
  double peak_f64 = 0;
};

/// All zero without CUDA.
device_limits limits_of_gpu(int device);

namespace cuda {
device_limits limits(int device);
}
}  // namespace tulle
