// CSR <-> COO and CSR -> CSC, with values or positions: one stable sort of (row or column, position), both packed into
// 64 bits, then a gather. Scratch: 16 bytes per entry.
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"

namespace tulle::cuda {
namespace {

/// (major index, number) of every entry, in that order.
struct ordered_entries {
  buffer<std::uint64_t> keys;
  int position_bits;
};

ordered_entries order_by(const context& ctx, std::int64_t n, index_t majors, const index_t* major) {
  const int position_bits = bits_for(n);
  const int bits = position_bits + bits_for(majors);
  if (bits > 64)
    throw error(status::overflow,
                "too many entries to sort on the device: their number and the row number need more than 64 bits");
  ordered_entries out{buffer<std::uint64_t>(ctx, static_cast<std::size_t>(n)), position_bits};
  for_each_item(ctx, "pack_keys", n, [=, keys = out.keys.data()] __device__(std::int64_t k) {
    keys[k] = static_cast<std::uint64_t>(major[k]) << position_bits | static_cast<std::uint64_t>(k);
  });
  sort_keys(ctx, out.keys, position_bits, bits);
  return out;
}

/// Entries in order of their major index; equal ones keep their order.
template <class V, class O>
struct compressed {
  buffer<O> offsets;
  buffer<index_t> minor;
  buffer<V> values;
};

/// `from[k]`, on the device, is the value of entry k.
template <class V, class O, class From>
compressed<V, O> compress(const context& ctx, std::int64_t n, index_t majors, const index_t* major,
                          const index_t* minor, From from) {
  const ordered_entries order = order_by(ctx, n, majors, major);
  const std::uint64_t* const keys = order.keys.data();
  const int bits = order.position_bits;
  compressed<V, O> out{buffer<O>(ctx, static_cast<std::size_t>(majors) + 1), buffer<index_t>(ctx, order.keys.size()),
                       buffer<V>(ctx, order.keys.size())};
  for_each_item(ctx, "major_offsets", std::int64_t{majors} + 1,
                [=, to = out.offsets.data()] __device__(std::int64_t m) {
                  to[m] = static_cast<O>(m == majors ? n : lower_bound(keys, n, static_cast<std::uint64_t>(m) << bits));
                });
  const auto gather = [=, minor_to = out.minor.data(), to = out.values.data()] __device__(std::int64_t i) {
    const std::uint64_t k = keys[i] & ((std::uint64_t{1} << bits) - 1);
    minor_to[i] = minor[k];
    to[i] = from[k];
  };
  for_each_item(ctx, "gather", n, gather);
  return out;
}

template <class O>
buffer<index_t> rows_of_entries(const context& ctx, index_t rows, O nnz, const O* rowptr) {
  buffer<index_t> out(ctx, static_cast<std::size_t>(nnz));
  for_each_entry(ctx, "rows_of_entries", nnz, rows, rowptr,
                 [to = out.data()] __device__(index_t row, std::int64_t k) { to[k] = row; });
  return out;
}

/// What transpose_pattern counts entries by.
struct entry_positions {
  const std::int64_t* positions;  // null: entry k is at k
  __device__ std::int64_t operator[](std::uint64_t k) const {
    return positions ? positions[k] : static_cast<std::int64_t>(k);
  }
};

}  // namespace

template <scalar T, offset O>
coo<T> csr_to_coo(const context& ctx, csr_view<T, O> a) {
  const auto nnz = static_cast<std::size_t>(a.nnz);
  coo<T> out{a.rows, a.cols, rows_of_entries(ctx, a.rows, a.nnz, a.rowptr), buffer<index_t>(ctx, nnz),
             buffer<T>(ctx, nnz)};
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
  const buffer<index_t> rows = rows_of_entries(ctx, a.rows, a.nnz, a.rowptr);
  auto [colptr, rowind, values] = compress<T, O>(ctx, a.nnz, a.cols, a.colind, rows.data(), a.values);
  return {a.rows, a.cols, std::move(colptr), std::move(rowind), std::move(values)};
}

template <scalar T, offset O>
transposed_pattern<O> transpose_pattern(const context& ctx, csr_view<T, O> a, const std::int64_t* positions) {
  const buffer<index_t> rows = rows_of_entries(ctx, a.rows, a.nnz, a.rowptr);
  auto [rowptr, colind, places] =
      compress<std::int64_t, O>(ctx, a.nnz, a.cols, a.colind, rows.data(), entry_positions{positions});
  return {std::move(rowptr), std::move(colind), std::move(places)};
}

#define TULLE_INSTANTIATE(T, O)                                        \
  template coo<T> csr_to_coo<T, O>(const context&, csr_view<T, O>);    \
  template csr<T, O> coo_to_csr<T, O>(const context&, coo_view<T>);    \
  template csc<T, O> csr_to_csc<T, O>(const context&, csr_view<T, O>); \
  template transposed_pattern<O> transpose_pattern<T, O>(const context&, csr_view<T, O>, const std::int64_t*);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
