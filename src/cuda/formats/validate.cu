// Validation: offsets first, since entries are found through them, then entries in equal shares. The first defect is
// the smallest packed number (position, kind).
#include <limits>
#include <type_traits>

#include "core/instantiate.hpp"
#include "cuda/formats/formats.hpp"
#include "cuda/formats/statistics.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

constexpr unsigned long long nothing_found = std::numeric_limits<unsigned long long>::max();
constexpr int kind_bits = 3;

/// Looks for rowptr[0] = 0, ascending, never past nnz, and nnz at the end; the row of the first defect plus 1 (0 in a
/// matrix without rows). Offsets that end below nnz are a defect of the last row.
template <class O>
void check_offsets(const context& ctx, index_t rows, const O* rowptr, O nnz, unsigned long long* first) {
  for_each_item(ctx, "check_offsets", std::int64_t{rows} + 1, [=] __device__(std::int64_t r) {
    if (r == 0 && rowptr[0] != 0) atomicMin(first, rows > 0 ? 1ull : 0ull);
    if (r == rows) {
      if (rowptr[r] != nnz) atomicMin(first, static_cast<unsigned long long>(rows));
    } else if (rowptr[r + 1] < rowptr[r] || rowptr[r + 1] > nnz) {
      atomicMin(first, static_cast<unsigned long long>(r + 1));
    }
  });
}

template <class T, class O>
__device__ bool starts_row(const csr_view<T, O>& a, std::int64_t k) {
  return a.rowptr[row_of(a.rowptr, 0, a.rows, k)] == k;
}

/// The most serious defect of entry k.
template <class T, class O>
__device__ data_status inspect(const csr_view<T, O>& a, std::int64_t k, validate_options options) {
  const index_t column = a.colind[k];
  if (column < 0 || column >= a.cols) return data_status::index_out_of_range;
  if (k > 0 && (options.duplicates || options.sorted)) {
    const index_t before = a.colind[k - 1];
    if (options.duplicates && column == before && !starts_row(a, k)) return data_status::duplicate;
    if (options.sorted && column < before && !starts_row(a, k)) return data_status::unsorted;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (options.finite && isnan(a.values[k])) return data_status::nan;
    if (options.finite && isinf(a.values[k])) return data_status::inf;
  }
  return data_status::success;
}

template <class T, class O>
__global__ void check_entries(csr_view<T, O> a, validate_options options, unsigned long long* first) {
  for (std::int64_t k = grid_thread(); k < a.nnz; k += grid_stride()) {
    const data_status what = inspect(a, k, options);
    if (what == data_status::success) continue;
    atomicMin(first, static_cast<unsigned long long>(k) << kind_bits | static_cast<unsigned long long>(what));
    return;  // later entries of this thread come after it
  }
}

/// The results of `inspect`. The first two are smallest packed numbers, as in `validate`.
struct inspected {
  unsigned long long bad_offset = nothing_found;
  unsigned long long bad_entry = nothing_found;
  access_sums accesses;
  gather_sums gathers;
};

}  // namespace

template <scalar T, offset O>
validation validate(const context& ctx, csr_view<T, O> a, validate_options options) {
  auto first = device_value<unsigned long long>(ctx, 0xff);
  check_offsets(ctx, a.rows, a.rowptr, a.nnz, first.data());
  const unsigned long long bad_offset = read_back(ctx, first.data());
  if (bad_offset != nothing_found) return {data_status::invalid_offsets, static_cast<std::int64_t>(bad_offset) - 1, -1};

  launch_items(ctx, "check_entries", check_entries<T, O>, a.nnz, a, options, first.data());
  const unsigned long long found = read_back(ctx, first.data());
  if (found == nothing_found) return {};
  const auto entry = static_cast<std::int64_t>(found >> kind_bits);
  auto row = device_value<index_t>(ctx);
  for_each_item(ctx, "find_row", 1,
                [=, row = row.data()] __device__(std::int64_t) { *row = row_of(a.rowptr, 0, a.rows, entry); });
  return {static_cast<data_status>(found & ((1ull << kind_bits) - 1)), read_back(ctx, row.data()), entry};
}

/// One wait for the device, and a second for large matrices.
template <scalar T, offset O>
inspection inspect(const context& ctx, csr_view<T, O> a) {
  constexpr std::int64_t large = 2'500'000;
  buffer<inspected> on_device(ctx, 1);
  inspected* const out = on_device.data();
  for_each_item(ctx, "start_inspection", 1, [=] __device__(std::int64_t) { *out = {}; });
  check_offsets(ctx, a.rows, a.rowptr, a.nnz, &out->bad_offset);
  add_row_lengths(ctx, a.rows, a.rowptr, &out->accesses);
  if (a.nnz >= least_sampled) add_accesses(ctx, a.rows, a.nnz, a.rowptr, a.colind, &out->accesses);
  launch_items(ctx, "check_entries", check_entries<T, O>, a.nnz, a, validate_options{}, &out->bad_entry);
  const std::int64_t sampled = a.nnz >= large ? add_gathers(ctx, a.nnz, a.colind, &out->gathers) : 1;
  const inspected seen = read_back(ctx, out);
  if (seen.bad_offset != nothing_found || seen.bad_entry != nothing_found) return {cuda::validate(ctx, a, {}), {}};
  csr_stats s;
  s.rows = a.rows;
  s.cols = a.cols;
  s.nnz = a.nnz;
  s.mean = a.rows == 0 ? 0 : static_cast<double>(a.nnz) / a.rows;
  set_accesses(seen.accesses, s);
  set_gathers(seen.gathers, sampled, s);
  constexpr double alike = 16;  // blocks need rows of similar length, and sampling a very long row takes long
  if (a.nnz >= large && s.skew < alike) rough_block_fill(ctx, a.rowptr, a.colind, s);
  return {{}, s};
}

#define TULLE_INSTANTIATE(T, O)                                      \
  template inspection inspect<T, O>(const context&, csr_view<T, O>); \
  template validation validate<T, O>(const context&, csr_view<T, O>, validate_options);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda
