#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/validate.hpp>
#include <tulle/ops/matrix.hpp>
#include <utility>

#include "formats/matrix_arrays.hpp"
#include "kernels/backends.hpp"
#include "ops/owned_csr.hpp"
#include "ops/vector_checks.hpp"

namespace tulle {
namespace {

/// The same matrix with offsets of the type.
matrix_ref fit_offsets(const context& ctx, matrix_ref a, offset_type type) {
  if (a.types.offset == type) return a;
  auto owned = std::make_shared<detail::own_array<offsets_buffer>>(detail::other_offsets(ctx, a), a.owner);
  a.rowptr = data_of(owned->first);
  a.types.offset = type;
  a.owner = std::move(owned);
  return a;
}

buffer<std::byte> values_for(const context& ctx, scalar_type type, std::size_t count) {
  return {ctx, count * size_of(type)};
}

matrix_ref make_csr(const context& ctx, scalar_type type, shape size, entry_map pattern, buffer<std::byte> values) {
  if (offsets_for(static_cast<std::int64_t>(pattern.colind.size())) < type_of(pattern.rowptr)) {
    matrix_ref wide;
    wide.rows = size.rows;
    wide.types.offset = offset_type::i64;
    wide.rowptr = data_of(pattern.rowptr);
    pattern.rowptr = detail::other_offsets(ctx, wide);
  }
  return detail::csr_of(ctx, size, type, std::move(pattern.rowptr), std::move(pattern.colind), std::move(values));
}

/// The pattern with the values at its positions in A; or with the sums of its segments, of which there is one more.
matrix_ref with_values_of(const context& ctx, const matrix_ref& a, shape size, entry_map pattern,
                          const std::int64_t* segments, const std::int64_t* positions) {
  buffer<std::byte> values = values_for(ctx, a.types.value, pattern.colind.size());
  matrices_of(ctx.backend())
      .gather(ctx, {.type = a.types.value,
                    .count = static_cast<std::int64_t>(pattern.colind.size()),
                    .segments = segments,
                    .positions = positions,
                    .from = a.values,
                    .to = values.data()});
  return make_csr(ctx, a.types.value, size, std::move(pattern), std::move(values));
}
matrix_ref with_values_of(const context& ctx, const matrix_ref& a, shape size, entry_map pattern) {
  const std::int64_t* positions = pattern.positions.data();
  return with_values_of(ctx, a, size, std::move(pattern), nullptr, positions);
}

matrix_ref csr_on(const context& ctx, std::string_view name, const matrix_ref& a) {
  check_matrix(ctx, name, a);
  return to_csr(ctx, a);
}

/// What was given, as a result: owned, with offsets that fit.
matrix_ref result(const context& ctx, const matrix_ref& a) {
  return fit_offsets(ctx, a.owner ? a : clone(ctx, a), offsets_for(a.nnz));
}

/// Whether the columns of every row increase strictly. Throws INVALID_STRUCTURE.
bool is_increasing(const context& ctx, std::string_view name, const matrix_ref& a) {
  const pattern_counts found = to_vector(ctx, matrices_of(ctx.backend()).inspect(ctx, {&a, 1}))[0];
  if (found.sound()) return found.increasing();
  dispatch<type_set::all>(pattern_types(a.types), [&]<class T, class O>() {
    throw error(status::invalid_structure, fmt::format("{}: {}", name, validate(ctx, a.as<T, O>()).message()));
  });
  return false;
}

/// Whether the columns of every row ascend, some of them more than once perhaps. Throws INVALID_STRUCTURE.
bool is_ascending(const context& ctx, std::string_view name, const matrix_ref& a) {
  return is_increasing(ctx, name, a) || dispatch<type_set::all>(pattern_types(a.types), [&]<class T, class O>() {
           return validate(ctx, a.as<T, O>(), {.sorted = true}).ok();
         });
}

entry_map transposed_pattern_of(const context& ctx, const matrix_ref& a, bool twice) {
  return dispatch<type_set::all>(pattern_types(a.types), [&]<class T, class O>() -> entry_map {
    const auto& backend = formats_of<T, O>(ctx.backend());
    auto once = backend.transpose_pattern(ctx, a.as<T, O>(), nullptr);
    if (!twice) return {std::move(once.rowptr), std::move(once.colind), std::move(once.positions)};
    const csr_view<T, O> columns{a.cols,  a.rows,     static_cast<O>(a.nnz), once.rowptr.data(), once.colind.data(),
                                 nullptr, ctx.space()};
    auto back = backend.transpose_pattern(ctx, columns, once.positions.data());
    return {std::move(back.rowptr), std::move(back.colind), std::move(back.positions)};
  });
}
entry_map sorted_pattern(const context& ctx, const matrix_ref& a) { return transposed_pattern_of(ctx, a, true); }

/// A CSR of values of a further type in another format: their places are converted, as f64, and the values follow.
matrix_ref further_csr(const context& ctx, const matrix_ref& a) {
  const further_kernels& backend = further_kernels_of(ctx.backend());
  const std::int64_t places = arrays_of(ctx, a).values;
  buffer<double> numbers(ctx, static_cast<std::size_t>(places));
  backend.number(ctx, places, numbers.data());
  matrix_ref numbered = a;
  numbered.types.value = scalar_type::f64;
  numbered.values = numbers.data();
  const matrix_ref from = to_csr(ctx, numbered);
  buffer<std::int64_t> positions(ctx, static_cast<std::size_t>(from.nnz));
  backend.positions(ctx, from.nnz, static_cast<const double*>(from.values), positions.data());
  auto values = values_for(ctx, a.types.value, static_cast<std::size_t>(from.nnz));
  matrices_of(ctx.backend())
      .gather(ctx, {.type = a.types.value, .count = from.nnz, .positions = positions.data(), .from = a.values, .to = values.data()});
  auto held = std::make_shared<detail::own_array<buffer<std::byte>>>(std::move(values), from.owner);
  matrix_ref out = from;
  out.types.value = a.types.value;
  out.values = held->first.data();
  out.owner = std::move(held);
  return out;
}

entry_selection all_of(const matrix_ref& a) { return {0, a.rows, 0, a.cols}; }

matrix_ref sum_of_duplicates(const context& ctx, std::string_view name, const matrix_ref& a) {
  if (is_increasing(ctx, name, a)) return a;
  const entry_map sorted = sorted_pattern(ctx, a);
  matrix_ref pattern = a;
  pattern.rowptr = data_of(sorted.rowptr);
  pattern.colind = sorted.colind.data();
  entry_selection distinct = all_of(a);
  distinct.distinct = true;
  entry_map folded = matrices_of(ctx.backend()).select(ctx, pattern, distinct);
  const std::int64_t* segments = folded.positions.data();
  return with_values_of(ctx, a, a.dimensions(), std::move(folded), segments, sorted.positions.data());
}

void check_sum(double alpha, const matrix_ref& a, double beta, const matrix_ref& b) {
  if (a.dimensions() != b.dimensions()) {
    throw error(status::invalid_dimensions, fmt::format("A is {} x {}, B is {} x {}", a.rows, a.cols, b.rows, b.cols));
  }
  if (a.types.value != b.types.value) {
    throw error(status::invalid_argument,
                fmt::format("A holds {} values, B {} ones", name(a.types.value), name(b.types.value)));
  }
  detail::check_factor("alpha", alpha, a.types.value);
  detail::check_factor("beta", beta, a.types.value);
}

matrix_ref scale(const context& ctx, const matrix_ref& a, const const_vector_ref& factors, bool by_column) {
  const matrix_ref from = result(ctx, csr_on(ctx, "A", a));
  const detail::vector_rules rules{ctx.space(), ctx.device(), from.types.value, from.dimensions()};
  by_column ? rules.check_columns("factors", factors) : rules.check_rows("factors", factors);
  auto held = std::make_shared<detail::own_array<buffer<std::byte>>>(
      values_for(ctx, from.types.value, static_cast<std::size_t>(from.nnz)), from.owner);
  matrices_of(ctx.backend()).scale(ctx, from, {by_column, factors.data, factors.stride}, held->first.data());
  matrix_ref out = from;
  out.values = held->first.data();
  out.owner = std::move(held);
  return out;
}

void check_range(std::string_view name, index_range range, index_t end) {
  if (range.begin < 0 || range.begin > range.end || range.end > end) {
    throw error(status::invalid_argument,
                fmt::format("{} {} to {}: must be a range within 0 to {}", name, range.begin, range.end, end));
  }
}

/// The order in the memory of the context; throws unless it is of n.
std::optional<permutation> order_on(const context& ctx, const permutation& order, index_t n, std::string_view unit) {
  if (order.size() != n) {
    throw error(status::invalid_dimensions, fmt::format("an order of {} for the {} {} of A", order.size(), n, unit));
  }
  const bool here = order.ctx().space() == ctx.space() && order.ctx().device() == ctx.device();
  return here ? std::nullopt : std::optional(order.on(ctx));
}

matrix_ref permuted(const context& ctx, const matrix_ref& a, const permutation* rows, const permutation* columns) {
  const matrix_ref from = csr_on(ctx, "A", a);
  std::optional<permutation> own_rows, own_columns;
  if (rows != nullptr && (own_rows = order_on(ctx, *rows, a.rows, "rows"))) rows = &*own_rows;
  if (columns != nullptr && (own_columns = order_on(ctx, *columns, a.cols, "columns"))) columns = &*own_columns;
  matrix_order order;
  if (rows != nullptr) order.rows = rows->order().data();
  if (columns != nullptr) {
    order.inverse_columns = columns->inverse_order().data();
    order.sorted = is_ascending(ctx, "A", from);
  }
  return with_values_of(ctx, from, from.dimensions(), reorders_of(ctx.backend()).permute(ctx, from, order));
}

}  // namespace

matrix_ref clone(const context& ctx, const matrix_ref& a) {
  if (a.space == ctx.space()) check_matrix(ctx, "A", a);
  return copied(ctx, a);
}

matrix_ref to_csr(const context& ctx, const matrix_ref& a) {
  check_matrix(ctx, "A", a);
  const matrix_ref here = placed(ctx, a);
  if (a.format == matrix_format::csr) return here;
  if (is_further(a.types.value)) return further_csr(ctx, here);
  const bool has_offsets = a.format == matrix_format::csc || a.format == matrix_format::bsr;
  const type_key types{a.types.value, has_offsets ? a.types.offset : offsets_for(a.nnz)};
  return dispatch<type_set::all>(types, [&]<class T, class O>() -> matrix_ref {
    switch (a.format) {
      case matrix_format::csc:
        return to_csr(ctx, here.as_csc<T, O>());
      case matrix_format::coo:
        return to_csr<O>(ctx, here.as_coo<T>());
      case matrix_format::ell:
        return to_csr<O>(ctx, here.as_ell<T>());
      case matrix_format::sell:
        return to_csr<O>(ctx, here.as_sell<T>());
      case matrix_format::bin_bsr:
        return to_csr<O>(ctx, here.as_bin_bsr<T>());
      default:
        return to_csr(ctx, here.as_bsr<T, O>());
    }
  });
}

matrix_ref identity(const context& ctx, index_t n, scalar_type type) {
  if (n < 0) throw error(status::invalid_dimensions, fmt::format("n = {}: must not be negative", n));
  const matrix_ref one = detail::new_csr(ctx, {n, n}, n, {type, offsets_for(n)});
  const csr_sink to = detail::sink_of(one);
  matrices_of(ctx.backend()).identity(ctx, n, one.types, to.rowptr, to.colind, to.values);
  return one;
}

matrix_ref add(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b) {
  check_sum(alpha, a, beta, b);
  matrix_ref first = sum_of_duplicates(ctx, "A", csr_on(ctx, "A", a));
  matrix_ref second = sum_of_duplicates(ctx, "B", csr_on(ctx, "B", b));
  const offset_type offsets = offsets_for(first.nnz + second.nnz);
  first = fit_offsets(ctx, std::move(first), offsets);
  second = fit_offsets(ctx, std::move(second), offsets);
  const matrix_kernels& backend = matrices_of(ctx.backend());
  entry_map pattern = backend.add_pattern(ctx, first, second);
  buffer<std::byte> values = values_for(ctx, first.types.value, pattern.colind.size());
  matrix_ref c = first;
  c.nnz = static_cast<std::int64_t>(pattern.colind.size());
  c.rowptr = data_of(pattern.rowptr);
  c.colind = pattern.colind.data();
  backend.add_values(ctx, alpha, first, beta, second, c, values.data());
  return make_csr(ctx, c.types.value, c.dimensions(), std::move(pattern), std::move(values));
}

void add_into(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
              const matrix_ref& c, const vector_ref& values) {
  check_sum(alpha, a, beta, b);
  for (const auto& [name, m] : {std::pair<std::string_view, const matrix_ref&>{"A", a}, {"B", b}, {"C", c}}) {
    check_matrix(ctx, name, m, false);
    if (m.format != matrix_format::csr || m.space != ctx.space() || m.types != c.types ||
        m.dimensions() != c.dimensions()) {
      throw error(status::invalid_argument,
                  fmt::format("{} must be CSR in the context's memory, {} x {} with {} values and {} offsets like C",
                              name, c.rows, c.cols, tulle::name(c.types.value), tulle::name(c.types.offset)));
    }
  }
  detail::vector_rules{ctx.space(), ctx.device(), c.types.value}.check_size("values", values, c.nnz);
  detail::require_no_stride("add_into", {{"values", values}});
  matrices_of(ctx.backend()).add_values(ctx, alpha, a, beta, b, c, values.data);
}

transposition transpose(const context& ctx, const matrix_ref& a) {
  const matrix_ref from = csr_on(ctx, "A", a);
  entry_map turned = transposed_pattern_of(ctx, from, false);
  buffer<std::int64_t> positions = std::move(turned.positions);
  matrix_ref out = with_values_of(ctx, from, {from.cols, from.rows}, std::move(turned), nullptr, positions.data());
  return {std::move(out), std::move(positions)};
}

void diagonal(const context& ctx, const matrix_ref& a, const vector_ref& out) {
  const matrix_ref from = csr_on(ctx, "A", a);
  detail::vector_rules{ctx.space(), ctx.device(), from.types.value}.check_size("out", out,
                                                                               std::min(from.rows, from.cols));
  matrices_of(ctx.backend()).diagonal(ctx, from, out.data, out.stride);
}

matrix_ref scale_rows(const context& ctx, const matrix_ref& a, const const_vector_ref& factors) {
  return scale(ctx, a, factors, false);
}

matrix_ref scale_columns(const context& ctx, const matrix_ref& a, const const_vector_ref& factors) {
  return scale(ctx, a, factors, true);
}

matrix_ref extract(const context& ctx, const matrix_ref& a, index_range rows, index_range columns) {
  const matrix_ref from = csr_on(ctx, "A", a);
  check_range("rows", rows, a.rows);
  check_range("columns", columns, a.cols);
  const shape size{rows.end - rows.begin, columns.end - columns.begin};
  return with_values_of(
      ctx, from, size,
      matrices_of(ctx.backend()).select(ctx, from, {rows.begin, rows.end, columns.begin, columns.end}));
}

matrix_ref permute(const context& ctx, const matrix_ref& a, const permutation& rows, const permutation& columns) {
  return permuted(ctx, a, &rows, &columns);
}

matrix_ref permute_rows(const context& ctx, const matrix_ref& a, const permutation& rows) {
  return permuted(ctx, a, &rows, nullptr);
}

matrix_ref permute_symmetric(const context& ctx, const matrix_ref& a, const permutation& order) {
  return permuted(ctx, a, &order, &order);
}

matrix_ref sort(const context& ctx, const matrix_ref& a) {
  const matrix_ref from = csr_on(ctx, "A", a);
  if (is_increasing(ctx, "A", from)) return result(ctx, from);
  return with_values_of(ctx, from, from.dimensions(), sorted_pattern(ctx, from));
}

matrix_ref sum_duplicates(const context& ctx, const matrix_ref& a) {
  return result(ctx, sum_of_duplicates(ctx, "A", csr_on(ctx, "A", a)));
}

matrix_ref conjugate(const context& ctx, const matrix_ref& a) {
  const matrix_ref from = result(ctx, csr_on(ctx, "A", a));
  if (!is_complex(from.types.value)) return from;
  auto held = std::make_shared<detail::own_array<buffer<std::byte>>>(
      values_for(ctx, from.types.value, static_cast<std::size_t>(from.nnz)), from.owner);
  further_kernels_of(ctx.backend()).conjugate(ctx, from.types.value, from.nnz, from.values, held->first.data());
  matrix_ref out = from;
  out.values = held->first.data();
  out.owner = std::move(held);
  return out;
}

matrix_ref eliminate_zeros(const context& ctx, const matrix_ref& a) {
  const matrix_ref from = csr_on(ctx, "A", a);
  entry_selection nonzero = all_of(from);
  nonzero.nonzero = true;
  if (is_further(from.types.value)) {
    buffer<float> flags(ctx, static_cast<std::size_t>(from.nnz));
    further_kernels_of(ctx.backend()).nonzero(ctx, from.types.value, from.nnz, from.values, flags.data());
    matrix_ref flagged = from;
    flagged.types.value = scalar_type::f32;
    flagged.values = flags.data();
    return with_values_of(ctx, from, from.dimensions(), matrices_of(ctx.backend()).select(ctx, flagged, nonzero));
  }
  return with_values_of(ctx, from, from.dimensions(), matrices_of(ctx.backend()).select(ctx, from, nonzero));
}

}  // namespace tulle
