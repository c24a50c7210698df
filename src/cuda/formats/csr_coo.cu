// CSR <-> COO and CSR -> CSC, with values or positions: one stable sort of (row or column, position), both packed into
// 64 bits, then a gather. Scratch: 16 bytes per entry.
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/primitives.hpp"

namespace tulle::cuda {
namespace {

__global__ void pack_keys(const index_t* major, std::int64_t n, int position_bits, std::uint64_t* keys) {
  for (std::int64_t k = grid_thread(); k < n; k += grid_stride()) {
    keys[k] = static_cast<std::uint64_t>(major[k]) << position_bits | static_cast<std::uint64_t>(k);
  }
}

template <class O>
__global__ void major_offsets(const std::uint64_t* keys, std::int64_t n, int position_bits, index_t majors,
                              O* offsets) {
  for (std::int64_t m = grid_thread(); m <= majors; m += grid_stride()) {
    const std::uint64_t first = static_cast<std::uint64_t>(m) << position_bits;
    offsets[m] = static_cast<O>(m == majors ? n : lower_bound(keys, n, first));
  }
}

__global__ void gather_positions(const std::uint64_t* keys, std::int64_t n, std::uint64_t position_mask,
                                 const index_t* minor, const std::int64_t* positions, index_t* minor_out,
                                 std::int64_t* positions_out) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    const std::uint64_t k = keys[i] & position_mask;
    minor_out[i] = minor[k];
    positions_out[i] = positions ? positions[k] : static_cast<std::int64_t>(k);
  }
}

template <class T>
__global__ void gather(const std::uint64_t* keys, std::int64_t n, std::uint64_t position_mask, const index_t* minor,
                       const T* values, index_t* minor_out, T* values_out) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    const std::uint64_t k = keys[i] & position_mask;
    minor_out[i] = minor[k];
    values_out[i] = values[k];
  }
}

/// Entries in order of `major`; equal ones keep their order.
template <class T, class O>
struct compressed {
  buffer<O> offsets;
  buffer<index_t> minor;
  buffer<T> values;
};

template <class O>
struct major_order {
  buffer<O> offsets;           // of each major index
  buffer<std::uint64_t> keys;  // entry i was entry keys[i] & position_mask
  std::uint64_t position_mask;
};

template <class O>
major_order<O> order_by(const context& ctx, std::int64_t n, index_t majors, const index_t* major) {
  const int position_bits = bits_for(n);
  const int bits = position_bits + bits_for(majors);
  if (bits > 64)
    throw error(status::overflow,
                "too many entries to sort on the device: their number and the row number need more than 64 bits");
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(n));
  launch_items(ctx, "pack_keys", pack_keys, n, major, n, position_bits, keys.data());
  sort_keys(ctx, keys, position_bits, bits);

  buffer<O> offsets(ctx, static_cast<std::size_t>(majors) + 1);
  launch_items(ctx, "major_offsets", major_offsets<O>, std::int64_t{majors} + 1, keys.data(), n, position_bits, majors,
               offsets.data());
  return {std::move(offsets), std::move(keys), (std::uint64_t{1} << position_bits) - 1};
}

template <class T, class O>
compressed<T, O> compress(const context& ctx, std::int64_t n, index_t majors, const index_t* major,
                          const index_t* minor, const T* values) {
  auto [offsets, keys, position_mask] = order_by<O>(ctx, n, majors, major);
  compressed<T, O> out{std::move(offsets), buffer<index_t>(ctx, keys.size()), buffer<T>(ctx, keys.size())};
  launch_items(ctx, "gather", gather<T>, n, keys.data(), n, position_mask, minor, values, out.minor.data(),
               out.values.data());
  return out;
}

}  // namespace

template <scalar T, offset O>
coo<T> csr_to_coo(const context& ctx, csr_view<T, O> a) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  coo<T> out{a.rows, a.cols, buffer<index_t>(ctx, nnz), buffer<index_t>(ctx, nnz), buffer<T>(ctx, nnz)};
  expand_rows(ctx, a.rows, a.rowptr, a.nnz, out.rowind.data());
  copy_bytes(ctx, out.colind.data(), memory_space::device, a.colind, memory_space::device, out.colind.bytes());
  copy_bytes(ctx, out.values.data(), memory_space::device, a.values, memory_space::device, out.values.bytes());
  return out;
}

template <scalar T, offset O>
csr<T, O> coo_to_csr(const context& ctx, coo_view<T> a) {
  auto [rowptr, colind, values] = compress<T, O>(ctx, a.nnz, a.rows, a.rowind, a.colind, a.values);
  return {a.rows, a.cols, std::move(rowptr), std::move(colind), std::move(values)};
}

template <scalar T, offset O>
csc<T, O> csr_to_csc(const context& ctx, csr_view<T, O> a) {
  buffer<index_t> rows(ctx, static_cast<std::size_t>(a.nnz));
  expand_rows(ctx, a.rows, a.rowptr, a.nnz, rows.data());
  auto [colptr, rowind, values] = compress<T, O>(ctx, a.nnz, a.cols, a.colind, rows.data(), a.values);
  return {a.rows, a.cols, std::move(colptr), std::move(rowind), std::move(values)};
}

template <scalar T, offset O>
transposed_pattern<O> transpose_pattern(const context& ctx, csr_view<T, O> a, const std::int64_t* positions) {
  const auto n = static_cast<std::size_t>(a.nnz);
  buffer<index_t> rows(ctx, n);
  expand_rows(ctx, a.rows, a.rowptr, a.nnz, rows.data());
  auto [offsets, keys, position_mask] = order_by<O>(ctx, a.nnz, a.cols, a.colind);
  transposed_pattern<O> out{std::move(offsets), buffer<index_t>(ctx, n), buffer<std::int64_t>(ctx, n)};
  launch_items(ctx, "gather_positions", gather_positions, a.nnz, keys.data(), a.nnz, position_mask, rows.data(),
               positions, out.colind.data(), out.positions.data());
  return out;
}

#define TULLE_INSTANTIATE(T, O)                                     \
  template coo<T> csr_to_coo<T, O>(const context&, csr_view<T, O>); \
  template csr<T, O> coo_to_csr<T, O>(const context&, coo_view<T>); \
  template csc<T, O> csr_to_csc<T, O>(const context&, csr_view<T, O>); \
  template transposed_pattern<O> transpose_pattern<T, O>(const context&, csr_view<T, O>, const std::int64_t*);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
