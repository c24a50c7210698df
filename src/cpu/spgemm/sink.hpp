// Row offsets of a panel of C, in the width that the caller wants.
#pragma once

#include <cstdint>

#include "kernels/spgemm.hpp"

namespace tulle::cpu {

/// Those at begin .. end - 1. `offsets`: rows + 1, from 0.
inline void write_offsets(const std::int64_t* offsets, std::int64_t begin, std::int64_t end, const csr_sink& c) {
  const auto write = [&](auto* rowptr) {
    using offset_t = std::remove_pointer_t<decltype(rowptr)>;
    for (std::int64_t i = begin; i < end; ++i) rowptr[i] = static_cast<offset_t>(c.first + offsets[i]);
  };
  if (c.offset == offset_type::i64) {
    write(static_cast<std::int64_t*>(c.rowptr));
  } else {
    write(static_cast<std::int32_t*>(c.rowptr));
  }
}

}  // namespace tulle::cpu
