#include "formats/matrix_arrays.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/core/status.hpp>

#include "core/device_runtime.hpp"

namespace tulle {
namespace {

struct owned_arrays {
  buffer<std::byte> rowptr, rowind, colind, values, mask, row_mask;
};

/// A copy of `count` elements of `size` bytes, to which `array` points afterwards.
template <class Pointer>
void copy_array(const context& ctx, memory_space from, std::int64_t count, std::size_t size, Pointer& array,
                buffer<std::byte>& copy) {
  if (array == nullptr) return;
  copy = buffer<std::byte>(ctx, static_cast<std::size_t>(count) * size);
  copy_bytes(ctx, copy.data(), ctx.space(), array, from, copy.bytes());
  array = static_cast<Pointer>(static_cast<const void*>(copy.data()));
}

std::int64_t blocks_of(index_t rows, index_t block) { return (std::int64_t{rows} + block - 1) / block; }

/// Of 64 bits.
std::int64_t offset_of(const context& ctx, const matrix_ref& a, std::int64_t at) {
  std::int64_t value = 0;
  copy_bytes(ctx, &value, memory_space::host, static_cast<const std::int64_t*>(a.rowptr) + at, a.space, sizeof(value));
  return value;
}

/// Of a bin_bsr.
std::int64_t slots_of(const context& ctx, const matrix_ref& a) {
  const std::int64_t slots = offset_of(ctx, a, a.stored * bin_rows);
  if (slots < 0 || slots % bin_rows != 0 || slots > std::numeric_limits<std::int64_t>::max() / 1024) {
    throw error(status::invalid_structure,
                fmt::format("rowptr ends with {}: must be a number of slots, a multiple of 32", slots));
  }
  return slots;
}

}  // namespace

matrix_arrays arrays_of(const context& ctx, const matrix_ref& a) {
  switch (a.format) {
    case matrix_format::csr:
      return {std::int64_t{a.rows} + 1, 0, a.nnz, a.nnz, 0};
    case matrix_format::csc:
      return {std::int64_t{a.cols} + 1, 0, a.nnz, a.nnz, 0};
    case matrix_format::coo:
      return {0, a.nnz, a.nnz, a.nnz, 0};
    case matrix_format::ell: {
      const std::int64_t slots = std::int64_t{a.rows} * a.block;
      return {0, 0, slots, slots, 0};
    }
    case matrix_format::sell: {
      const std::int64_t slots = offset_of(ctx, a, a.stored);
      return {a.stored + 1, a.rowind == nullptr ? 0 : a.stored * sell_slice_rows, slots, slots, 0};
    }
    case matrix_format::bsr:
      return {blocks_of(a.rows, a.block) + 1, 0, a.stored, a.stored * a.block * a.block,
              a.mask == nullptr ? 0 : a.stored};
    case matrix_format::bin_bsr: {
      const std::int64_t slots = slots_of(ctx, a);
      return {(a.stored + 1) * bin_rows, 0, slots, slots * a.block, 0, a.row_mask == nullptr ? 0 : slots};
    }
  }
  throw error(status::invalid_argument, fmt::format("{} is no matrix format", static_cast<int>(a.format)));
}

std::int64_t offset_at(const context& ctx, const matrix_ref& a, index_t row) {
  const auto read = [&]<class O>(O value) -> std::int64_t {
    copy_bytes(ctx, &value, memory_space::host, static_cast<const O*>(a.rowptr) + row, a.space, sizeof(O));
    return value;
  };
  return a.types.offset == offset_type::i64 ? read(std::int64_t{0}) : read(std::int32_t{0});
}

void check_memory(std::string_view name, const void* array, memory_space said) {
  if (array == nullptr || !works_on_device()) return;
  const std::optional<memory_space> is = cuda_runtime()->space_of(array);
  if (!is || *is == said) return;
  throw error(status::invalid_argument, fmt::format("{} is said to be in {} memory, but a pointer is to {} memory",
                                                    name, tulle::name(said), tulle::name(*is)));
}

void check_matrix(const context& ctx, std::string_view name, const matrix_ref& a, bool reads_values) {
  if (a.rows < 0 || a.cols < 0 || a.nnz < 0 || a.stored < 0)
    throw error(status::invalid_dimensions, fmt::format("{} has a negative dimension or nnz", name));
  const index_t least_block = a.format == matrix_format::bsr ? 2 : 1;
  if ((a.format == matrix_format::bsr || a.format == matrix_format::bin_bsr) &&
      (a.block < least_block || a.block > 8)) {
    throw error(status::invalid_argument,
                fmt::format("{} has blocks of {} rows: must be {} to 8", name, a.block, least_block));
  }
  if (a.format == matrix_format::bin_bsr && a.stored != blocks_of(a.rows, bin_rows)) {
    throw error(status::invalid_dimensions, fmt::format("{} has {} bins, {} rows need {}", name, a.stored, a.rows,
                                                        blocks_of(a.rows, bin_rows)));
  }
  if (a.format == matrix_format::sell && a.stored != blocks_of(a.rows, sell_slice_rows)) {
    throw error(status::invalid_dimensions, fmt::format("{} has {} slices, {} rows need {}", name, a.stored, a.rows,
                                                        blocks_of(a.rows, sell_slice_rows)));
  }
  if (a.space == memory_space::device && ctx.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument,
                fmt::format("{} is in device memory and the context is a CPU one: clone it to the host first", name));
  }
  if (a.space == memory_space::device && a.device >= 0 && a.device != ctx.device()) {
    throw error(status::invalid_argument, fmt::format("{} is in the memory of device {}, the context is on device {}",
                                                      name, a.device, ctx.device()));
  }
  const bool has_offsets = a.format != matrix_format::coo && a.format != matrix_format::ell;
  const bool missing = (has_offsets && a.rowptr == nullptr) ||
                       (a.nnz > 0 && (a.colind == nullptr || (reads_values && a.values == nullptr))) ||
                       (a.format == matrix_format::coo && a.nnz > 0 && a.rowind == nullptr);
  if (missing) throw error(status::null_pointer, fmt::format("{} has a null array", name));
  for (const void* array :
       {a.rowptr, static_cast<const void*>(a.rowind), static_cast<const void*>(a.colind), a.values}) {
    check_memory(name, array, a.space);
  }
}

matrix_ref placed(const context& ctx, const matrix_ref& a) { return a.space == ctx.space() ? a : copied(ctx, a); }

matrix_ref copied(const context& ctx, const matrix_ref& a) {
  const matrix_arrays count = arrays_of(ctx, a);
  auto owned = std::make_shared<owned_arrays>();
  matrix_ref to = a;
  const bool wide = a.format == matrix_format::sell || a.format == matrix_format::bin_bsr;
  const std::size_t offset = wide ? sizeof(std::int64_t) : size_of(a.types.offset);
  copy_array(ctx, a.space, count.offsets, offset, to.rowptr, owned->rowptr);
  copy_array(ctx, a.space, count.rowind, sizeof(index_t), to.rowind, owned->rowind);
  copy_array(ctx, a.space, count.indices, sizeof(index_t), to.colind, owned->colind);
  copy_array(ctx, a.space, count.values, size_of(a.types.value), to.values, owned->values);
  copy_array(ctx, a.space, count.masks, sizeof(std::uint64_t), to.mask, owned->mask);
  copy_array(ctx, a.space, count.row_masks, sizeof(std::uint8_t), to.row_mask, owned->row_mask);
  to.space = ctx.space();
  to.device = ctx.device();
  to.owner = std::move(owned);
  return to;
}

}  // namespace tulle
