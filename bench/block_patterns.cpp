// The construction of matrices from pairs and the refill of values, stage by stage.
#include <fmt/format.h>

#include <chrono>
#include <random>

#include "blocks.hpp"

namespace tulle::bench {
namespace {

template <class F>
double host_microseconds(const context& ctx, const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  ctx.synchronize();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
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

/// A refill's time, and the speed at which the bytes move that it must move.
std::string refill(double time, double bytes) { return fmt::format("{:.1f} ({:.2f})", time, bytes / time / 1e6); }

/// One row of the table.
template <scalar T>
std::string time_pattern(const context& ctx, index_t nodes, std::int64_t pairs, const block_pattern_options& o,
                         int runs) {
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
  const auto of_blocks = static_cast<double>(blocks.values.bytes());
  const double moved =
      static_cast<double>((o.symmetric ? 2 : 1) * values.bytes() + p.terms.bytes() + p.termptr.bytes()) + of_blocks;
  const double to_blocks = microseconds(ctx, [&] { assemble(ctx, p, values.data(), blocks); });
  const double to_bins = microseconds(ctx, [&] { assemble(ctx, p, values.data(), made); });
  // As many bytes as a refill moves by a copy, and the least that anything takes on the device.
  const auto half = static_cast<std::size_t>(moved / 2);
  buffer<std::uint8_t> source(ctx, half);
  buffer<std::uint8_t> copy(ctx, half);
  fill_bytes(ctx, source.data(), ctx.space(), 0, half);
  const double floor = microseconds(ctx, [&] { copy_bytes(ctx, copy.data(), ctx.space(), source.data(), ctx.space(), half); });
  const double nothing = microseconds(ctx, [&] { fill_bytes(ctx, copy.data(), ctx.space(), 0, 4); });
  std::string copies;
  for (const char* kernel : {"bin_bsr", "bin_bsr.compact"}) {
    spmv_options options;
    options.kernel = kernel;
    any_spmv_plan plan(ctx, matrix_ref(blocks.view()), options);
    copies +=
        fmt::format(R"(, "{}")", refill(microseconds(ctx, [&] { plan.update_values(blocks.values); }), 2 * of_blocks));
  }
  if (std::getenv("TULLE_TRIES") != nullptr) {
    std::string line;
    for (const char* way : {"0", "1", "2", "3", "4", "5", "6", "7"}) {
      setenv("TULLE_TRY", way, 1);
      line += fmt::format(" {}:{}", way, refill(microseconds(ctx, [&] { assemble(ctx, p, values.data(), made); }), moved));
    }
    fmt::print("  bins{}\n ", line);
    for (const char* kernel : {"bin_bsr", "bin_bsr.compact"}) {
      spmv_options options;
      options.kernel = kernel;
      any_spmv_plan plan(ctx, matrix_ref(blocks.view()), options);
      for (const char* way : {"0", "1", "2", "3", "4", "40", "47", "48", "49", "20", "80", "88"}) {
        if ((std::string_view(kernel) == "bin_bsr") == (std::atoi(way) > 6)) continue;
        setenv("TULLE_TRY", way, 1);
        fmt::print(" {}:{}", way, refill(microseconds(ctx, [&] { plan.update_values(blocks.values); }), 2 * of_blocks));
      }
      fmt::print(" |");
    }
    fmt::print(" copy {} nothing {:.1f}\n", refill(floor, moved), nothing);
    unsetenv("TULLE_TRY");
  }
  const std::string what = fmt::format("{:L} nodes, {:L} pairs{}, {} x {} f{}", nodes, pairs,
                                       o.symmetric ? ", mirrored" : "", o.block, o.block, 8 * sizeof(T));
  const std::string row = fmt::format(
      R"(["{}", "{:.0f}", "{:.0f}", "{:.0f}", "{:.2f}", "{}", "{}"{}, "{:.1f} / {:.1f}", "{:.3f}"])", what, median(find), median(bins),
      median(whole), static_cast<double>(pairs) / median(whole) / 1e3, refill(to_blocks, moved), refill(to_bins, moved),
      copies, floor, nothing, static_cast<double>(p.slots) / static_cast<double>(p.blocks()) / o.block);
  fmt::print("{}\n", row);
  return row;
}

}  // namespace

std::string time_patterns(const context& ctx, int smaller) {
  const index_t nodes = 1'000'000 / smaller;
  const std::int64_t pairs = 10'000'000 / smaller;
  std::vector<std::string> rows{time_pattern<float>(ctx, 4096, 16384, {6, true, true}, 50),
                                time_pattern<double>(ctx, 4096, 16384, {6, true, true}, 50),
                                time_pattern<float>(ctx, nodes, pairs, {6, false, true}, 10)};
  for (const index_t b : {6, 4, 3, 2}) {
    rows.push_back(time_pattern<float>(ctx, nodes, pairs, {b, true, true}, 10));
    rows.push_back(time_pattern<double>(ctx, nodes, pairs, {b, true, true}, 10));
  }
  return fmt::format(
      R"json("header": ["", "pattern, µs", "bins", "both", "G pairs/s", "refill of a BSR, µs (TB/s moved)", "of `bin_bsr`", )json"
      R"json("BSR to `bin_bsr`", "BSR to `bin_bsr.compact`", "copy of a refill's bytes / 4 bytes set", "padding"], "rows": [{}])json",
      fmt::join(rows, ",\n"));
}

}  // namespace tulle::bench
