// Variants of the packed product on short rows, and what stands between two kernels.
#include <cstdio>
#include <functional>
#include <tulle/tulle.hpp>
#include <vector>

#include "cuda/solvers/quads.cuh"
#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/packed_build.hpp"
#include "cuda/spmv/packed_walk.cuh"

namespace {

using namespace tulle;
using namespace tulle::cuda;

constexpr int threads = 128;
template <int Lanes, int Flight, int Resident>
struct tuning : packed_division<Lanes, 1, Flight, false> {};

__device__ __forceinline__ std::uint64_t keeping() {
  std::uint64_t p;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));
  return p;
}
__device__ __forceinline__ int4 load_kept(const int4* from) {
  int4 v;
  asm("ld.global.nc.L2::cache_hint.v4.s32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(from), "l"(keeping()));
  return v;
}

/// Slices of stencils: up to 8 positions, all full, no offsets. All positions of a lane (Together: of both) at once.
template <bool Kept, bool Together, class Take>
__device__ __forceinline__ void walk_short(const packed_pattern& a, const packed_slice& s, const packed_lane (&lane)[2],
                                           const double* values, Take take) {
  const auto* const base = reinterpret_cast<const int4*>(a.base + std::int64_t{s.bases} * packed_base_group);
  const bool wide = s.full > 4;
  const int4 none{0, 0, 0, 0};
  const int4 b0 = Kept ? load_kept(base) : __ldg(base), b1 = !wide ? none : Kept ? load_kept(base + 1) : __ldg(base + 1);
  const int b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
  const double* const from = values + s.values + lane_id();
  if constexpr (Together) {
    double v[8][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) v[i][h] = i < s.full ? load_stream(from + i * 64 + 32 * h) : 0;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (i < s.full) take(h, v[i][h], b[i] + lane[h].row);
    }
  } else {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      double v[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = i < s.full ? load_stream(from + i * 64 + 32 * h) : 0;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (i < s.full) take(h, v[i], b[i] + lane[h].row);
    }
  }
}

/// Form 0: the library's; 1: short slices lane after lane; 2: both lanes at once. Next: lines of the next wave's
/// descriptors and bases are asked for.
template <int Form, bool Kept, bool Next, int Resident>
__global__ void __launch_bounds__(threads, Resident)
    product(packed_pattern a, const double* __restrict__ values, const double* __restrict__ x,
            store_with_dots<double> epilogue, int wave, bool early) {
  using division = tuning<2, 4, Resident>;
  const std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
  if (i < a.slices) {
    packed_slice s;
    if (Kept) {
      union {
        int4 words[2];
        packed_slice slice;
      } u;
      const auto* const from = reinterpret_cast<const int4*>(a.slice + i);
      u.words[0] = load_kept(from);
      u.words[1] = load_kept(from + 1);
      s = u.slice;
    } else {
      s = load_slice(a, i);
    }
    packed_lane lane[2];
    lanes_of<division>(a, s, lane);
    if (Next && lane_id() == 0 && i + wave < a.slices) {
      prefetch_l2(a.slice + i + wave);
      prefetch_l2(a.base + (std::int64_t{s.bases} + 2 * wave) * packed_base_group);
    }
    if (early) {
      const auto* const from = reinterpret_cast<const char*>(values + s.values) + 128 * lane_id();
      if (lane_id() < s.full * 4) prefetch_l2(from);
      await_previous_grid();
    }
    double sum[2][1] = {};
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (lane[h].owns_row) epilogue.fetch(lane[h].row);
    const auto take = [&](int h, double value, index_t column) {
      sum[h][0] = multiply_add(value, __ldg(x + column), sum[h][0]);
    };
    if (Form > 0 && s.offset_bytes == 0 && s.full == s.width && s.full <= 8 && s.lanes_log2 == 0 &&
        s.origin == packed_origin::row) {
      walk_short<Kept, Form == 2>(a, s, lane, values, take);
    } else {
      walk_slice<division>(a, s, lane, stored_values<double>{values}, take);
    }
    sum_rows<division>(s, sum);
#pragma unroll
    for (int h = 0; h < 2; ++h)
      if (lane[h].owns_row) epilogue(lane[h].row, sum[h][0]);
  }
  epilogue.finish();
}

