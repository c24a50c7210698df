// Reverse Cuthill-McKee (kernels/reorder.hpp says which order it is): sweeps over all components at once (levels.cu),
// then for each component what the sweep is worth and where the next one starts.
//
// One thread: a vertex. Past the levels some 100 bytes per vertex and sweep, and a radix sort of the vertices by
// component where there are several. Used in set-up.
#include <cstdint>

#include "cuda/device/search.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/reorder/components.hpp"
#include "cuda/reorder/levels.hpp"
#include "cuda/reorder/reorder.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <offset O>
void count_neighbours(const context& ctx, const matrix_ref& a, index_t* degree) {
  const O* const rowptr = static_cast<const O*>(a.rowptr);
  const index_t* const colind = a.colind;
  for_each_item(ctx, "degrees", a.rows, [=] __device__(std::int64_t i) {
    const index_t* const row = colind + rowptr[i];
    const std::int64_t length = rowptr[i + 1] - rowptr[i];
    const std::int64_t at = lower_bound(row, length, static_cast<index_t>(i));
    degree[i] = static_cast<index_t>(length - (at < length && row[at] == i ? 1 : 0));
  });
}

template <class O>
__global__ void sum_asymmetry(index_t rows, const O* rowptr, const index_t* colind, unsigned long long* sum) {
  unsigned long long mine = 0;
  for_each_entry(rows, rowptr, [&](index_t row, std::int64_t k, bool active) {
    const vertex_hash column(colind[k]);
    if (active) mine += vertex_hash(row).asymmetry(column.h, column.g);
  });
  mine = warp_sum(mine);
  if (lane_id() == 0) atomicAdd(sum, mine);
}

/// What is known of each component.
struct component_state {
  index_t* first;   // the place of its first vertex in the order, which is not reversed yet
  index_t* start;   // the same among the vertices of a sweep
  index_t* levels;  // of a sweep; 0: it takes no part
  index_t* levels_before;
  index_t* bandwidth;  // of a sweep
  index_t* least_bandwidth;
  index_t* wins;                      // whether the sweep is the best so far
  unsigned long long* least_of_last;  // vertex_key in the last level
};
constexpr int state_arrays = 7;

__device__ void raise(index_t* to, index_t value) {
  if (value > __ldcg(to)) atomicMax(to, value);
}

struct rcm_search {  // all of it public: nvcc wants that where lambdas of the device stand
  rcm_search(const context& ctx, const matrix_ref& a)
      : ctx_(ctx),
        a_(a),
        n_(static_cast<std::size_t>(a.rows)),
        degree_(ctx, n_),
        parent_(ctx, n_),
        list_(ctx, n_),
        level_(ctx, n_),
        local_(ctx, n_),
        keys_(ctx, n_) {
    a.types.offset == offset_type::i32 ? count_neighbours<std::int32_t>(ctx, a, degree_.data())
                                       : count_neighbours<std::int64_t>(ctx, a, degree_.data());
    components_ = find_components(ctx, a, degree_.data());
    count_ = static_cast<index_t>(components_.least.size());
    const auto count = static_cast<std::size_t>(count_);
    state_ = buffer<index_t>(ctx, state_arrays * count);
    index_t* const s = state_.data();
    fill_bytes(ctx, s, memory_space::device, 0, state_.bytes());
    fill_bytes(ctx, s + 6 * count, memory_space::device, 0x7f, count * sizeof(index_t));
    states_ = {s,
               s + count,
               s + 2 * count,
               s + 3 * count,
               s + 4 * count,
               s + 6 * count,
               s + 5 * count,
               reinterpret_cast<unsigned long long*>(components_.least.data())};
    sweep_ = {degree_.data(), parent_.data(), list_.data(), level_.data()};
  }

  /// False where a CPU is faster.
  bool run(index_t* order) {
    for (int sweep = 0; sweep < rcm_sweeps; ++sweep) {
      const index_t starts = begin(sweep == 0);
      if (starts == 0) break;
      const levels_found found = number_levels(ctx_, a_, starts, sweep_);
      if (found.narrow) return false;
      order_by_component(found.placed);
      if (sweep == 0)
        copy_bytes(ctx_, states_.first, memory_space::device, states_.start, memory_space::device,
                   static_cast<std::size_t>(count_) * sizeof(index_t));
      judge(found.placed);
      take_winners(found.placed, order);
    }
    return true;
  }

  /// Starts a sweep of the components whose levels became more, or of all. Returns how many they are.
  index_t begin(bool all) {
    fill_bytes(ctx_, parent_.data(), memory_space::device, 0x7f, parent_.bytes());
    auto total = device_value<index_t>(ctx_);
    for_each_item(ctx_, "begin_sweep", count_,
                  [all, starts = total.data(), s = states_, to = sweep_] __device__(std::int64_t c) {
                    const index_t v = vertex_of(s.least_of_last[c]);
                    const bool grew = s.levels[c] > max(s.levels_before[c], 2);
                    s.levels_before[c] = s.levels[c];
                    s.levels[c] = s.bandwidth[c] = 0;
                    s.least_of_last[c] = ~0ull;
                    if (!all && !grew) return;
                    const index_t q = atomicAdd(starts, 1);
                    to.list[q] = v;
                    to.level[q] = 1;
                    to.parent[v] = -1;
                  });
    return read_back(ctx_, total.data());
  }

