// Connected components by hooking trees together (Jaiganesh, Burtscher, HPDC 2018): each vertex begins below its first
// neighbour, each entry joins the trees of its ends, the greater root below the lesser.
//
// One thread: an entry, or a vertex. 4 bytes of a column and some random places per nonzero. Used in set-up.
#include "cuda/reorder/components.hpp"
#include "cuda/reorder/levels.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

/// Shortens the way on the way. Others may hook roots meanwhile; numbers only become less.
__device__ index_t root_of(volatile index_t* above, index_t v) {
  index_t at = above[v];
  for (index_t before = v, next; at > (next = above[at]); at = next) {
    above[before] = next;
    before = at;
  }
  return at;
}

__device__ void join(index_t* above, index_t v, index_t u) {
  index_t a = root_of(above, v), b = root_of(above, u);
  while (a != b) {
    const index_t greater = max(a, b), lesser = min(a, b);
    if (atomicCAS(above + greater, greater, lesser) == greater) return;
    a = root_of(above, greater);
    b = lesser;
  }
}

template <offset O>
void find_roots(const context& ctx, const matrix_ref& a, index_t* above) {
  const O* const rowptr = static_cast<const O*>(a.rowptr);
  const index_t* const colind = a.colind;
  for_each_item(ctx, "hook_vertices", a.rows, [=] __device__(std::int64_t i) {
    const auto v = static_cast<index_t>(i);
    above[v] = rowptr[v] < rowptr[v + 1] ? min(v, colind[rowptr[v]]) : v;
  });
  for_each_entry(ctx, "hook_entries", a.nnz, a.rows, rowptr, [=] __device__(index_t v, std::int64_t k) {
    if (colind[k] < v && k > rowptr[v]) join(above, v, colind[k]);
  });
}

}  // namespace

components find_components(const context& ctx, const matrix_ref& a, const index_t* degree) {
  const auto n = static_cast<std::size_t>(a.rows);
  buffer<index_t> roots(ctx, n), numbers(ctx, n);
  index_t* const root = roots.data();
  index_t* const number = numbers.data();
  a.types.offset == offset_type::i32 ? find_roots<std::int32_t>(ctx, a, root) : find_roots<std::int64_t>(ctx, a, root);

  buffer<unsigned long long> keys(ctx, n);
  unsigned long long* const least = keys.data();
  fill_bytes(ctx, least, memory_space::device, 0xff, keys.bytes());
  auto total = device_value<index_t>(ctx);
  index_t* const count = total.data();
  for_each_item(ctx, "least_of_components", a.rows, [=] __device__(std::int64_t i) {
    const auto v = static_cast<index_t>(i);
    const index_t r = root_of(root, v);
    if (r == v) atomicAdd(count, 1);
    const unsigned long long key = vertex_key(degree[v], v);
    if (key < __ldcg(least + r)) atomicMin(least + r, key);
  });
  components found{buffer<index_t>(ctx, n),
                   buffer<std::uint64_t>(ctx, static_cast<std::size_t>(read_back(ctx, count)))};
  std::uint64_t* const all = found.least.data();
  fill_bytes(ctx, count, memory_space::device, 0, sizeof(index_t));
  for_each_item(ctx, "collect_components", a.rows, [=] __device__(std::int64_t i) {
    if (root_of(root, static_cast<index_t>(i)) == i) all[atomicAdd(count, 1)] = least[i];
  });
  sort_keys(ctx, found.least, 0, 64);
  const std::uint64_t* const sorted = found.least.data();
  for_each_item(
      ctx, "number_components", static_cast<std::int64_t>(found.least.size()),
      [=] __device__(std::int64_t c) { number[root_of(root, vertex_of(sorted[c]))] = static_cast<index_t>(c); });
  index_t* const of_vertex = found.of_vertex.data();
  for_each_item(ctx, "component_of_vertices", a.rows,
                [=] __device__(std::int64_t v) { of_vertex[v] = number[root_of(root, static_cast<index_t>(v))]; });
  return found;
}

}  // namespace tulle::cuda