/// r -= a q, to = r + b p: as move streams, with nothing to decide.
__global__ void __launch_bounds__(256, 4)
    move_like(double* r, const double* p, double* to, const double* q, std::int64_t quads, bool first_only) {
  start_dependents();
  await_previous_grid();
  for (std::int64_t first = grid_thread(); first < quads; first += 2 * grid_stride()) {
    quad<double> R[2], P[2], Q[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i >= quads) continue;
      R[u] = load_l2(reinterpret_cast<quad<double>*>(r) + quads - 1 - i);
      P[u] = load_l2(reinterpret_cast<const quad<double>*>(p) + quads - 1 - i);
      Q[u] = load_streaming(reinterpret_cast<const quad<double>*>(q) + quads - 1 - i);
    }
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const std::int64_t i = first + u * grid_stride();
      if (i >= quads) continue;
      axpy(-1e-3, Q[u], R[u]);
      reinterpret_cast<quad<double>*>(r)[quads - 1 - i] = R[u];
      axpy(0.5, P[u], R[u]);
      reinterpret_cast<quad<double>*>(to)[quads - 1 - i] = R[u];
    }
  }
}

/// The same forward.
__global__ void __launch_bounds__(256, 4)
    move_forward(double* r, const double* p, double* to, const double* q, std::int64_t quads, bool only_r) {
  start_dependents();
  await_previous_grid();
  for (std::int64_t i = grid_thread(); i < quads; i += grid_stride()) {
    quad<double> R = reinterpret_cast<quad<double>*>(r)[i];
    axpy(-1e-3, reinterpret_cast<const quad<double>*>(q)[i], R);
    reinterpret_cast<quad<double>*>(r)[i] = R;
    if (only_r) continue;
    axpy(0.5, reinterpret_cast<const quad<double>*>(p)[i], R);
    reinterpret_cast<quad<double>*>(to)[i] = R;
  }
}
__global__ void nothing() {}

double per_step(const context& ctx, const std::function<void(int)>& step) {
  const graph g(ctx, [&] {
    for (int i = 0; i < 40; ++i) step(i);
  });
  const cudaStream_t s = native(ctx);
  cudaEvent_t from, to;
  check(cudaEventCreate(&from), "event"), check(cudaEventCreate(&to), "event");
  double best = 1e300;
  for (int i = 0; i < 4; ++i) {
    g.launch();
    check(cudaEventRecord(from, s), "record");
    g.launch(), g.launch();
    check(cudaEventRecord(to, s), "record");
    check(cudaEventSynchronize(to), "synchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from, to), "elapsed");
    best = std::min(best, 1e3 * ms / 80);
  }
  cudaEventDestroy(from), cudaEventDestroy(to);
  return best;
}

}  // namespace

void product_tried(const context& ctx, const matrix_ref& a) {
  const auto csr = a.as<double, std::int64_t>();
  const auto n = static_cast<std::size_t>(a.rows);
  packed_shape shape;
  shape.height = 64;
  shape.positions = 96;
  packed_storage storage(ctx, a.rows, csr.rowptr, csr.colind, 1024, shape);
  buffer<double> values(ctx, static_cast<std::size_t>(a.nnz)), ring(ctx, 4 * n), q(ctx, n), r(ctx, n);
  storage.fill_values(ctx, csr.rowptr, csr.values, packed_writer<double>{value_storage::whole, false, values.data()});
  fill_bytes(ctx, ring.data(), memory_space::device, 0, ring.bytes());
  fill_bytes(ctx, r.data(), memory_space::device, 0, r.bytes());
  const packed_pattern pattern = storage.view();
  const std::int64_t blocks = ceil_div(pattern.slices * 32, threads);
  dot_workspace dots(ctx, blocks, 0);
  (void)dots.leave();
  const int most = ctx.info().multiprocessors;
  const cudaStream_t s = native(ctx);
  const auto epilogue = [&](const double* x) {
    const scale_and_store<double> store{1, 0, q.data(), q.data(), {}};
    return store_with_dots<double>{store, x, {nullptr, true}, dots.view()};
  };
  const auto move = [&](int i) {
    double* const p = ring.data();
    launch_behind("move", move_like, {most * 4, 256}, 1, s, r.data(),
                  static_cast<const double*>(p + n * (i % 4)), p + n * ((i + 1) % 4),
                  static_cast<const double*>(q.data()), static_cast<std::int64_t>(n / 2), false);
  };
  const double moves = per_step(ctx, move);
  std::printf("  move alone %.2f us (5 n: %.2f at 4.3 TB/s)\n", moves, 40.0 * n / 4.3e6);
  const auto time = [&](const char* name, auto kernel, int wave) {
    const auto one = [&](int i, bool early) {
      const double* const x = ring.data() + n * (i % 4);
      if (early)
        launch_behind("product", kernel, {blocks, threads}, 1, s, pattern, values.data(), x, epilogue(x), wave, true);
      else
        launch("product", kernel, {blocks, threads}, s, pattern, values.data(), x, epilogue(x), wave, false);
    };
    const double alone = per_step(ctx, [&](int i) { one(i, false); });
    const double both = per_step(ctx, [&](int i) { one(i, false), move(i); });
    const double early = per_step(ctx, [&](int i) { one(i, true), move(i); });
    std::printf("  %-44s alone %7.2f, with move %7.2f (%+.2f), early with its values %7.2f\n", name, alone, both,
                both - alone - moves, early);
  };
  time("as it is", product<0, false, false, 9>, 4 * 9 * most);
  time("kept", product<0, true, false, 9>, 4 * 9 * most);
  time("next wave asked for", product<0, false, true, 9>, 4 * 9 * most);
  time("short, lane after lane", product<1, false, false, 9>, 4 * 9 * most);
  time("short, lane after lane, kept", product<1, true, false, 9>, 4 * 9 * most);
  time("short, both at once", product<2, false, false, 6>, 4 * 6 * most);
  time("short, both at once, kept, next", product<2, true, true, 6>, 4 * 6 * most);
  time("short, both at once, kept, 5 blocks", product<2, true, false, 5>, 4 * 5 * most);
}