  /// keys_ becomes (component, place in the sweep), ascending; local_, by place in the sweep, the place in the
  /// component.
  void order_by_component(index_t placed) {
    const index_t* const of_vertex = components_.of_vertex.data();
    if (keys_.size() != static_cast<std::size_t>(placed))
      keys_ = buffer<std::uint64_t>(ctx_, static_cast<std::size_t>(placed));
    for_each_item(ctx_, "component_keys", placed,
                  [keys = keys_.data(), list = sweep_.list, of_vertex] __device__(std::int64_t q) {
                    keys[q] = vertex_key(of_vertex[list[q]], static_cast<index_t>(q));
                  });
    if (count_ > 1) sort_keys(ctx_, keys_, 32, 32 + bits_for(count_));
    const std::uint64_t* const keys = keys_.data();
    for_each_item(ctx_, "component_starts", placed, [keys, s = states_] __device__(std::int64_t i) {
      if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32) s.start[keys[i] >> 32] = static_cast<index_t>(i);
    });
    for_each_item(ctx_, "component_places", placed,
                  [keys, local = local_.data(), s = states_] __device__(std::int64_t i) {
                    local[vertex_of(keys[i])] = static_cast<index_t>(i) - s.start[keys[i] >> 32];
                  });
  }

  /// Levels, bandwidth and the least vertex of the last level of each component; whether the sweep is its best.
  void judge(index_t placed) {
    const index_t* const of_vertex = components_.of_vertex.data();
    for_each_item(ctx_, "measure_sweep", placed,
                  [placed, of_vertex, local = local_.data(), s = states_, sweep = sweep_] __device__(std::int64_t i) {
                    // The last level first: what is raised is raised once.
                    const auto q = static_cast<index_t>(placed - 1 - i);
                    const index_t v = sweep.list[q], c = of_vertex[v], parent = sweep.parent[v];
                    raise(s.levels + c, sweep.level[q]);
                    if (parent >= 0) raise(s.bandwidth + c, local[q] - local[parent]);
                  });
    for_each_item(ctx_, "least_of_last_level", placed,
                  [of_vertex, s = states_, sweep = sweep_] __device__(std::int64_t q) {
                    const index_t v = sweep.list[q], c = of_vertex[v];
                    if (sweep.level[q] != s.levels[c]) return;
                    const unsigned long long key = vertex_key(sweep.degree[v], v);
                    if (key < __ldcg(s.least_of_last + c)) atomicMin(s.least_of_last + c, key);
                  });
    for_each_item(ctx_, "compare_sweeps", count_, [s = states_] __device__(std::int64_t c) {
      s.wins[c] = s.levels[c] > 0 && s.bandwidth[c] <= s.least_bandwidth[c] ? 1 : 0;
      if (s.wins[c] != 0) s.least_bandwidth[c] = s.bandwidth[c];
    });
  }

  void take_winners(index_t placed, index_t* order) {
    for_each_item(
        ctx_, "take_winners", placed,
        [order, n = a_.rows, keys = keys_.data(), list = sweep_.list, s = states_] __device__(std::int64_t i) {
          const std::uint64_t c = keys[i] >> 32;
          if (s.wins[c] == 0) return;
          const index_t place = s.first[c] + (static_cast<index_t>(i) - s.start[c]);
          order[n - 1 - place] = list[vertex_of(keys[i])];
        });
  }

  context ctx_;
  const matrix_ref& a_;
  std::size_t n_;
  buffer<index_t> degree_, parent_, list_, level_, local_;
  buffer<std::uint64_t> keys_;
  components components_;
  index_t count_ = 0;
  buffer<index_t> state_;
  component_state states_{};
  level_arrays sweep_{};
};

}  // namespace

bool is_symmetric_pattern(const context& ctx, const matrix_ref& a) {
  auto sum = device_value<unsigned long long>(ctx);
  const auto launch = [&]<class O>(const O* rowptr) {
    launch_entries(ctx, "sum_asymmetry", sum_asymmetry<O>, a.nnz, a.rows, rowptr, a.colind, sum.data());
  };
  a.types.offset == offset_type::i32 ? launch(static_cast<const std::int32_t*>(a.rowptr))
                                     : launch(static_cast<const std::int64_t*>(a.rowptr));
  return read_back(ctx, sum.data()) == 0;
}

bool reverse_cuthill_mckee(const context& ctx, const matrix_ref& a, index_t* order) {
  return a.rows == 0 || rcm_search(ctx, a).run(order);
}

}  // namespace tulle::cuda
