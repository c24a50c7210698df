// A few words that a kernel copies on its way, to where the host reads them.
#pragma once

namespace tulle::cuda {

struct word_copy {
  const unsigned* from = nullptr;
  unsigned* to = nullptr;  // null: nothing to copy
  int words = 0;

  /// All threads of one block call it, when what is copied is there.
  __device__ void run() const {
    if (to == nullptr) return;
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) to[i] = from[i];
  }
};

}  // namespace tulle::cuda
