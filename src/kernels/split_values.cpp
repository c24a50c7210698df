#include "kernels/split_values.hpp"

#include <algorithm>
#include <array>

#include "core/parallel.hpp"
#include "kernels/describe_stored.hpp"
#include "kernels/row_forms.hpp"

namespace tulle {
namespace {

constexpr index_t some_rows = 512;  // that one thread takes at a time

template <class T, offset O>
void make_room(const context& host, csr_piece<T, O>& piece, index_t rows, std::int64_t entries) {
  piece.rows = rows;
  piece.rowptr = buffer<O>(host, static_cast<std::size_t>(rows) + 1);
  piece.colind = buffer<index_t>(host, static_cast<std::size_t>(entries));
  piece.values = buffer<T>(host, static_cast<std::size_t>(entries));
}

template <offset O>
split_values<O> by_entry(const context& host, int threads, csr_view<double, O> a, const value_selection& selection) {
  split_values<O> out;
  buffer<O> before[2] = {buffer<O>(host, static_cast<std::size_t>(a.rows) + 1),
                         buffer<O>(host, static_cast<std::size_t>(a.rows) + 1)};
  /// Calls f(entry, whether it is a float) for those of a row.
  const auto look = [&](index_t row, const auto& f) {
    row_sizes sizes;
    for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) sizes.add(a.values[k], selection.below);
    const auto count = static_cast<double>(a.rowptr[row + 1] - a.rowptr[row]);
    const double room = room_of_row(selection, sizes.sum, count);
    for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) f(k, fits_f32(selection, a.values[k], room, count));
  };
  const form_findings all = parallel_reduce(
      threads, a.rows, some_rows, form_findings{},
      [&](index_t row, form_findings& mine) {
        std::array<O, 2> count{};
        row_loss loss;
        look(row, [&](O k, bool narrow) {
          ++count[narrow ? 0 : 1];
          if (narrow) loss.add(a.values[k], 1);
        });
        mine.lost = std::max(mine.lost, loss.share[0]);
        for (std::size_t k = 0; k < 2; ++k) {
          before[k].data()[row + 1] = count[k];
          if (count[k] > 0) mine.counts.add(k == 0 ? f32_form : whole_form, count[k]);
        }
      },
      [](form_findings& to, const form_findings& from) { to += from; });
  make_room(host, out.narrow, a.rows, all.counts.entries[f32_form]);
  make_room(host, out.wide, a.rows, all.counts.entries[whole_form]);
  for (auto& b : before) scan_counts(threads, b.data(), a.rows);
  out.narrow.rowptr = std::move(before[0]);
  out.wide.rowptr = std::move(before[1]);
  parallel_for(threads, a.rows, some_rows, [&](index_t row) {
    O to_narrow = out.narrow.rowptr.data()[row], to_wide = out.wide.rowptr.data()[row];
    look(row, [&](O k, bool narrow) {
      O& to = narrow ? to_narrow : to_wide;
      (narrow ? out.narrow.colind : out.wide.colind).data()[to] = a.colind[k];
      if (narrow) {
        out.narrow.values.data()[to] = static_cast<float>(a.values[k]);
      } else {
        out.wide.values.data()[to] = a.values[k];
      }
      ++to;
    });
  });
  out.stored = described(all);
  return out;
}

template <offset O>
void copy_values(csr_view<double, O> a, index_t row, bool narrow, split_values<O>& out, O to) {
  const double* from = a.values + a.rowptr[row];
  const auto count = static_cast<std::size_t>(a.rowptr[row + 1] - a.rowptr[row]);
  if (narrow) {
    std::transform(from, from + count, out.narrow.values.data() + to, [](double v) { return static_cast<float>(v); });
  } else {
    std::copy_n(from, count, out.wide.values.data() + to);
  }
}

