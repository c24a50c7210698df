// Row offsets of a panel of C, in the width that the caller wants.
#pragma once

#include <cstdint>

#include "kernels/spgemm.hpp"

namespace tulle::cpu {

/// `offsets`: rows + 1, from 0.
inline void write_offsets(int threads, const std::int64_t* offsets, index_t rows, const csr_sink& c) {
  const auto write = [&](auto* rowptr) {
    using offset_t = std::remove_pointer_t<decltype(rowptr)>;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (std::int64_t i = 0; i <= rows; ++i) rowptr[i] = static_cast<offset_t>(c.first + offsets[i]);
  };
  if (c.offset == offset_type::i64) {
    write(static_cast<std::int64_t*>(c.rowptr));
  } else {
    write(static_cast<std::int32_t*>(c.rowptr));
  }
}

}  // namespace tulle::cpu
