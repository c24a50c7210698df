// CSR matrices of the C API: copied, borrowed or read from a file, and always checked.
#include <fmt/format.h>

#include <limits>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/validate.hpp>
#include <tulle/io/matrix_market.hpp>

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using tulle::capi::create;
using tulle::capi::guard;
using tulle::capi::require;

namespace tulle::capi {
namespace {

void check_count(std::int64_t value, std::int64_t most, const char* name) {
  if (value < 0 || value > most) {
    throw error(status::invalid_dimensions, fmt::format("arrays->{} = {}: must be 0 to {}", name, value, most));
  }
}

/// The arrays as they stand, still with their own index base. Sizes, types and pointers are checked, contents are not.
csr_ref checked_ref(const tulle_csr_arrays& a) {
  csr_ref ref;
  ref.types = {scalar_type_of(a.scalar_type, "arrays->scalar_type"),
               offset_type_of(a.offset_type, "arrays->offset_type")};
  ref.space = space_of(a.space, "arrays->space");
  if (a.index_base != 0 && a.index_base != 1) {
    throw error(status::invalid_argument, fmt::format("arrays->index_base = {}: must be 0 or 1", a.index_base));
  }
  constexpr std::int64_t most_indices = std::numeric_limits<index_t>::max();
  check_count(a.rows, most_indices, "rows");
  check_count(a.cols, most_indices, "cols");
  const bool narrow = ref.types.offset == offset_type::i32;
  check_count(a.nnz, narrow ? most_indices : std::numeric_limits<std::int64_t>::max() - 1, "nnz");
  require(a.rowptr, "arrays->rowptr");
  if (a.nnz > 0) {
    require(a.colind, "arrays->colind");
    require(a.values, "arrays->values");
  }
  ref.rows = static_cast<index_t>(a.rows);
  ref.cols = static_cast<index_t>(a.cols);
  ref.nnz = a.nnz;
  ref.rowptr = a.rowptr;
  ref.colind = a.colind;
  ref.values = a.values;
  return ref;
}

/// The arrays must be as long as nnz says before they are read that far.
template <class O>
void check_last_offset(const context& ctx, const csr_ref& ref, std::int32_t base) {
  O last = 0;
  copy_bytes(ctx, &last, memory_space::host, static_cast<const O*>(ref.rowptr) + ref.rows, ref.space, sizeof(O));
  if (std::int64_t{last} != ref.nnz + base) {
    throw error(status::invalid_structure,
                fmt::format("arrays->rowptr: the last offset, rowptr[{}], is {}, not nnz + index_base = {}", ref.rows,
                            last, ref.nnz + base));
  }
}

/// A copy in the memory of `to`, less `base`. `ctx` can reach `from`.
template <class I>
buffer<I> copied(const context& ctx, const context& to, const I* from, memory_space space, std::size_t count,
                 std::int32_t base) {
  buffer<I> copy(to, count);
  if (base == 0) {
    copy_bytes(ctx, copy.data(), to.space(), from, space, copy.bytes());
    return copy;
  }
  using unsigned_type = std::make_unsigned_t<I>;  // wraps where a wrong index would overflow
  buffer<I> staged(context::cpu(), count);
  copy_bytes(ctx, staged.data(), memory_space::host, from, space, staged.bytes());
  for (I& index : staged.host()) {
    index = static_cast<I>(static_cast<unsigned_type>(index) - static_cast<unsigned_type>(base));
  }
  copy_bytes(ctx, copy.data(), to.space(), staged.data(), memory_space::host, copy.bytes());
  return copy;
}

template <class T, class O>
void check_structure(const context& ctx, const csr_ref& ref) {
  const validation found = validate(ctx, ref.as<T, O>());
  if (!found.ok()) throw error(status::invalid_structure, "arrays: " + found.message());
}

enum class ownership { copy, borrow };

template <class T, class O>
std::unique_ptr<tulle_csr> make_csr(const context& ctx, csr_ref ref, std::int32_t base, ownership how) {
  check_last_offset<O>(ctx, ref, base);
  // Borrowed host arrays stay on the host whatever the context is.
  const context home = how == ownership::borrow && ref.space == memory_space::host ? context::cpu() : ctx;
  auto owned = std::make_shared<csr<T, O>>();
  const auto nnz = static_cast<std::size_t>(ref.nnz);
  const csr_view<T, O> from = ref.as<T, O>();
  if (how == ownership::copy || base != 0) {
    owned->rowptr = copied(ctx, home, from.rowptr, from.space, static_cast<std::size_t>(ref.rows) + 1, base);
    owned->colind = copied(ctx, home, from.colind, from.space, nnz, base);
    ref.rowptr = owned->rowptr.data();
    ref.colind = owned->colind.data();
  }
  if (how == ownership::copy) {
    owned->values = buffer<T>(home, nnz);
    copy_bytes(ctx, owned->values.data(), home.space(), from.values, from.space, owned->values.bytes());
    ref.values = owned->values.data();
  }
  ref.space = home.space();
  check_structure<T, O>(home, ref);
  ctx.synchronize();  // the caller may free or change what was copied
  return std::make_unique<tulle_csr>(tulle_csr{ref, std::move(owned)});
}

tulle_csr* make_csr(const tulle_context* context, const tulle_csr_arrays* arrays, ownership how) {
  require(context, "context");
  require(arrays, "arrays");
  const csr_ref ref = checked_ref(*arrays);
  if (ref.space == memory_space::device && context->value.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, "arrays->space is TULLE_DEVICE: the context must be a CUDA one");
  }
  return dispatch<type_set::all>(
             ref.types,
             [&]<class T, class O>() { return make_csr<T, O>(context->value, ref, arrays->index_base, how); })
      .release();
}

template <class T>
std::unique_ptr<tulle_csr> read_csr(const context& ctx, const char* path) {
  auto owned = std::make_shared<csr<T>>(read_matrix_market<T>(path, {.threads = ctx.threads()}));
  if (ctx.backend() == backend_kind::cuda) *owned = clone(ctx, owned->view());
  const csr_ref ref = matrix_ref(owned->view());
  return std::make_unique<tulle_csr>(tulle_csr{ref, std::move(owned)});
}

}  // namespace
}  // namespace tulle::capi

