// Row offsets of C in the width that the caller wants.
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/runtime/launch.cuh"
#include "kernels/spgemm.hpp"

namespace tulle::cuda {

/// to[i] = shift + from[i].
template <class From, class To>
__global__ void shift_offsets(std::int64_t count, const From* from, std::int64_t shift, To* to) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_stride()) to[i] = static_cast<To>(shift + from[i]);
}

/// `from`: rows + 1, from 0.
template <class From>
void write_offsets(const context& ctx, index_t rows, const From* from, const csr_sink& c) {
  const auto write = [&]<class To>(To* to) {
    const std::int64_t count = std::int64_t{rows} + 1;
    launch_items(ctx, "spgemm: offsets", shift_offsets<From, To>, count, count, from, c.first, to);
  };
  c.offset == offset_type::i64 ? write(static_cast<std::int64_t*>(c.rowptr))
                               : write(static_cast<std::int32_t*>(c.rowptr));
}

/// The one offset of a C without rows.
inline void write_first_offset(const context& ctx, const csr_sink& c) {
  const auto narrow = static_cast<std::int32_t>(c.first);
  const void* from = c.offset == offset_type::i64 ? static_cast<const void*>(&c.first) : &narrow;
  copy_bytes(ctx, c.rowptr, memory_space::device, from, memory_space::host, size_of(c.offset));
}

}  // namespace tulle::cuda
