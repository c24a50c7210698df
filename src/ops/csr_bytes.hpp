// The arrays of a CSR whose types are erased: their sizes, and copies of them.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/spmv.hpp"
#include "ops/any_buffer.hpp"

namespace tulle::detail {

inline any_buffer copy_to(const context& ctx, const void* from, memory_space space, std::size_t bytes) {
  buffer<std::byte> to(ctx, bytes);
  copy_bytes(ctx, to.data(), ctx.space(), from, space, bytes);
  return any_buffer(std::move(to));
}

inline std::size_t offset_bytes(const csr_ref& a) {
  return (static_cast<std::size_t>(a.rows) + 1) * size_of(a.types.offset);
}
inline std::size_t column_bytes(const csr_ref& a) { return static_cast<std::size_t>(a.nnz) * sizeof(index_t); }
inline std::size_t value_bytes(const csr_ref& a) { return static_cast<std::size_t>(a.nnz) * size_of(a.types.value); }

}  // namespace tulle::detail
