// Blocks on a device: `blocks spmv` times the kernels of blocks beside the vendor's on matrices of dense blocks;
// `blocks pattern` the construction from pairs and the refill of values, stage by stage. A number behind either makes
// all of it so many times smaller.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tulle/tulle.hpp>
#include <vector>

namespace {

using namespace tulle;

template <class F>
double host_microseconds(const context& ctx, const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  ctx.synchronize();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Median of 15 runs by the device's clock, or by the host's where there is none.
template <class F>
double microseconds(const context& ctx, const F& f) {
  std::vector<double> times;
  event begin(ctx), end(ctx);
  for (int i = 0; i < 18; ++i) {
    begin.record(ctx.stream());
    f();
    end.record(ctx.stream());
    end.synchronize();
    if (i >= 3) times.push_back(end.microseconds_since(begin));
  }
  return median(times);
}

template <scalar T>
void time_kernels(const context& ctx, const matrix_ref& a, const char* label) {
  const auto n = static_cast<std::size_t>(a.rows);
  buffer<T> x = to_buffer(ctx, std::vector<T>(n, T{1})), y(ctx, n), w = to_buffer(ctx, std::vector<T>(n, T{1})),
            dots(ctx, 2);
  struct choice {
    const char* kernel;
    int lanes;
  };
  const choice choices[] = {{"bin_bsr.compact", 0},
                            {"bin_bsr.compact", 2},
                            {"bin_bsr", 0},
                            {"bsr", 0},
                            {"packed", 0},
                            {"csr5", 0},
                            {"", 0},
                            {"cusparse.csr1", 0},
                            {"cusparse.csr2", 0},
                            {"cusparse.coo2", 0},
                            {"cusparse.bsr", 0}};
  fmt::print("{}: ", label);
  for (const auto& [kernel, lanes] : choices) {
    try {
      spmv_options options;
      options.kernel = kernel;
      options.lanes = lanes;
      const any_spmv_plan plan(ctx, a, options);
      const double apply = microseconds(ctx, [&] { plan.apply(1, x, 0, y); });
      const double bytes = static_cast<double>(plan.matrix_bytes() + 2 * n * sizeof(T));
      std::string more;
      if (plan.can(operation::apply_dots)) {
        more += fmt::format(" d {:.1f}", microseconds(ctx, [&] { plan.apply_dots(1, x, 0, y, w, dots); }));
      }
      if (plan.can(operation::jacobi)) {
        more += fmt::format(" j {:.1f}", microseconds(ctx, [&] { plan.jacobi(0.5, x, w, w, y); }));
      }
      fmt::print("{}{} {:.1f} us {:.2f} TB/s{}; ", plan.kernel(), lanes > 0 ? fmt::format("/{}", lanes) : "", apply,
                 bytes / apply / 1e6, more);
      if (kernel == std::string("bin_bsr.compact") && lanes == 0) fmt::print("[{}] ", plan.parameters());
    } catch (const error& e) {
      fmt::print("{}: {}; ", kernel, e.what());
    }
  }
  fmt::print("\n");
}

/// Three entries of four, so that blocks are not full.
csr<double> thinned(const csr<double>& a) {
  std::mt19937_64 random(3);
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  const auto from = a.rowptr.host();
  for (index_t r = 0; r < a.rows; ++r) {
    for (auto k = from[static_cast<std::size_t>(r)]; k < from[static_cast<std::size_t>(r) + 1]; ++k) {
      if (random() % 4 != 0) colind.push_back(a.colind.host()[static_cast<std::size_t>(k)]);
    }
    rowptr.push_back(static_cast<std::int64_t>(colind.size()));
  }
  const context host = context::cpu();
  return {a.rows, a.cols, to_buffer(host, rowptr), to_buffer(host, colind),
          to_buffer(host, std::vector<double>(colind.size(), 1))};
}

void time_spmv(const context& ctx, int smaller) {
  const int edge = smaller > 1 ? static_cast<int>(std::cbrt(smaller)) : 1;
  for (const auto& [n, dof] : {std::pair(40, 6), std::pair(52, 4), std::pair(63, 3)}) {
    const std::string spec = fmt::format("gen:fem:n={},dof={}", std::max(n / edge, 2), dof);
    const context host = context::cpu();
    const auto wide = generate<double>(host, spec);
    time_kernels<double>(ctx, matrix_ref(clone(ctx, wide.view())), (spec.substr(4) + " f64").c_str());
    const csr<double> thin = thinned(wide);
    time_kernels<double>(ctx, matrix_ref(clone(ctx, thin.view())), (spec.substr(4) + " f64 3/4 full").c_str());
    const auto narrow = generate<float>(host, spec);
    time_kernels<float>(ctx, matrix_ref(clone(ctx, narrow.view())), (spec.substr(4) + " f32").c_str());
  }
}

/// Node i is joined to `near` others that lie close in number, each pair once, in random order.
std::pair<std::vector<index_t>, std::vector<index_t>> graph(index_t nodes, std::int64_t pairs, index_t reach) {
  std::mt19937_64 random(7);
  std::vector<index_t> from(static_cast<std::size_t>(pairs)), to(from.size());
  for (std::size_t p = 0; p < from.size(); ++p) {
    from[p] = static_cast<index_t>(random() % static_cast<std::uint64_t>(nodes));
    to[p] = static_cast<index_t>((from[p] + 1 + random() % static_cast<std::uint64_t>(reach)) %
                                 static_cast<std::uint64_t>(nodes));
  }
  return {from, to};
}

template <scalar T>
void time_pattern(const context& ctx, index_t nodes, std::int64_t pairs, const block_pattern_options& o, int runs) {
  const auto [from, to] = graph(nodes, pairs, 1000);
  const buffer<index_t> rowind = to_buffer(ctx, from), colind = to_buffer(ctx, to);
  const block_pairs_view view{nodes, nodes, pairs, rowind.data(), colind.data(), ctx.space()};
  const auto area = static_cast<std::size_t>(o.block * o.block);
  buffer<T> values(ctx, static_cast<std::size_t>(pairs) * area);
  fill_bytes(ctx, values.data(), ctx.space(), 0, values.bytes());
  std::vector<double> find, bins, whole;
  for (int i = 0; i < runs; ++i) {
    block_pattern p;
    find.push_back(host_microseconds(ctx, [&] { p = find_block_pattern(ctx, view, o); }));
    bin_bsr<T> made;
    bins.push_back(host_microseconds(ctx, [&] { made = make_bin_bsr<T>(ctx, p); }));
    whole.push_back(host_microseconds(ctx, [&] {
      const block_pattern again = find_block_pattern(ctx, view, o);
      const bin_bsr<T> all = make_bin_bsr<T>(ctx, again);
    }));
  }
  const block_pattern p = find_block_pattern(ctx, view, o);
  bsr<T> blocks = make_bsr<T>(ctx, p);
  bin_bsr<T> made = make_bin_bsr<T>(ctx, p);
  const double to_blocks = microseconds(ctx, [&] { assemble(ctx, p, values.data(), blocks); });
  const double to_bins = microseconds(ctx, [&] { assemble(ctx, p, values.data(), made); });
  // From a BSR to the copies that plans keep.
  std::string copies;
  for (const char* kernel : {"bin_bsr", "bin_bsr.compact"}) {
    spmv_options options;
    options.kernel = kernel;
    any_spmv_plan plan(ctx, matrix_ref(blocks.view()), options);
    const double time = microseconds(ctx, [&] { plan.update_values(blocks.values); });
    const double bytes = static_cast<double>(blocks.values.bytes()) * 2;
    copies += fmt::format("; BSR to {} {:.1f} us {:.2f} TB/s", kernel, time, bytes / time / 1e6);
  }
  const double least = static_cast<double>(values.bytes() + blocks.values.bytes());
  const double moved = static_cast<double>((o.symmetric ? 2 : 1) * values.bytes() + blocks.values.bytes() +
                                           p.terms.bytes() + p.termptr.bytes());
  fmt::print(
      "{} nodes {} pairs {} blocks, f{} block {}{}{}: find {:.0f} us, bins {:.0f}, both {:.0f} ({:.2f} G pairs/s);"
      " refill bsr {:.1f} us {:.2f} TB/s least {:.2f} moved; bins {:.1f} us {:.2f} {:.2f}; padding {:.3f}{}\n",
      nodes, pairs, p.blocks(), 8 * sizeof(T), o.block, o.symmetric ? " symmetric" : "", o.diagonal ? " diagonal" : "",
      median(find), median(bins), median(whole), static_cast<double>(pairs) / median(whole) / 1e3, to_blocks,
      least / to_blocks / 1e6, moved / to_blocks / 1e6, to_bins, least / to_bins / 1e6, moved / to_bins / 1e6,
      static_cast<double>(p.slots) / static_cast<double>(p.blocks()) / o.block, copies);
}

void time_patterns(const context& ctx, int smaller) {
  const index_t nodes = 1'000'000 / smaller;
  const std::int64_t pairs = 10'000'000 / smaller;
  time_pattern<float>(ctx, 4096, 16384, {6, true, true}, 50);
  time_pattern<double>(ctx, 4096, 16384, {6, true, true}, 50);
  time_pattern<float>(ctx, nodes, pairs, {6, false, true}, 10);
  time_pattern<float>(ctx, nodes, pairs, {6, true, true}, 10);
  time_pattern<double>(ctx, nodes, pairs, {6, true, true}, 10);
  time_pattern<float>(ctx, nodes, pairs, {3, true, true}, 10);
  time_pattern<double>(ctx, nodes, pairs, {3, true, true}, 10);
  time_pattern<float>(ctx, nodes, pairs, {4, true, true}, 10);
  time_pattern<double>(ctx, nodes, pairs, {2, true, true}, 10);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const tulle::context ctx = tulle::context::best();
    const int smaller = argc == 3 ? std::max(std::atoi(argv[2]), 1) : 1;
    if (argc >= 2 && std::strcmp(argv[1], "spmv") == 0) return time_spmv(ctx, smaller), 0;
    if (argc >= 2 && std::strcmp(argv[1], "pattern") == 0) return time_patterns(ctx, smaller), 0;
    fmt::print(stderr, "usage: {} spmv|pattern [SMALLER]\n", argv[0]);
    return 2;
  } catch (const tulle::error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 5;
  }
}
