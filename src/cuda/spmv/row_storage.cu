// In which storage the values of each row keep a promise about their error (Graillat, Jezequel, Mary, Molina: Adaptive
// precision sparse matrix-vector product and its application to Krylov solvers, SISC 46, 2024; here whole rows are
// stored alike). A warp takes rows a grid apart; a lane adds what every 32nd entry would lose. Bytes: those of the
// values, twice where the norm of the matrix is asked for.
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/row_storage.hpp"

namespace tulle::cuda {
namespace {

struct storage_counts {
  unsigned long long rows[3];
  unsigned long long entries[3];
};

/// f(row, loss) in the first lane, for every row of the warp.
template <class O, class F>
__device__ void for_each_loss(csr_view<double, O> a, double tolerance, F f) {
  const std::int64_t step = grid_stride() / 32;
  for (std::int64_t row = grid_thread() / 32; row < a.rows; row += step) {
    row_loss mine;
    for (std::int64_t k = std::int64_t{a.rowptr[row]} + lane_id(); k < a.rowptr[row + 1]; k += 32)
      mine.add(a.values[k], tolerance);
    row_loss all;
    all.sum = warp_sum(mine.sum);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      all.lost[k] = warp_sum(mine.lost[k]);
      all.beyond[k] = __any_sync(full_warp, mine.beyond[k] ? 1 : 0) != 0;
    }
    if (lane_id() == 0) f(row, all);
  }
}

/// The largest row sum of |a|, as the bits of a number that is not negative.
template <class O>
__global__ void largest_row_sum(csr_view<double, O> a, unsigned long long* norm) {
  double most = 0;
  for_each_loss(a, 0, [&](std::int64_t, const row_loss& loss) { most = max(most, loss.sum); });
  if (lane_id() == 0) atomicMax(norm, static_cast<unsigned long long>(__double_as_longlong(most)));
}

template <class O>
__global__ void choose_storage(csr_view<double, O> a, value_tolerance t, const double* norm, value_storage* of_row,
                               storage_counts* counts) {
  storage_counts mine{};
  for_each_loss(a, t.tolerance, [&](std::int64_t row, const row_loss& loss) {
    const std::int64_t entries = a.rowptr[row + 1] - a.rowptr[row];
    const value_storage s = loss.narrowest(t, *norm, static_cast<double>(entries));
    of_row[row] = s;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (k != static_cast<int>(s)) continue;
      ++mine.rows[k];
      mine.entries[k] += static_cast<unsigned long long>(entries);
    }
  });
  if (lane_id() != 0) return;
  for (int k = 0; k < 3; ++k) {
    if (mine.rows[k] == 0) continue;
    atomicAdd(&counts->rows[k], mine.rows[k]);
    atomicAdd(&counts->entries[k], mine.entries[k]);
  }
}

}  // namespace

template <offset O>
row_storages choose_row_storage(const context& ctx, csr_view<double, O> a, const value_tolerance& t) {
  row_storages out{buffer<value_storage>(ctx, static_cast<std::size_t>(a.rows))};
  if (a.rows == 0) return out;
  const device_guard guard(ctx.device());
  auto norm = device_value<double>(ctx);
  auto counts = device_value<storage_counts>(ctx);
  const std::int64_t threads = std::int64_t{a.rows} * 32;
  if (t.bound == error_bound::norm) {
    launch_items(ctx, "row_storage.norm", largest_row_sum<O>, threads, a,
                 reinterpret_cast<unsigned long long*>(norm.data()));
  }
  launch_items(ctx, "row_storage.choose", choose_storage<O>, threads, a, t, norm.data(), out.of_row.data(),
               counts.data());
  const storage_counts found = read_back(ctx, counts.data());
  for (int k = 0; k < 3; ++k) {
    out.rows[k] = static_cast<std::int64_t>(found.rows[k]);
    out.entries[k] = static_cast<std::int64_t>(found.entries[k]);
  }
  return out;
}

template row_storages choose_row_storage(const context&, csr_view<double, std::int32_t>, const value_tolerance&);
template row_storages choose_row_storage(const context&, csr_view<double, std::int64_t>, const value_tolerance&);

}  // namespace tulle::cuda
