// CSR matrices of the C API: copied, borrowed or read from a file, and always checked.
#include <fmt/format.h>

#include <limits>
#include <tulle/io/matrix_market.hpp>
#include <utility>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "formats/matrix_arrays.hpp"
#include "kernels/types.hpp"
#include "ops/operand.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

/// The arrays as they stand, still with their own index base. Sizes, types and pointers are checked, contents are not.
matrix_ref checked_ref(const tulle_csr_arrays& a) {
  matrix_ref ref = described(a);
  checked_choice(a.index_base, "arrays->index_base", 0, 1);
  const bool narrow = ref.types.offset == offset_type::i32;
  ref.nnz = ref.stored =
      checked_count(a.nnz, "arrays->nnz",
                    narrow ? std::numeric_limits<index_t>::max() : std::numeric_limits<std::int64_t>::max() - 1);
  require(a.rowptr, "arrays->rowptr");
  if (a.nnz > 0) {
    require(a.colind, "arrays->colind");
    require(a.values, "arrays->values");
  }
  ref.rowptr = a.rowptr;
  ref.colind = a.colind;
  ref.values = a.values;
  return ref;
}

/// The arrays must be as long as nnz says before they are read that far.
void check_last_offset(const context& ctx, const matrix_ref& ref, std::int32_t base) {
  const std::int64_t last = offset_at(ctx, ref, ref.rows);
  if (last != ref.nnz + base) {
    throw error(status::invalid_structure,
                fmt::format("arrays->rowptr: the last offset, rowptr[{}], is {}, not nnz + index_base = {}", ref.rows,
                            last, ref.nnz + base));
  }
}

/// Subtracts `base` from indices of a copy, modulo 2^32 or 2^64 where a wrong one would overflow.
template <class I>
void subtract(std::int32_t base, const void* indices, std::int64_t count) {
  using unsigned_type = std::make_unsigned_t<I>;
  I* const index = static_cast<I*>(const_cast<void*>(indices));
  for (std::int64_t i = 0; i < count; ++i) {
    index[i] = static_cast<I>(static_cast<unsigned_type>(index[i]) - static_cast<unsigned_type>(base));
  }
}

enum class ownership { copy, borrow };

tulle_csr* make_csr(const tulle_context* context, const tulle_csr_arrays* arrays, ownership how, bool trusted = false) {
  const tulle::context& ctx = context->value;
  const std::int32_t base = arrays->index_base;
  matrix_ref ref = checked_ref(*arrays);
  if (ref.space == memory_space::device && ctx.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, "arrays->space is TULLE_DEVICE: the context must be a CUDA one");
  }
  for (const void* array : {ref.rowptr, static_cast<const void*>(ref.colind), ref.values}) {
    check_memory("arrays", array, ref.space);
  }
  if (!trusted) check_last_offset(ctx, ref, base);
  // Borrowed host arrays stay on the host whatever the context is.
  const tulle::context home = how == ownership::borrow && ref.space == memory_space::host ? tulle::context::cpu(ctx.threads()) : ctx;
  const void* const borrowed = how == ownership::borrow ? std::exchange(ref.values, nullptr) : nullptr;
  if (base != 0) {
    ref = copied(tulle::context::cpu(), ref);
    const auto subtract_offsets =
        ref.types.offset == offset_type::i64 ? subtract<std::int64_t> : subtract<std::int32_t>;
    subtract_offsets(base, ref.rowptr, std::int64_t{ref.rows} + 1);
    subtract<index_t>(base, ref.colind, ref.nnz);
    ref = placed(home, ref);
  } else if (how == ownership::copy) {
    ref = copied(home, ref);
  }
  if (how == ownership::borrow) ref.values = borrowed;
  ref.space = home.space();
  ref.device = home.device();
  if (!trusted) detail::operand(home, "arrays", ref).validate();
  ctx.synchronize();  // the caller may free or change what was copied
  return new tulle_csr{ref, 0};
}

template <class T>
tulle_csr* read_csr(const context& ctx, const char* path) {
  return new tulle_csr{placed(ctx, read_matrix_market<T>(path, {.threads = ctx.threads()})), 0};
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_csr_copy(const tulle_context* context, const tulle_csr_arrays* arrays, tulle_csr** matrix) {
  return create(matrix, "matrix", {{context, "context"}, {arrays, "arrays"}},
                [&] { return make_csr(context, arrays, ownership::copy); });
}

tulle_status tulle_csr_borrow(const tulle_context* context, const tulle_csr_arrays* arrays, tulle_csr** matrix) {
  return create(matrix, "matrix", {{context, "context"}, {arrays, "arrays"}},
                [&] { return make_csr(context, arrays, ownership::borrow); });
}

tulle_status tulle_csr_borrow_trusted(const tulle_context* context, const tulle_csr_arrays* arrays,
                                      tulle_csr** matrix) {
  return create(matrix, "matrix", {{context, "context"}, {arrays, "arrays"}},
                [&] { return make_csr(context, arrays, ownership::borrow, true); });
}

tulle_status tulle_csr_read_matrix_market(const tulle_context* context, const char* path, tulle_scalar_type scalar_type,
                                          tulle_csr** matrix) {
  return create(matrix, "matrix", {{context, "context"}, {path, "path"}}, [&] {
    switch (const tulle::context& ctx = context->value; scalar_type_of(scalar_type, "scalar_type")) {
      case tulle::scalar_type::f32:
        return read_csr<float>(ctx, path);
      case tulle::scalar_type::f64:
        return read_csr<double>(ctx, path);
      case tulle::scalar_type::i32:
        return read_csr<std::int32_t>(ctx, path);
      case tulle::scalar_type::i64:
        return read_csr<std::int64_t>(ctx, path);
      case tulle::scalar_type::c64:
        return read_csr<std::complex<float>>(ctx, path);
      case tulle::scalar_type::c128:
        return read_csr<std::complex<double>>(ctx, path);
      case tulle::scalar_type::boolean:
        break;
    }
    throw tulle::error(tulle::status::unsupported, "scalar_type = TULLE_BOOL: files have no such values");
  });
}

tulle_status tulle_csr_get_arrays(const tulle_csr* matrix, tulle_csr_arrays* arrays) {
  return guard({{matrix, "matrix"}, {arrays, "arrays"}}, [&] {
    const tulle::matrix_ref& ref = matrix->ref;
    *arrays = {ref.rows,
               ref.cols,
               ref.nnz,
               static_cast<tulle_scalar_type>(ref.types.value),
               static_cast<tulle_offset_type>(ref.types.offset),
               0,
               static_cast<tulle_memory_space>(ref.space),
               ref.rowptr,
               ref.colind,
               ref.values};
  });
}

tulle_status tulle_csr_copy_out(const tulle_context* context, const tulle_csr* matrix, void* rowptr, int32_t* colind,
                                void* values) {
  return guard({{context, "context"}, {matrix, "matrix"}}, [&] {
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
