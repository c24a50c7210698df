// Vectors and new values as callers of the C API hand them over.
#pragma once

#include "capi/guard.hpp"
#include "capi/handles.hpp"

namespace tulle::capi {

/// Of what is made of a context. Throws what `size` and `data` have wrong.
template <class Void>
basic_vector_ref<Void> vector_in(const context& ctx, scalar_type type, Void* data, std::int64_t size,
                                 const char* name) {
  if (checked_size(size, "size") > 0) require(data, name);
  return {type, data, size, ctx.space(), ctx.device()};
}

inline multivector_ref multivector_in(const context& ctx, scalar_type type, const tulle_multivector& v,
                                      const std::string& name) {
  return {type,
          checked_index(v.rows, name + "->rows"),
          checked_index(v.count, name + "->count"),
          v.ld,
          vector_order_of(v.order, (name + "->order").c_str()),
          v.data,
          ctx.space()};
}

/// The arguments of an update_values.
inline const_vector_ref new_values(scalar_type type, const void* values, std::int64_t count, tulle_memory_space space) {
  const std::int64_t size = checked_size(count, "count");
  if (size > 0) require(values, "values");
  return {type, values, size, space_of(space, "space")};
}

}  // namespace tulle::capi
