// CSR matrices of the C API: copied, borrowed or read from a file, and always checked.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <tulle/io/matrix_market.hpp>
#include <variant>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "formats/matrix_arrays.hpp"
#include "kernels/types.hpp"
#include "ops/operand.hpp"

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
matrix_ref checked_ref(const tulle_csr_arrays& a) {
  matrix_ref ref;
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
  ref.nnz = ref.stored = a.nnz;
  ref.rowptr = a.rowptr;
  ref.colind = a.colind;
  ref.values = a.values;
  return ref;
}

/// The arrays must be as long as nnz says before they are read that far.
template <class O>
void check_last_offset(const context& ctx, const matrix_ref& ref, std::int32_t base) {
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

enum class ownership { copy, borrow };

struct owned_arrays {
  std::variant<buffer<std::int32_t>, buffer<std::int64_t>> rowptr;
  buffer<index_t> colind;
  buffer<std::byte> values;
};

/// A copy of the arrays, or of the offsets and columns where a borrowed matrix has another index base.
template <class O>
std::shared_ptr<const void> take(const context& ctx, const context& home, matrix_ref& ref, std::int32_t base,
                                 ownership how) {
  auto owned = std::make_shared<owned_arrays>();
  const auto nnz = static_cast<std::size_t>(ref.nnz);
  owned->rowptr = copied(ctx, home, static_cast<const O*>(ref.rowptr), ref.space, static_cast<std::size_t>(ref.rows) + 1, base);
  owned->colind = copied(ctx, home, ref.colind, ref.space, nnz, base);
  ref.rowptr = std::get<buffer<O>>(owned->rowptr).data();
  ref.colind = owned->colind.data();
  if (how == ownership::copy) {
    owned->values = buffer<std::byte>(home, nnz * size_of(ref.types.value));
    copy_bytes(ctx, owned->values.data(), home.space(), ref.values, ref.space, owned->values.bytes());
    ref.values = owned->values.data();
  }
  return owned;
}

template <class O>
tulle_csr* make_csr(const context& ctx, matrix_ref ref, std::int32_t base, ownership how, bool trusted) {
  if (!trusted) check_last_offset<O>(ctx, ref, base);
  // Borrowed host arrays stay on the host whatever the context is.
  const context home = how == ownership::borrow && ref.space == memory_space::host ? context::cpu() : ctx;
  if (how == ownership::copy || base != 0) ref.owner = take<O>(ctx, home, ref, base, how);
  ref.space = home.space();
  ref.device = home.device();
  if (!trusted) detail::operand(home, "arrays", ref).validate();
  ctx.synchronize();  // the caller may free or change what was copied
  return new tulle_csr{ref, 0};
}

tulle_csr* make_csr(const tulle_context* context, const tulle_csr_arrays* arrays, ownership how, bool trusted = false) {
  require(context, "context");
  require(arrays, "arrays");
  const matrix_ref ref = checked_ref(*arrays);
  if (ref.space == memory_space::device && context->value.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, "arrays->space is TULLE_DEVICE: the context must be a CUDA one");
  }
  if (ref.types.offset == offset_type::i64) {
    return make_csr<std::int64_t>(context->value, ref, arrays->index_base, how, trusted);
  }
  return make_csr<std::int32_t>(context->value, ref, arrays->index_base, how, trusted);
}

template <class T>
tulle_csr* read_csr(const context& ctx, const char* path) {
  return new tulle_csr{placed(ctx, read_matrix_market<T>(path, {.threads = ctx.threads()})), 0};
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

tulle_status tulle_csr_borrow_trusted(const tulle_context* context, const tulle_csr_arrays* arrays,
                                      tulle_csr** matrix) {
  return create(matrix, "matrix", [&] { return tulle::capi::make_csr(context, arrays, ownership::borrow, true); });
}

tulle_status tulle_csr_read_matrix_market(const tulle_context* context, const char* path, tulle_scalar_type scalar_type,
                                          tulle_csr** matrix) {
  return create(matrix, "matrix", [&] {
    require(context, "context");
    require(path, "path");
    const tulle::type_key types{tulle::capi::scalar_type_of(scalar_type, "scalar_type"), tulle::offset_type::i64};
    return tulle::dispatch<tulle::type_set::all>(
        types, [&]<class T, class>() { return tulle::capi::read_csr<T>(context->value, path); });
  });
}

tulle_status tulle_csr_get_arrays(const tulle_csr* matrix, tulle_csr_arrays* arrays) {
  return guard([&] {
    require(matrix, "matrix");
    require(arrays, "arrays");
    const tulle::matrix_ref& ref = matrix->ref;
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
    const tulle::matrix_ref& ref = matrix->ref;
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
