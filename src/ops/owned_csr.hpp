// A new CSR whose types are known at run time, and how a kernel of C = A B sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <utility>

#include "kernels/backends.hpp"

namespace tulle::detail {

/// Bytes of a CSR's arrays.
inline std::size_t csr_bytes(index_t rows, std::int64_t nnz, type_key types) noexcept {
  return (static_cast<std::size_t>(rows) + 1) * size_of(types.offset) +
         static_cast<std::size_t>(nnz) * (sizeof(index_t) + size_of(types.value));
}

/// An array of a matrix's own, and what owns those that it shares with another one.
template <class Array>
using own_array = std::pair<Array, std::shared_ptr<const void>>;

/// A CSR that owns its arrays.
inline matrix_ref csr_of(const context& ctx, shape s, scalar_type type, offsets_buffer rowptr, buffer<index_t> colind,
                         buffer<std::byte> values) {
  struct arrays {
    offsets_buffer rowptr;
    buffer<index_t> colind;
    buffer<std::byte> values;
  };
  auto owner = std::make_shared<arrays>(arrays{std::move(rowptr), std::move(colind), std::move(values)});
  matrix_ref c;
  c.types = {type, type_of(owner->rowptr)};
  c.rows = s.rows;
  c.cols = s.cols;
  c.nnz = c.stored = static_cast<std::int64_t>(owner->colind.size());
  c.rowptr = data_of(owner->rowptr);
  c.colind = owner->colind.data();
  c.values = owner->values.data();
  c.space = ctx.space();
  c.device = ctx.device();
  c.owner = std::move(owner);
  return c;
}

/// The same, its arrays uninitialised.
inline matrix_ref new_csr(const context& ctx, shape s, std::int64_t nnz, type_key types) {
  const auto entries = static_cast<std::size_t>(nnz), offsets = static_cast<std::size_t>(s.rows) + 1;
  offsets_buffer rowptr = types.offset == offset_type::i32 ? offsets_buffer(buffer<std::int32_t>(ctx, offsets))
                                                           : offsets_buffer(buffer<std::int64_t>(ctx, offsets));
  buffer<index_t> colind(ctx, entries);
  return csr_of(ctx, s, types.value, std::move(rowptr), std::move(colind),
                buffer<std::byte>(ctx, entries * size_of(types.value)));
}

/// To be filled; the arrays must be new_csr's, or lent to be written.
inline csr_sink sink_of(const matrix_ref& c) {
  return {c.types.offset, 0, const_cast<void*>(c.rowptr), const_cast<index_t*>(c.colind), const_cast<void*>(c.values)};
}

/// The offsets of a CSR in the other width.
inline offsets_buffer other_offsets(const context& ctx, const matrix_ref& a) {
  const auto count = static_cast<std::size_t>(a.rows) + 1;
  if (a.types.offset == offset_type::i64) {  // the value type plays no part
    const auto* wide = static_cast<const std::int64_t*>(a.rowptr);
    return formats_of<float, std::int64_t>(ctx.backend()).narrow_offsets(ctx, wide, count);
  }
  const auto* narrow = static_cast<const std::int32_t*>(a.rowptr);
  return formats_of<float, std::int32_t>(ctx.backend()).widen_offsets(ctx, narrow, count);
}

/// Its offsets in the width of `type`.
inline void copy_offsets(const context& ctx, const matrix_ref& a, offset_type type, void* to) {
  const std::size_t bytes = (static_cast<std::size_t>(a.rows) + 1) * size_of(type);
  const auto copy = [&](const void* from) { copy_bytes(ctx, to, ctx.space(), from, ctx.space(), bytes); };
  a.types.offset == type ? copy(a.rowptr) : copy(data_of(other_offsets(ctx, a)));
}

}  // namespace tulle::detail
