#include "ops/hidden_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tulle/formats/convert.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/reorder/orderings.hpp>
#include <unordered_set>

#include "core/quantity.hpp"
#include "kernels/backends.hpp"

namespace tulle::detail {
namespace {

constexpr index_t probed_places = 32;  // of rows side by side, and of rows around one row
constexpr index_t rows_of_a_place = 128;
constexpr index_t columns_of_a_row = 64;  // looked at
constexpr index_t sector_values = 4;

/// Some rows, and how much of x they touch.
struct place {
  std::vector<index_t> queue;  // rows in the order in which they were found
  std::size_t taken = 0;       // of them, whose columns are known
  std::unordered_set<index_t> columns;
  std::int64_t entries = 0;

  /// The columns of the next row; those that are new become rows to take where the place grows.
  void take(const index_t* row, bool grows) {
    ++taken;
    for (index_t k = 0; k < columns_of_a_row && row[k] >= 0; ++k) {
      ++entries;
      const index_t unit = grows ? row[k] : row[k] / sector_values;
      if (!columns.insert(unit).second || !grows) continue;
      if (queue.size() < rows_of_a_place && std::ranges::find(queue, unit) == queue.end()) queue.push_back(unit);
    }
  }
};

/// Takes rows until no place has any left, all places together.
void explore(const context& ctx, const matrix_ref& a, std::span<place> places, bool grow) {
  for (;;) {
    std::vector<index_t> rows;
    for (const place& p : places) {
      rows.insert(rows.end(), p.queue.begin() + static_cast<std::ptrdiff_t>(p.taken), p.queue.end());
    }
    if (rows.empty()) return;
    const buffer<index_t> wanted = to_buffer(ctx, rows);
    buffer<index_t> columns(ctx, rows.size() * columns_of_a_row);
    reorders_of(ctx.backend())
        .row_columns(ctx, a, wanted.data(), static_cast<index_t>(rows.size()), columns_of_a_row, columns.data());
    const std::vector<index_t> seen = to_vector(ctx, columns);
    const index_t* row = seen.data();
    for (place& p : places) {
      for (std::size_t left = p.queue.size() - p.taken; left > 0; --left, row += columns_of_a_row) p.take(row, grow);
    }
  }
}

double touched_per_entry(const context& ctx, const matrix_ref& a, bool grow) {
  std::vector<place> places(static_cast<std::size_t>(std::min(probed_places, a.rows)));
  const index_t side_by_side = grow ? 1 : std::min(rows_of_a_place, a.rows);
  for (std::size_t p = 0; p < places.size(); ++p) {
    const auto first = static_cast<index_t>(std::int64_t{a.rows - side_by_side} * static_cast<std::int64_t>(p) /
                                            static_cast<std::int64_t>(places.size()));
    places[p].queue.resize(static_cast<std::size_t>(side_by_side));
    std::iota(places[p].queue.begin(), places[p].queue.end(), first);
  }
  explore(ctx, a, places, grow);
  std::int64_t touched = 0, entries = 0;
  for (const place& p : places) {
    touched += static_cast<std::int64_t>(p.columns.size());
    entries += p.entries;
  }
  return entries > 0 ? static_cast<double>(touched) / static_cast<double>(entries) : 0;
}

/// The pattern of the blocks of A as a matrix.
matrix_ref pattern_of_blocks(const context& ctx, const matrix_ref& a, index_t block) {
  return dispatch<type_set::all>(a.types, [&]<class T, class O>() -> matrix_ref {
    matrix_ref blocks(to_bsr(ctx, a.as<T, O>(), block));
    blocks.format = matrix_format::csr;
    blocks.rows /= block;
    blocks.cols /= block;
    blocks.nnz = blocks.stored;
    blocks.block = 0;
    blocks.mask = nullptr;
    return blocks;
  });
}

permutation order_of_blocks(const context& ctx, const matrix_ref& a, ordering how, index_t block) {
  const permutation of_blocks = order(ctx, pattern_of_blocks(ctx, a, block), how);
  std::vector<index_t> order;
  order.reserve(static_cast<std::size_t>(a.rows));
  for (const index_t b : of_blocks.to_vector()) {
    for (index_t i = 0; i < block; ++i) order.push_back(b * block + i);
  }
  return {ctx, order};
}

/// Rows and columns of A as the vertices of one graph, each entry an edge.
matrix_orders order_of_rows_and_columns(const context& ctx, const matrix_ref& a) {
  const std::int64_t vertices = std::int64_t{a.rows} + a.cols;
  if (vertices > std::numeric_limits<index_t>::max()) {
    throw error(status::unsupported, "A has too many rows and columns for an order of both");
  }
  std::vector<index_t> from, to;
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    const coo<T> entries = to_coo(ctx, a.as<T, O>());
    from = to_vector(ctx, entries.rowind);
    to = to_vector(ctx, entries.colind);
  });
  for (index_t& column : to) column += a.rows;
  const std::vector<index_t> rows = from;
  from.insert(from.end(), to.begin(), to.end());
  to.insert(to.end(), rows.begin(), rows.end());
  const auto n = static_cast<index_t>(vertices);
  coo<float> graph{n, n, to_buffer(ctx, from), to_buffer(ctx, to), buffer<float>(ctx, from.size())};
  fill_bytes(ctx, graph.values.data(), ctx.space(), 0, graph.values.bytes());
  const permutation both = order(ctx, matrix_ref(std::move(graph)), ordering::rcm);
  std::vector<index_t> of_rows, of_columns;
  for (const index_t v : both.to_vector()) v < a.rows ? of_rows.push_back(v) : of_columns.push_back(v - a.rows);
  return {permutation(ctx, of_rows), permutation(ctx, of_columns)};
}

ordering name_of(const order_choice& how) {
  const ordering* const named = std::get_if<ordering>(&how);
  return named == nullptr ? ordering::rcm : *named;
}

}  // namespace

std::string order_probe::describe() const {
  return fmt::format("{:.2f} sectors of x per nonzero in rows side by side, {:.2f} at most around a row", now, near);
}

double sectors_per_nonzero(const context& ctx, const matrix_ref& a) {
  return a.rows > 0 && a.nnz > 0 ? touched_per_entry(ctx, a, false) : 0;
}

order_probe probe_order(const context& ctx, const matrix_ref& a) {
  order_probe seen{sectors_per_nonzero(ctx, a)};
  if (a.rows == a.cols && a.nnz > 0) seen.near = touched_per_entry(ctx, a, true);
  return seen;
}

/// What finding an order costs, in iterations, and what the iterations of a mesh are: a few times the unknowns along a
/// side.
bool order_pays(const context& ctx, const matrix_ref& a, int most_iterations, std::string& why) {
  constexpr double cost = 100, per_side = 3, least_gain = 2;
  constexpr double saved = 0.5;  // of an iteration, the rest being vectors and values
  const double expected = std::min<double>(most_iterations, per_side * std::cbrt(a.rows));
  const std::string when =
      fmt::format("another order pays after {}, {} are expected", as_counted{std::llround(cost / saved), "iteration"},
                  as_groups{std::llround(expected)});
  if (expected * saved <= cost) {
    why = fmt::format("in A's order: {}", when);
    return false;
  }
  const order_probe seen = probe_order(ctx, a);
  const bool pays = seen.gain() >= least_gain;
  why = pays ? fmt::format("{}: {}", seen.describe(), when) : fmt::format("in A's order: {}", seen.describe());
  return pays;
}

std::string kernel_in_order(const context& ctx, csr_stats stats, type_key types) {
  if (std::ranges::none_of(stats.block_fill, [](double fill) { return fill >= full_block; })) stats.block_fill = {};
  return choose_spmv(stats, types, ctx.info()).kernel;
}

void check_order(const matrix_ref& a, const order_choice& how, spmv_reorder when) {
  const auto* const given = std::get_if<std::vector<index_t>>(&how);
  if (when == spmv_reorder::never && how.index() != 0) {
    throw error(status::invalid_argument, "reorder_method: reorder is never");
  }
  if (a.rows != a.cols && (given != nullptr || name_of(how) != ordering::rcm)) {
    throw error(status::invalid_dimensions,
                fmt::format("A is {} x {}: {} is of a square matrix", a.rows, a.cols, describe(how)));
  }
  if (given != nullptr && given->size() != static_cast<std::size_t>(a.rows)) {
    throw error(status::invalid_dimensions, fmt::format("order is of {} rows, A has {}", given->size(), a.rows));
  }
}

matrix_orders find_orders(const context& ctx, const matrix_ref& a, const order_choice& how, index_t block) {
  if (const auto* given = std::get_if<std::vector<index_t>>(&how)) return {permutation(ctx, *given)};
  const ordering named = name_of(how);
  if (a.rows != a.cols && named == ordering::rcm) return order_of_rows_and_columns(ctx, a);
  if (block > 1 && a.rows % block == 0) return {order_of_blocks(ctx, a, named, block)};
  return {order(ctx, a, named)};
}

std::string describe(const order_choice& how) {
  if (std::holds_alternative<std::vector<index_t>>(how)) return "the order that was given";
  const ordering named = name_of(how);
  return fmt::format("{} order", named == ordering::rcm ? "reverse Cuthill-McKee" : name(named));
}

}  // namespace tulle::detail
