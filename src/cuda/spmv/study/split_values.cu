// Takes the values of a CSR apart by type. By entries: a warp counts those of a row that may be floats, and once it is
// known how many there are in the rows before, places them and the others in order. By rows: their forms are chosen
// (row_forms.cu), rows are put in order by scans, and a warp copies a row. Bytes: by entries those of the matrix and
// twice its values, by rows those of the matrix and of its values, and what is written.
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/row_forms.hpp"
#include "cuda/spmv/row_reading.cuh"
#include "cuda/spmv/study/split_values.hpp"
#include "kernels/describe_stored.hpp"

namespace tulle::cuda {
namespace {

template <class T, offset O>
void make_room(const context& ctx, csr_piece<T, O>& piece, index_t rows, std::int64_t entries) {
  piece.rows = rows;
  piece.rowptr = buffer<O>(ctx, static_cast<std::size_t>(rows) + 1);
  piece.colind = buffer<index_t>(ctx, static_cast<std::size_t>(entries));
  piece.values = buffer<T>(ctx, static_cast<std::size_t>(entries));
}

/// A value and its column, `at` of a piece; where columns are not stored there is no array of them.
template <class T>
struct piece_arrays {
  index_t* colind;
  T* values;

  __device__ void put(std::int64_t at, index_t column, double value) const {
    if (colind != nullptr) colind[at] = column;
    values[at] = static_cast<T>(value);
  }
};

template <class O>
__device__ double room_of(const csr_view<double, O>& a, std::int64_t row, const value_selection& selection) {
  const auto count = static_cast<double>(a.rowptr[row + 1] - a.rowptr[row]);
  return room_of_row(selection, sizes_of(a, row, selection.below).sum, count);
}

/// How many entries of each row may be floats.
template <class O>
__global__ void count_floats(csr_view<double, O> a, value_selection selection, std::int64_t* of_row,
                             form_findings* all) {
  form_findings mine;
  for_each_row(a.rows, [&](std::int64_t row) {
    const double room = room_of(a, row, selection);
    const std::int64_t count = a.rowptr[row + 1] - a.rowptr[row];
    std::int64_t floats = 0;
    row_loss loss;
    for_each_entry(a.rowptr, row, [&](std::int64_t k) {
      if (!fits_f32(selection, a.values[k], room, static_cast<double>(count))) return;
      ++floats;
      loss.add(a.values[k], 1);
    });
    floats = warp_sum(floats);
    mine.lost = max(mine.lost, warp_max(loss.share[0]));
    if (floats > 0) mine.counts.add(f32_form, floats);
    if (floats < count) mine.counts.add(whole_form, count - floats);
    if (lane_id() == 0) of_row[row] = floats;
  });
  if (lane_id() != 0) return;
  add_counts(&all->counts, mine.counts);
  raise(&all->lost, mine.lost);
}

/// `before`: floats in the rows before each.
template <class O>
__global__ void place_entries(csr_view<double, O> a, value_selection selection, const std::int64_t* before,
                              piece_arrays<float> narrow, piece_arrays<double> wide) {
  const unsigned below = lanes_before();
  for_each_row(a.rows, [&](std::int64_t row) {
    const double room = room_of(a, row, selection);
    const auto count = static_cast<double>(a.rowptr[row + 1] - a.rowptr[row]);
    std::int64_t to_narrow = before[row], to_wide = a.rowptr[row] - to_narrow;
    for (std::int64_t first = a.rowptr[row]; first < a.rowptr[row + 1]; first += 32) {
      const std::int64_t k = first + lane_id();
      const bool live = k < a.rowptr[row + 1];
      const double value = live ? a.values[k] : 0;
      const bool is_float = live && fits_f32(selection, value, room, count);
      const unsigned floats = __ballot_sync(full_warp, is_float), others = __ballot_sync(full_warp, live && !is_float);
      if (is_float) narrow.put(to_narrow + __popc(floats & below), a.colind[k], value);
      if (live && !is_float) wide.put(to_wide + __popc(others & below), a.colind[k], value);
      to_narrow += __popc(floats);
      to_wide += __popc(others);
    }
  });
}

template <offset O>
split_values<O> by_entry(const context& ctx, csr_view<double, O> a, const value_selection& selection) {
  buffer<std::int64_t> floats = zero_counts(ctx, a.rows);
  auto findings = device_value<form_findings>(ctx);
  const std::int64_t threads = std::int64_t{a.rows} * 32;
  launch_items(ctx, "split_values.count", count_floats<O>, threads, a, selection, floats.data(), findings.data());
  exclusive_scan(ctx, floats);
  const form_findings all = read_back(ctx, findings.data());
  split_values<O> out;
  make_room(ctx, out.narrow, a.rows, all.counts.entries[place_of(f32_form)]);
  make_room(ctx, out.wide, a.rows, all.counts.entries[place_of(whole_form)]);
  for_each_item(ctx, "split_values.rowptr", std::int64_t{a.rows} + 1,
                [rowptr = a.rowptr, before = floats.data(), narrow = out.narrow.rowptr.data(),
                 wide = out.wide.rowptr.data()] __device__(std::int64_t row) {
                  narrow[row] = static_cast<O>(before[row]);
                  wide[row] = static_cast<O>(rowptr[row] - before[row]);
                });
  launch_items(ctx, "split_values.place", place_entries<O>, threads, a, selection, floats.data(),
               piece_arrays<float>{out.narrow.colind.data(), out.narrow.values.data()},
               piece_arrays<double>{out.wide.colind.data(), out.wide.values.data()});
  out.stored = described(all);
  return out;
}

/// Row order[i] of A, or i, goes to `to[i]` of the floats and, behind them, the other values.
template <class O>
__global__ void copy_rows_kernel(csr_view<double, O> a, const index_t* order, const std::int64_t* to,
                                 std::int64_t floats, piece_arrays<float> narrow, piece_arrays<double> wide) {
  for_each_row(a.rows, [&](std::int64_t i) {
    const std::int64_t row = order == nullptr ? i : order[i];
    const bool is_float = to[i] < floats;
    const std::int64_t moved = to[i] - (is_float ? 0 : floats) - a.rowptr[row];
    for_each_entry(a.rowptr, row, [&](std::int64_t k) {
      if (is_float) {
        narrow.put(k + moved, a.colind[k], a.values[k]);
      } else {
        wide.put(k + moved, a.colind[k], a.values[k]);
      }
    });
  });
}

template <offset O>
void copy_rows(const context& ctx, csr_view<double, O> a, const index_t* order, const buffer<std::int64_t>& to,
               std::int64_t floats, piece_arrays<float> narrow, piece_arrays<double> wide) {
  launch_items(ctx, "split_values.copy", copy_rows_kernel<O>, std::int64_t{a.rows} * 32, a, order, to.data(), floats,
               narrow, wide);
}

template <offset O>
split_values<O> in_place(const context& ctx, csr_view<double, O> a, const row_forms& forms) {
  const std::int64_t floats = forms.all.counts.entries[place_of(f32_form)];
  split_values<O> out;
  out.narrow.rowptr = buffer<O>(ctx, static_cast<std::size_t>(a.rows) + 1);
  out.narrow.values = buffer<float>(ctx, static_cast<std::size_t>(floats));
  out.wide.values = buffer<double>(ctx, static_cast<std::size_t>(a.nnz - floats));
  buffer<std::int64_t> to = zero_counts(ctx, a.rows);
  for_each_item(ctx, "split_values.count", a.rows,
                [rowptr = a.rowptr, form = forms.of_row.data(), to = to.data()] __device__(std::int64_t row) {
                  to[row] = form[row] == f32_form ? rowptr[row + 1] - rowptr[row] : 0;
                });
  exclusive_scan(ctx, to);
  for_each_item(ctx, "split_values.rowptr", std::int64_t{a.rows} + 1,
                [rowptr = a.rowptr, rows = a.rows, floats, form = forms.of_row.data(), to = to.data(),
                 before = out.narrow.rowptr.data()] __device__(std::int64_t row) {
                  before[row] = static_cast<O>(to[row]);
                  if (row < rows && form[row] != f32_form) to[row] = floats + rowptr[row] - to[row];
                });
  copy_rows(ctx, a, nullptr, to, floats, {nullptr, out.narrow.values.data()}, {nullptr, out.wide.values.data()});
  out.stored = described(forms.all);
  return out;
}

/// The rows of A: f32 ones, f64 ones, those without entries, each in increasing order.
template <offset O>
buffer<index_t> sorted_rows(const context& ctx, csr_view<double, O> a, const row_forms& forms) {
  constexpr int high = 32;  // where f64 rows are counted
  buffer<std::int64_t> before = zero_counts(ctx, a.rows);
  for_each_item(ctx, "split_values.count_rows", a.rows,
                [form = forms.of_row.data(), before = before.data()] __device__(std::int64_t row) {
                  before[row] = form[row] == f32_form ? 1 : form[row] == whole_form ? std::int64_t{1} << high : 0;
                });
  exclusive_scan(ctx, before);
  buffer<index_t> order(ctx, static_cast<std::size_t>(a.rows));
  const std::int64_t f32_rows = forms.all.counts.rows[place_of(f32_form)],
                     f64_rows = forms.all.counts.rows[place_of(whole_form)];
  for_each_item(
      ctx, "split_values.sort", a.rows,
      [=, form = forms.of_row.data(), before = before.data(), order = order.data()] __device__(std::int64_t row) {
        const std::int64_t f32_before = before[row] & 0x7fffffff, f64_before = before[row] >> high;
        std::int64_t at = f32_before;
        if (form[row] == whole_form) at = f32_rows + f64_before;
        if (form[row] == any_form) at = f32_rows + f64_rows + row - f32_before - f64_before;
        order[at] = static_cast<index_t>(row);
      });
  return order;
}

template <offset O>
split_values<O> sorted(const context& ctx, csr_view<double, O> a, const row_forms& forms, bool composite) {
  const auto narrow_rows = static_cast<index_t>(forms.all.counts.rows[place_of(f32_form)]);
  const std::int64_t floats = forms.all.counts.entries[place_of(f32_form)];
  split_values<O> out;
  out.order = sorted_rows(ctx, a, forms);
  make_room(ctx, out.narrow, composite ? a.rows : narrow_rows, floats);
  make_room(ctx, out.wide, composite ? 0 : a.rows - narrow_rows, a.nnz - floats);
  if (composite) {
    out.narrow.colind = buffer<index_t>(ctx, static_cast<std::size_t>(a.nnz));
    out.wide.rowptr = {};
    out.wide.colind = {};
  }
  buffer<std::int64_t> to = zero_counts(ctx, a.rows);
  for_each_item(ctx, "split_values.count", a.rows,
                [rowptr = a.rowptr, order = out.order.data(), to = to.data()] __device__(std::int64_t i) {
                  to[i] = rowptr[order[i] + 1] - rowptr[order[i]];
                });
  exclusive_scan(ctx, to);
  for_each_item(
      ctx, "split_values.rowptr", std::int64_t{a.rows} + 1,
      [=, to = to.data(), narrow = out.narrow.rowptr.data(), wide = out.wide.rowptr.data()] __device__(std::int64_t i) {
        if (composite || i <= narrow_rows) narrow[i] = static_cast<O>(to[i]);
        if (!composite && i >= narrow_rows) wide[i - narrow_rows] = static_cast<O>(to[i] - floats);
      });
  index_t* const of_wide = composite ? out.narrow.colind.data() + floats : out.wide.colind.data();
  copy_rows(ctx, a, out.order.data(), to, floats, {out.narrow.colind.data(), out.narrow.values.data()},
            {of_wide, out.wide.values.data()});
  if (composite) out.narrow.rows = narrow_rows;
  out.stored = described(forms.all);
  return out;
}

}  // namespace

template <offset O>
split_values<O> split(const context& ctx, csr_view<double, O> a, const spmv_options& options, split_form form) {
  const device_guard guard(ctx.device());
  const value_selection selection = selection_for(ctx, a, options);
  if (form == split_form::entries) return by_entry(ctx, a, selection);
  const row_forms forms = choose_row_forms(ctx, a, selection, false);
  if (form == split_form::dual) return in_place(ctx, a, forms);
  return sorted(ctx, a, forms, form == split_form::composite);
}

template split_values<std::int32_t> split(const context&, csr_view<double, std::int32_t>, const spmv_options&,
                                          split_form);
template split_values<std::int64_t> split(const context&, csr_view<double, std::int64_t>, const spmv_options&,
                                          split_form);

}  // namespace tulle::cuda
