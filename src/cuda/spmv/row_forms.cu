// In which form the values of each row keep a promise about their error (Graillat, Jezequel, Mary, Molina: Adaptive
// precision sparse matrix-vector product and its application to Krylov solvers, SISC 46, 2024; here whole rows are
// stored alike), or what a rule of size makes of them. A warp takes rows a grid apart: it reads their sizes, and then
// what they would lose. Bytes: those of the values, twice where the norm or the mean is asked for.
#include <numeric>
#include <vector>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/row_forms.hpp"
#include "cuda/spmv/row_reading.cuh"

namespace tulle::cuda {
namespace {

constexpr std::int64_t together = 1 << 13;  // values that one warp adds up

template <class O>
__global__ void largest_row_sum(csr_view<double, O> a, double* norm) {
  double most = 0;
  for_each_row(a.rows, [&](std::int64_t row) { most = max(most, sizes_of(a, row, 0).sum); });
  if (lane_id() == 0) raise(norm, most);
}

/// Of |a| / count, over finite ones.
__global__ void sum_sizes(const double* values, std::int64_t count, double* sums) {
  const std::int64_t first = grid_thread() / 32 * together;
  if (first >= count) return;  // whole warps
  row_sizes mine;
  for (std::int64_t k = first + lane_id(); k < min(first + together, count); k += 32) {
    mine.add(values[k] / static_cast<double>(count), 0);
  }
  const double sum = warp_sum(mine.sum);
  if (lane_id() == 0) sums[first / together] = sum;
}

template <class O>
__global__ void choose_forms(csr_view<double, O> a, value_selection selection, bool halves, row_form* of_row,
                             form_findings* all) {
  form_findings mine;
  for_each_row(a.rows, [&](std::int64_t row) {
    const row_sizes sizes = sizes_of(a, row, selection.below);
    const row_form half = halves ? f16_form_for(sizes.largest) : whole_form;
    const double scale = half == whole_form ? 1 : static_cast<double>(f16_scale(half));
    row_loss loss;
    for_each_entry(a.rowptr, row, [&](std::int64_t k) { loss.add(a.values[k], scale); });
    loss = of_all_lanes(loss);
    const std::int64_t count = a.rowptr[row + 1] - a.rowptr[row];
    const row_form form = narrowest_form(selection, sizes, loss, half, count);
    if (lane_id() == 0) of_row[row] = form;
    if (form == any_form) return;
    mine.counts.add(form, count);
    if (form != whole_form) mine.lost = max(mine.lost, loss.share[form == f32_form ? 0 : 1]);
  });
  if (lane_id() != 0) return;
  add_counts(&all->counts, mine.counts);
  if (mine.lost > 0) raise(&all->lost, mine.lost);
}

template <offset O>
double norm_of(const context& ctx, csr_view<double, O> a) {
  auto norm = device_value<double>(ctx);
  launch_items(ctx, "row_forms.norm", largest_row_sum<O>, std::int64_t{a.rows} * 32, a, norm.data());
  return read_back(ctx, norm.data());
}

/// Of |a|, over all finite ones.
double mean_size(const context& ctx, const double* values, std::int64_t count) {
  const std::int64_t parts = ceil_div(count, together);
  buffer<double> sums(ctx, static_cast<std::size_t>(parts));
  launch("row_forms.mean", sum_sizes, threads_for(parts * 32), native(ctx), values, count, sums.data());
  std::vector<double> on_host(sums.size());
  copy_bytes(ctx, on_host.data(), memory_space::host, sums.data(), memory_space::device, sums.bytes());
  return std::accumulate(on_host.begin(), on_host.end(), 0.0);
}

}  // namespace

template <offset O>
value_selection selection_for(const context& ctx, csr_view<double, O> a, const spmv_options& options) {
  const device_guard guard(ctx.device());
  return selection_of(
      options, [&] { return mean_size(ctx, a.values, a.nnz); }, [&] { return norm_of(ctx, a); });
}

template <offset O>
row_forms choose_row_forms(const context& ctx, csr_view<double, O> a, const value_selection& selection, bool halves) {
  row_forms out{buffer<row_form>(ctx, static_cast<std::size_t>(a.rows))};
  const device_guard guard(ctx.device());
  auto findings = device_value<form_findings>(ctx);
  launch_items(ctx, "row_forms.choose", choose_forms<O>, std::int64_t{a.rows} * 32, a, selection, halves,
               out.of_row.data(), findings.data());
  out.all = read_back(ctx, findings.data());
  return out;
}

#define TULLE_INSTANTIATE(O)                                                                        \
  template value_selection selection_for(const context&, csr_view<double, O>, const spmv_options&); \
  template row_forms choose_row_forms(const context&, csr_view<double, O>, const value_selection&, bool);
TULLE_INSTANTIATE(std::int32_t)
TULLE_INSTANTIATE(std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda
