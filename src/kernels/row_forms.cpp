#include "kernels/row_forms.hpp"

#include <numeric>
#include <vector>

#include "core/parallel.hpp"

namespace tulle {
namespace {

constexpr index_t some_rows = 512;  // that one thread takes at a time

template <offset O>
row_sizes sizes_of(const csr_view<double, O>& a, index_t row, double below) {
  row_sizes out;
  for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) out.add(a.values[k], below);
  return out;
}

template <offset O>
double largest_row_sum(int threads, const csr_view<double, O>& a) {
  return parallel_reduce(
      threads, a.rows, some_rows, 0.0,
      [&](index_t row, double& most) { most = std::max(most, sizes_of(a, row, 0).sum); },
      [](double& all, double mine) { all = std::max(all, mine); });
}

/// Of |a|, over all finite ones; the same whatever the number of threads.
template <offset O>
double mean_size(int threads, const csr_view<double, O>& a) {
  constexpr std::int64_t block = 1 << 16;
  const std::int64_t nnz = a.nnz;
  std::vector<double> sums(static_cast<std::size_t>((nnz + block - 1) / block));
  parallel_for(threads, static_cast<std::int64_t>(sums.size()), 1, [&](std::int64_t i) {
    row_sizes all;
    for (std::int64_t k = i * block; k < std::min(nnz, (i + 1) * block); ++k) {
      all.add(a.values[k] / static_cast<double>(nnz), 0);  // a sum of large ones stays finite
    }
    sums[static_cast<std::size_t>(i)] = all.sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

template <offset O>
value_selection selection_for(int threads, csr_view<double, O> a, const spmv_options& options) {
  return selection_of(
      options, [&] { return mean_size(threads, a); }, [&] { return largest_row_sum(threads, a); });
}

template <offset O>
row_forms choose_row_forms(const context& host, int threads, csr_view<double, O> a, const value_selection& selection,
                           bool halves) {
  row_forms out{buffer<row_form>(host, static_cast<std::size_t>(a.rows))};
  out.all = parallel_reduce(
      threads, a.rows, some_rows, form_findings{},
      [&](index_t row, form_findings& mine) {
        const row_sizes sizes = sizes_of(a, row, selection.below);
        const row_form half = halves ? f16_form_for(sizes.largest) : whole_form;
        const double scale = half == whole_form ? 1 : static_cast<double>(f16_scale(half));
        row_loss loss;
        for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) loss.add(a.values[k], scale);
        const std::int64_t count = a.rowptr[row + 1] - a.rowptr[row];
        const row_form form = narrowest_form(selection, sizes, loss, half, count);
        out.of_row.data()[row] = form;
        if (form == any_form) return;
        mine.counts.add(form, count);
        if (form != whole_form) mine.lost = std::max(mine.lost, loss.share[form == f32_form ? 0 : 1]);
      },
      [](form_findings& to, const form_findings& from) { to += from; });
  return out;
}

#define TULLE_INSTANTIATE(O)                                                             \
  template value_selection selection_for(int, csr_view<double, O>, const spmv_options&); \
  template row_forms choose_row_forms(const context&, int, csr_view<double, O>, const value_selection&, bool);
TULLE_INSTANTIATE(std::int32_t)
TULLE_INSTANTIATE(std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle
