#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tulle/core/nearest_name.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/reorder/orderings.hpp>
#include <vector>

#include "core/parallel.hpp"
#include "core/split_mix.hpp"
#include "kernels/backends.hpp"
#include "reorder/cuthill_mckee.hpp"
#include "reorder/libraries.hpp"

namespace tulle {
namespace {

using detail::plain_graph;

constexpr std::array all_orderings{ordering::natural,   ordering::rcm,    ordering::amd,    ordering::nd,
                                   ordering::partition, ordering::degree, ordering::length, ordering::random};
constexpr index_t part_of_a_core = 1 << 16;  // x in half of a cache of 1 MiB

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

context host_of(const context& ctx) { return ctx.backend() == backend_kind::cpu ? ctx : context::cpu(); }

void require_square(ordering how, const matrix_ref& a) {
  if (a.rows == a.cols) return;
  throw error(status::invalid_dimensions,
              fmt::format("A is {} x {}: {} orders the unknowns of a square matrix", a.rows, a.cols, name(how)));
}

matrix_ref on_host(const context& ctx, const context& host, const matrix_ref& a) {
  return a.space == memory_space::host ? a : clone(host, to_csr(ctx, a));
}

/// A CSR with sound structure whose columns increase strictly. Throws INVALID_STRUCTURE.
matrix_ref sound_csr(const context& ctx, const matrix_ref& a) {
  const matrix_ref csr = to_csr(ctx, a);
  const pattern_counts found = to_vector(ctx, matrices_of(ctx.backend()).inspect(ctx, {&csr, 1}))[0];
  return found.increasing() ? csr : sum_duplicates(ctx, csr);
}

/// The same with the pattern of A + A^T.
matrix_ref symmetric_csr(const context& ctx, const matrix_ref& a) {
  const matrix_ref csr = sound_csr(ctx, a);
  if (reorders_of(ctx.backend()).symmetric(ctx, csr)) return csr;
  return add(ctx, 1, csr, 1, transpose(ctx, csr).matrix);
}

/// Without the diagonal and, where `isolated` is given, without the vertices that have no neighbours, which go there;
/// the others are numbered on, and `kept` says who they were.
plain_graph graph_of(ordering how, const matrix_ref& a, std::vector<index_t>* isolated, std::vector<index_t>* kept) {
  if (a.nnz > std::numeric_limits<std::int32_t>::max()) {
    throw error(
        status::overflow,
        fmt::format("{}: the pattern of A + A^T has {} nonzeros, its library takes 2147483647", name(how), a.nnz));
  }
  const auto offset_at = [&](index_t i) {
    return a.types.offset == offset_type::i32 ? std::int64_t{static_cast<const std::int32_t*>(a.rowptr)[i]}
                                              : static_cast<const std::int64_t*>(a.rowptr)[i];
  };
  const auto neighbours = [&](index_t i, const auto& each) {
    for (std::int64_t k = offset_at(i); k < offset_at(i + 1); ++k) {
      if (a.colind[k] != i) each(a.colind[k]);
    }
  };
  std::vector<index_t> number(at(a.rows));
  for (index_t i = 0; i < a.rows; ++i) {
    bool alone = isolated != nullptr;
    if (alone) neighbours(i, [&](index_t) { alone = false; });
    number[at(i)] = static_cast<index_t>(kept->size());
    (alone ? isolated : kept)->push_back(i);
  }
  plain_graph g{{0}, {}};
  g.colind.reserve(at(a.nnz));
  for (const index_t i : *kept) {
    neighbours(i, [&](index_t j) { g.colind.push_back(number[at(j)]); });
    g.rowptr.push_back(static_cast<std::int32_t>(g.colind.size()));
  }
  return g;
}

/// f(graph) orders the vertices that have neighbours; those that have none go first.
template <class F>
permutation by_library(ordering how, const context& ctx, const matrix_ref& a, const F& f) {
  const context host = host_of(ctx);
  const matrix_ref symmetric = symmetric_csr(host, on_host(ctx, host, a));
  std::vector<index_t> order, kept;
  plain_graph g = graph_of(how, symmetric, &order, &kept);
  if (g.size() > 0) {
    for (const index_t i : f(g)) order.push_back(kept[at(i)]);
  }
  return {ctx, order};
}

/// Stable, by key(i) in 0 .. keys - 1.
template <class Key>
std::vector<index_t> sorted_by(const context& host, index_t n, index_t keys, const Key& key) {
  std::vector<index_t> order(at(n));
  counting_sort<std::int32_t>(host, n, keys, key, [&](std::int64_t begin, std::int64_t end, auto next) {
    for (std::int64_t i = begin; i < end; ++i) order[at(next(key(i)))] = static_cast<index_t>(i);
  });
  return order;
}

/// Part after part, each in the order of reverse Cuthill-McKee.
permutation by_parts(const context& ctx, const matrix_ref& a, index_t part_rows) {
  if (!detail::has_metis()) {
    plain_graph none;
    detail::partition_into(none, 1);  // says what is missing
  }
  if (part_rows == 0) {
    const auto in_cache = static_cast<std::int64_t>(ctx.info().l2_bytes / sizeof(double) / 2);
    part_rows = ctx.backend() == backend_kind::cpu
                    ? part_of_a_core
                    : static_cast<index_t>(std::clamp<std::int64_t>(in_cache, part_of_a_core, index_t{1} << 30));
  }
  const context host = host_of(ctx);
  const matrix_ref symmetric = symmetric_csr(host, on_host(ctx, host, a));
  permutation rcm = detail::cuthill_mckee(host, symmetric);
  const auto parts = static_cast<index_t>((std::int64_t{a.rows} + part_rows - 1) / part_rows);
  if (parts < 2) return rcm.on(ctx);
  std::vector<index_t> kept;
  plain_graph g = graph_of(ordering::partition, symmetric, nullptr, &kept);
  const std::vector<index_t> part = detail::partition_into(g, parts);
  const index_t* const first = rcm.order().data();
  std::vector<index_t> order = sorted_by(host, a.rows, parts, [&](std::int64_t i) { return part[at(first[i])]; });
  for (index_t& i : order) i = first[i];
  return {ctx, order};
}

std::vector<index_t> row_lengths(const context& host, const matrix_ref& csr) {
  std::vector<index_t> length(at(csr.rows));
  const auto fill = [&](const auto* rowptr) {
    parallel_for(threads_for(host.threads(), csr.rows), csr.rows,
                 [&](index_t i) { length[at(i)] = static_cast<index_t>(rowptr[i + 1] - rowptr[i]); });
  };
  csr.types.offset == offset_type::i32 ? fill(static_cast<const std::int32_t*>(csr.rowptr))
                                       : fill(static_cast<const std::int64_t*>(csr.rowptr));
  return length;
}

permutation by_degree(const context& ctx, const matrix_ref& a) {
  const context host = host_of(ctx);
  const matrix_ref symmetric = symmetric_csr(host, on_host(ctx, host, a));
  std::vector<index_t> kept;
  const plain_graph g = graph_of(ordering::degree, symmetric, nullptr, &kept);
  const auto degree = [&](std::int64_t i) { return g.rowptr[at(i) + 1] - g.rowptr[at(i)]; };
  return {ctx, sorted_by(host, a.rows, std::max(a.rows, 1), degree)};
}

permutation by_length(const context& ctx, const matrix_ref& a, index_t window) {
  if (window < 1) throw error(status::invalid_argument, fmt::format("window = {}: must be 1 or more", window));
  const context host = host_of(ctx);
  const std::vector<index_t> length = row_lengths(host, sound_csr(host, on_host(ctx, host, a)));
  std::vector<index_t> order(length.size());
  std::iota(order.begin(), order.end(), index_t{0});
  const std::int64_t windows = (std::int64_t{a.rows} + window - 1) / window;
  parallel_for(threads_for(host.threads(), a.rows), windows, [&](std::int64_t w) {
    const auto first = order.begin() + w * window;
    std::stable_sort(first, order.begin() + std::min<std::int64_t>((w + 1) * window, a.rows),
                     [&](index_t i, index_t j) { return length[at(i)] > length[at(j)]; });
  });
  return {ctx, order};
}

/// Fisher and Yates's shuffle by a hash of (seed, i): the same everywhere.
permutation shuffled(const context& ctx, index_t n, std::uint64_t seed) {
  std::vector<index_t> order(at(n));
  std::iota(order.begin(), order.end(), index_t{0});
  for (index_t i = n - 1; i > 0; --i) {
    const std::uint64_t bits = split_mix(split_mix(seed) + static_cast<std::uint64_t>(i)) >> 32;
    std::swap(order[at(i)], order[bits * (static_cast<std::uint64_t>(i) + 1) >> 32]);
  }
  return {ctx, order};
}

}  // namespace

std::string_view name(ordering o) noexcept {
  constexpr std::array<std::string_view, all_orderings.size()> names{"natural",   "rcm",    "amd",    "nd",
                                                                     "partition", "degree", "length", "random"};
  return names[static_cast<std::size_t>(o)];
}

ordering ordering_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ordering o : all_orderings) {
    if (tulle::name(o) == name) return o;
    names.push_back(tulle::name(o));
  }
  throw error(status::invalid_argument, fmt::format("no ordering is called '{}'{}", name, alternatives(name, names)));
}