using tulle::capi::ownership;

tulle_status tulle_csr_copy(const tulle_context* context, const tulle_csr_arrays* arrays, tulle_csr** matrix) {
  return create(matrix, "matrix", [&] { return tulle::capi::make_csr(context, arrays, ownership::copy); });
}

tulle_status tulle_csr_borrow(const tulle_context* context, const tulle_csr_arrays* arrays, tulle_csr** matrix) {
  return create(matrix, "matrix", [&] { return tulle::capi::make_csr(context, arrays, ownership::borrow); });
}

tulle_status tulle_csr_read_matrix_market(const tulle_context* context, const char* path, tulle_scalar_type scalar_type,
                                          tulle_csr** matrix) {
  return create(matrix, "matrix", [&] {
    require(context, "context");
    require(path, "path");
    const tulle::type_key types{tulle::capi::scalar_type_of(scalar_type, "scalar_type"), tulle::offset_type::i64};
    return tulle::dispatch<tulle::type_set::all>(
               types, [&]<class T, class O>() { return tulle::capi::read_csr<T>(context->value, path); })
        .release();
  });
}

tulle_status tulle_csr_get_arrays(const tulle_csr* matrix, tulle_csr_arrays* arrays) {
  return guard([&] {
    require(matrix, "matrix");
    require(arrays, "arrays");
    const tulle::csr_ref& ref = matrix->ref;
    *arrays = {ref.rows,
               ref.cols,
               ref.nnz,
               static_cast<tulle_scalar_type>(ref.types.value),
               static_cast<tulle_offset_type>(ref.types.offset),
               0,
               tulle::capi::to_c(ref.space),
               ref.rowptr,
               ref.colind,
               ref.values};
  });
}

tulle_status tulle_csr_copy_out(const tulle_context* context, const tulle_csr* matrix, void* rowptr, int32_t* colind,
                                void* values) {
  return guard([&] {
    require(context, "context");
    require(matrix, "matrix");
    const tulle::csr_ref& ref = matrix->ref;
    const auto copy = [&](void* to, const void* from, std::int64_t count, std::size_t size) {
      const std::size_t bytes = static_cast<std::size_t>(count) * size;
      if (to != nullptr) copy_bytes(context->value, to, tulle::memory_space::host, from, ref.space, bytes);
    };
    copy(rowptr, ref.rowptr, std::int64_t{ref.rows} + 1, ref.types.offset == tulle::offset_type::i64 ? 8 : 4);
    copy(colind, ref.colind, ref.nnz, sizeof(tulle::index_t));
    copy(values, ref.values, ref.nnz, size_of(ref.types.value));
  });
}

void tulle_csr_destroy(tulle_csr* matrix) { delete matrix; }
