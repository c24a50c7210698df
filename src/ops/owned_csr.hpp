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

/// Uninitialised arrays that the ref owns; offsets as wide as nnz needs, or as they are said to be.
inline matrix_ref new_csr(const context& ctx, shape s, std::int64_t nnz, type_key types) {
  struct arrays {
    buffer<std::byte> rowptr, colind, values;
  };
  const auto entries = static_cast<std::size_t>(nnz);
  auto owner = std::make_shared<arrays>();
  owner->rowptr = buffer<std::byte>(ctx, (static_cast<std::size_t>(s.rows) + 1) * size_of(types.offset));
  owner->colind = buffer<std::byte>(ctx, entries * sizeof(index_t));
  owner->values = buffer<std::byte>(ctx, entries * size_of(types.value));
  matrix_ref c;
  c.types = types;
  c.rows = s.rows;
  c.cols = s.cols;
  c.nnz = c.stored = nnz;
  c.rowptr = owner->rowptr.data();
  c.colind = reinterpret_cast<const index_t*>(owner->colind.data());
  c.values = owner->values.data();
  c.space = ctx.space();
  c.device = ctx.device();
  c.owner = std::move(owner);
  return c;
}

/// To be filled; the arrays must be new_csr's, or lent to be written.
inline csr_sink sink_of(const matrix_ref& c) {
  return {c.types.offset, 0, const_cast<void*>(c.rowptr), const_cast<index_t*>(c.colind), const_cast<void*>(c.values)};
}

/// The offsets of `from`, in the width of those of `to`.
inline void copy_offsets(const context& ctx, const matrix_ref& from, const matrix_ref& to) {
  const auto count = static_cast<std::size_t>(from.rows) + 1;
  const auto copy = [&](const void* offsets) {
    copy_bytes(ctx, const_cast<void*>(to.rowptr), ctx.space(), offsets, ctx.space(), count * size_of(to.types.offset));
  };
  if (from.types.offset == to.types.offset) return copy(from.rowptr);
  dispatch<type_set::all>(from.types, [&]<class T, class O>() {
    const auto& backend = formats_of<T, O>(ctx.backend());
    const auto* offsets = static_cast<const O*>(from.rowptr);
    if (to.types.offset == offset_type::i32) return copy(backend.narrow_offsets(ctx, offsets, count).data());
    copy(backend.widen_offsets(ctx, offsets, count).data());
  });
}

}  // namespace tulle::detail