template <offset O>
split_values<O> in_place(const context& host, int threads, csr_view<double, O> a, const row_forms& forms) {
  split_values<O> out;
  out.narrow.rowptr = buffer<O>(host, static_cast<std::size_t>(a.rows) + 1);
  out.narrow.values = buffer<float>(host, static_cast<std::size_t>(forms.all.counts.entries[f32_form]));
  out.wide.values = buffer<double>(host, static_cast<std::size_t>(forms.all.counts.entries[whole_form]));
  O* const before = out.narrow.rowptr.data();
  const auto is_narrow = [&](index_t row) { return forms.of_row.data()[row] == f32_form; };
  for (index_t row = 0; row < a.rows; ++row) before[row + 1] = is_narrow(row) ? a.rowptr[row + 1] - a.rowptr[row] : 0;
  scan_counts(threads, before, a.rows);
  parallel_for(threads, a.rows, some_rows, [&](index_t row) {
    copy_values(a, row, is_narrow(row), out, is_narrow(row) ? before[row] : a.rowptr[row] - before[row]);
  });
  out.stored = described(forms.all);
  return out;
}

/// Rows sorted by type; `composite`: with the columns of all in one array.
template <offset O>
split_values<O> sorted(const context& host, int threads, csr_view<double, O> a, const row_forms& forms,
                       bool composite) {
  const auto narrow_rows = static_cast<index_t>(forms.all.counts.rows[f32_form]);
  split_values<O> out;
  out.order = buffer<index_t>(host, static_cast<std::size_t>(a.rows));
  index_t next[3] = {
      narrow_rows, 0,
      narrow_rows + static_cast<index_t>(forms.all.counts.rows[whole_form])};  // of f64, f32, without entries
  for (index_t row = 0; row < a.rows; ++row)
    out.order.data()[next[std::min(forms.of_row.data()[row], row_form{2})]++] = row;
  make_room(host, out.narrow, composite ? a.rows : narrow_rows, forms.all.counts.entries[f32_form]);
  make_room(host, out.wide, a.rows - narrow_rows, forms.all.counts.entries[whole_form]);
  if (composite) out.narrow.colind = buffer<index_t>(host, static_cast<std::size_t>(a.nnz));
  const auto count_to = [&](O* rowptr, index_t first, index_t rows) {
    for (index_t i = 0; i < rows; ++i) {
      const index_t row = out.order.data()[first + i];
      rowptr[i + 1] = a.rowptr[row + 1] - a.rowptr[row];
    }
    scan_counts(threads, rowptr, rows);
  };
  count_to(out.narrow.rowptr.data(), 0, out.narrow.rows);
  count_to(out.wide.rowptr.data(), narrow_rows, out.wide.rows);
  parallel_for(threads, a.rows, some_rows, [&](index_t i) {
    const index_t row = out.order.data()[i];
    const bool narrow = i < narrow_rows;
    const O to = narrow ? out.narrow.rowptr.data()[i] : out.wide.rowptr.data()[i - narrow_rows];
    copy_values(a, row, narrow, out, to);
    index_t* columns = narrow ? out.narrow.colind.data() + to : out.wide.colind.data() + to;
    if (composite) columns = out.narrow.colind.data() + out.narrow.rowptr.data()[i];
    std::copy(a.colind + a.rowptr[row], a.colind + a.rowptr[row + 1], columns);
  });
  if (composite) {
    out.narrow.rows = narrow_rows;
    out.wide.rowptr = {};
    out.wide.colind = {};
  }
  out.stored = described(forms.all);
  return out;
}

}  // namespace

template <offset O>
split_values<O> split(const context& host, csr_view<double, O> a, const spmv_options& options, split_form form) {
  const int threads = threads_for(host, a);
  const value_selection selection = selection_for(threads, a, options);
  if (form == split_form::entries) return by_entry(host, threads, a, selection);
  const row_forms forms = choose_row_forms(host, threads, a, selection, false);
  if (form == split_form::dual) return in_place(host, threads, a, forms);
  return sorted(host, threads, a, forms, form == split_form::composite);
}

template split_values<std::int32_t> split(const context&, csr_view<double, std::int32_t>, const spmv_options&,
                                          split_form);
template split_values<std::int64_t> split(const context&, csr_view<double, std::int64_t>, const spmv_options&,
                                          split_form);

}  // namespace tulle