/// How long the plan's product takes by what runs between two of them.
void what_follows(const context& ctx, const matrix_ref& a) {
  const auto n = static_cast<std::size_t>(a.rows);
  any_spmv_plan plan(ctx, a), leaving(ctx, a);
  buffer<double> ring(ctx, 4 * n), q(ctx, n), r(ctx, n), dots(ctx, 2);
  fill_bytes(ctx, ring.data(), memory_space::device, 0, ring.bytes());
  fill_bytes(ctx, r.data(), memory_space::device, 0, r.bytes());
  auto* const leaves = dynamic_cast<leaves_dot_pairs*>(&detail::operator_of(leaving));
  if (leaves != nullptr) (void)leaves->leave_dot_pairs();
  const cudaStream_t s = native(ctx);
  const std::int64_t quads = static_cast<std::int64_t>(n / 2);
  const auto at = [&](int i) { return ring.data() + n * static_cast<std::size_t>(i % 4); };
  const auto multiply = [&](any_spmv_plan& by, int i) {
    const const_vector_ref p{scalar_type::f64, at(i), a.rows, memory_space::device, ctx.device()};
    by.apply_dots(1, p, 0, vector_ref{scalar_type::f64, q.data(), a.rows, memory_space::device, ctx.device()}, p,
                  vector_ref{scalar_type::f64, dots.data(), 2, memory_space::device, ctx.device()});
  };
  const launch_shape shape{ctx.info().multiprocessors * 4, 256};
  const auto back = [&](int i, int ring_of, bool early) {
    const double *p = at(i % ring_of), *from = q.data();
    double* const to = at((i + 1) % ring_of);
    if (early)
      launch_behind("move", move_like, shape, 1, s, r.data(), p, to, from, quads, false);
    else
      launch("move", move_like, shape, s, r.data(), p, to, from, quads, false);
  };
  const auto forward = [&](int i, int ring_of, bool only_r) {
    const double *p = at(i % ring_of), *from = q.data();
    launch("move", move_forward, shape, s, r.data(), p, at((i + 1) % ring_of), from, quads, only_r);
  };
  for (int form = 0; form < 2; ++form) {
    any_spmv_plan& by = form == 0 ? plan : leaving;
    const auto time = [&](const char* name, int ring_of, const std::function<void(int)>& then) {
      const double both = per_step(ctx, [&](int i) { multiply(by, i % ring_of), then(i); });
      const double alone = per_step(ctx, then);
      std::printf("  %-10s %-34s %7.2f, what follows alone %6.2f: %7.2f\n", form == 0 ? "sums" : "pairs left", name, both,
                  alone, both - alone);
    };
    const double alone = per_step(ctx, [&](int i) { multiply(by, i); });
    std::printf("  %-10s alone %7.2f\n", form == 0 ? "sums" : "pairs left", alone);
    time("an empty kernel", 4, [&](int) { launch("nothing", nothing, {1, 32}, s); });
    time("r only", 4, [&](int i) { forward(i, 4, true); });
    time("forward, p in place", 1, [&](int i) { forward(i, 1, false); });
    time("forward, ring", 4, [&](int i) { forward(i, 4, false); });
    time("backward, p in place", 1, [&](int i) { back(i, 1, false); });
    time("backward, ring", 4, [&](int i) { back(i, 4, false); });
    time("backward, ring, early", 4, [&](int i) { back(i, 4, true); });
    time("r, then forward, p in place", 1, [&](int i) { forward(i, 1, true), forward(i, 1, false); });
  }
}