std::span<const ordering> orderings() noexcept {
  static const std::vector<ordering> available = [] {
    std::vector<ordering> list;
    for (const ordering o : all_orderings) {
      const bool by_metis = o == ordering::nd || o == ordering::partition;
      if ((o != ordering::amd || detail::has_amd()) && (!by_metis || detail::has_metis())) list.push_back(o);
    }
    return list;
  }();
  return available;
}

permutation order(const context& ctx, const matrix_ref& a, ordering how, const ordering_options& options) {
  if (how != ordering::natural && how != ordering::length && how != ordering::random) require_square(how, a);
  switch (how) {
    case ordering::natural:
      return permutation::identity(ctx, a.rows);
    case ordering::rcm:
      return detail::cuthill_mckee(ctx, symmetric_csr(ctx, a));
    case ordering::amd:
      return by_library(how, ctx, a, detail::amd_order);
    case ordering::nd:
      return by_library(how, ctx, a, detail::nested_dissection);
    case ordering::partition:
      return by_parts(ctx, a, options.part_rows);
    case ordering::degree:
      return by_degree(ctx, a);
    case ordering::length:
      return by_length(ctx, a, options.window);
    case ordering::random:
      return shuffled(ctx, a.rows, options.seed);
  }
  throw error(status::invalid_argument, "no such ordering");
}

}  // namespace tulle
