// What a plan in another order gains on meshes whose unknowns were numbered at random, beside the natural order, the
// vendor and every kernel without one: `reorder [cpu|cuda] [-o FILE] [--small] [--only NAME] [--kernels] [--moves]`; or
// what reorder auto makes of matrices: `reorder [cpu|cuda] [-o FILE] --files FILE...`. --kernels: by each kernel;
// --moves: ways of bringing vectors into an order, by themselves.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;

struct mesh {
  const char* name;
  const char* spec;
};

struct timed {
  std::string kernel;
  double microseconds = 0;
};

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double application(const context& ctx, const linear_operator& a) {
  const auto [rows, cols] = a.dimensions();
  buffer<double> x(ctx, static_cast<std::size_t>(cols)), y(ctx, static_cast<std::size_t>(rows));
  vector_ops(ctx).random(1, x);
  return bench::microseconds(ctx, [&] { a.apply(1, x, 0, y); });
}

/// The fastest of some kernels that take the matrix, without an order.
timed best_of(const context& ctx, const matrix_ref& a, bool vendor) {
  timed best;
  for (const kernel_info& k : kernels(ctx.backend())) {
    const bool is_vendor = k.role == kernel_role::vendor;
    if (k.operation != kernel_operation::spmv || k.role == kernel_role::study || is_vendor != vendor) continue;
    try {
      spmv_options options;
      options.kernel = k.name;
      const any_spmv_plan plan(ctx, a, options);
      const double time = application(ctx, plan);
      if (best.kernel.empty() || time < best.microseconds) best = {std::string(k.name), time};
    } catch (const error&) {  // does not take it
    }
  }
  return best;
}

/// Microseconds of an iteration of conjugate gradients: a solve of 200, with all that it begins and ends with.
double iteration(const context& ctx, const matrix_ref& a, spmv_reorder reorder, std::string& kernel,
                 const std::string& spmv_kernel = {}) {
  const auto n = static_cast<std::size_t>(a.rows);
  buffer<double> b(ctx, n), x(ctx, n);
  vector_ops(ctx).random(2, b);
  cg_options options;
  options.rtol = 0;
  options.max_iterations = 200;
  options.zero_guess = true;
  options.spmv.reorder = reorder;
  options.spmv.kernel = spmv_kernel;
  const cg_solver solver(ctx, a, options);
  kernel = solver.kernel();
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    (void)solver.solve(b, x);
    times.push_back(microseconds_since(begin) / options.max_iterations);
  }
  std::ranges::sort(times);
  return times[2];
}

/// One way: x is read at random. Two: first into ranges of x that a cache holds, by the number of ranges.
void time_moves(const context& ctx, const permutation& order) {
  const auto n = static_cast<std::size_t>(order.size());
  buffer<double> x(ctx, n), y(ctx, n), between(ctx, n);
  vector_ops(ctx).random(1, x);
  fmt::print("  moves of {}: gather {:.1f}, scatter {:.1f} us", n, bench::microseconds(ctx, [&] { order.apply(x, y); }),
             bench::microseconds(ctx, [&] { order.apply_inverse(x, y); }));
  const std::vector<index_t> from = order.to_vector();
  for (const index_t ranges : {4, 8, 16, 32}) {
    const index_t span = (order.size() + ranges - 1) / ranges;
    std::vector<index_t> next, source(n), place(n);
    for (index_t r = 0; r < ranges; ++r) next.push_back(std::min(order.size(), r * span));
    for (std::size_t i = 0; i < n; ++i) {
      place[i] = next[static_cast<std::size_t>(from[i] / span)]++;
      source[static_cast<std::size_t>(place[i])] = from[i];
    }
    const permutation first(ctx, source), second(ctx, place);
    const double one = bench::microseconds(ctx, [&] { first.apply(x, between); });
    const double two = bench::microseconds(ctx, [&] { second.apply(between, y); });
    const double both = bench::microseconds(ctx, [&] { first.apply(x, between), second.apply(between, y); });
    const double out = bench::microseconds(ctx, [&] { second.apply_inverse(x, between); });
    const permutation inverse = first.inverse();
    const double back = bench::microseconds(ctx, [&] { inverse.apply(between, y); });
    fmt::print("; {} ranges {:.1f} + {:.1f} = {:.1f}, back {:.1f} + {:.1f}", ranges, one, two, both, out, back);
  }
  fmt::print("\n");
}

/// The plan in another order by some kernels, and an iteration of conjugate gradients by them.
void measure_kernels(const context& ctx, const mesh& m) {
  const matrix_ref natural = clone(ctx, matrix_ref(generate<double>(context::cpu(), m.spec)));
  const matrix_ref a = permute_symmetric(ctx, natural, bench::random_order(ctx, natural.rows));
  for (const char* kernel : {"packed", "csr5", "csr.stream", "sell", "ell"}) {
    spmv_options options;
    options.reorder = spmv_reorder::always;
    options.kernel = kernel;
    try {
      const any_spmv_plan plan(ctx, a, options);
      std::string solver;
      fmt::print("{} {}: reordered {:.1f} us, in its own order {:.1f}", m.name, kernel, application(ctx, plan),
                 application(ctx, plan.in_own_order()));
      fmt::print(", cg natural {:.1f}, reordered {:.1f}\n",
                 iteration(ctx, natural, spmv_reorder::never, solver, kernel),
                 iteration(ctx, a, spmv_reorder::always, solver, kernel));
    } catch (const error& e) {
      fmt::print("{}: {}\n", kernel, e.what());
    }
    std::fflush(stdout);
  }
}

using bench::row;
const row file_header = {"f64",
                         "nonzeros",
                         "effort max, µs",
                         "with auto, µs",
                         "speed of auto",
                         "of the same plan again",
                         "of another plan without auto",
                         "kernels",
                         "planning, ms",
                         "with auto"};

/// A matrix from a file by plans of effort max, applied by turns: without an order, the same again, another plan of the
/// same matrix, and one with reorder auto. Medians over some such sets, for two plans that differ in nothing but where
/// their memory is take different times, too. Empty below 10^5 entries.
row measure_file(const context& ctx, const std::string& file) {
  constexpr int sets = 7;
  const matrix_ref a = clone(ctx, matrix_ref(read_matrix_market<double>(file)));
  if (a.nnz < 100'000) return {};
  spmv_options options;
  options.effort = spmv_effort::max;
  spmv_options with_auto = options;
  with_auto.reorder = spmv_reorder::automatic;
  bench::applications applications(ctx, a.dimensions());
  std::vector<std::vector<double>> seen(7);  // two times, three ratios, planning twice
  std::set<std::string> kernels;
  std::string why;
  for (int i = 0; i < sets; ++i) {
    const any_spmv_plan plain(ctx, a, options), another(ctx, a, options), other(ctx, a, with_auto);
    const std::vector<double> us = applications.by_turns({&plain, &plain, &another, &other});
    const double values[] = {us[0],
                             us[3],
                             us[0] / us[3],
                             us[0] / us[1],
                             us[0] / us[2],
                             plain.plan_microseconds() / 1e3,
                             other.plan_microseconds() / 1e3};
    for (std::size_t v = 0; v < seen.size(); ++v) seen[v].push_back(values[v]);
    for (const any_spmv_plan* p : {&plain, &another, &other}) {
      kernels.insert(fmt::format("`{}`{}", p->kernel(), p->row_order() != nullptr ? " reordered" : ""));
    }
    why = other.explain();
  }
  const auto range = [](const std::vector<double>& v) {
    const auto [least, most] = std::ranges::minmax(v);
    return fmt::format("{:.2f} ({:.2f} to {:.2f})", bench::median(v), least, most);
  };
  const auto median = [](const std::vector<double>& v) { return fmt::format("{:.2f}", bench::median(v)); };
  const row made = {file.substr(file.rfind('/') + 1),
                    fmt::format("{}", a.nnz),
                    median(seen[0]),
                    median(seen[1]),
                    range(seen[2]),
                    range(seen[3]),
                    range(seen[4]),
                    fmt::format("{}", fmt::join(kernels, ", ")),
                    median(seen[5]),
                    median(seen[6])};
  const std::size_t order = why.find("; in ");
  fmt::print("{}{}\n", fmt::join(made, " | "), order == std::string::npos ? "" : why.substr(order));
  std::fflush(stdout);
  return made;
}

const row mesh_header = {"f64, renumbered", "natural order, µs", "best kernel of ours", "vendor's best",
                         "reordered",       "at effort max",     "over the best",       "in its own order",
                         "natural / own",   "planning, ms",      "pays after",          "iteration of cg: natural",
                         "renumbered",      "reordered",         "natural / reordered"};

spmv_options options_of(spmv_reorder reorder, spmv_effort effort = spmv_effort::standard) {
  spmv_options options;
  options.reorder = reorder;
  options.effort = effort;
  return options;
}

row measure(const context& ctx, const mesh& m, bool moves) {
  using enum spmv_reorder;
  const matrix_ref natural = clone(ctx, matrix_ref(generate<double>(context::cpu(), m.spec)));
  const matrix_ref shuffled = permute_symmetric(ctx, natural, bench::random_order(ctx, natural.rows));
  const double natural_us = application(ctx, any_spmv_plan(ctx, natural, options_of(never, spmv_effort::max)));
  const timed ours = best_of(ctx, shuffled, false), vendor = best_of(ctx, shuffled, true);
  timed plain;
  double cost = 0;
  {
    const any_spmv_plan plan(ctx, shuffled);
    plain = {std::string(plan.kernel()), application(ctx, plan)};
    cost = -plan.plan_microseconds();
  }
  timed standard;
  double own_standard = 0;
  {
    const any_spmv_plan plan(ctx, shuffled, options_of(always));
    standard = {std::string(plan.kernel()), application(ctx, plan)};
    own_standard = application(ctx, plan.in_own_order());
    cost += plan.plan_microseconds();
  }
  const any_spmv_plan plan(ctx, shuffled, options_of(always, spmv_effort::max));
  const double reordered = application(ctx, plan), own = application(ctx, plan.in_own_order());
  const double best = vendor.kernel.empty() ? ours.microseconds : std::min(ours.microseconds, vendor.microseconds);
  const double pays = cost / (plain.microseconds - standard.microseconds);
  const std::string pays_after = pays > 0 ? fmt::format("{:.0f}", pays) : "never";
  fmt::print(
      "{}: natural {:.1f} us; renumbered: default {:.1f} ({}), ours {:.1f} ({}), vendor {:.1f} ({}); reordered {:.1f} "
      "({}, own "
      "{:.1f}), at max {:.1f} ({}, own {:.1f}): {:.2f} times the best, {:.2f} of natural; pays after {}\n  {}\n",
      m.name, natural_us, plain.microseconds, plain.kernel, ours.microseconds, ours.kernel, vendor.microseconds,
      vendor.kernel, standard.microseconds, standard.kernel, own_standard, reordered, plan.kernel(), own,
      best / reordered, natural_us / own, pays_after, plan.explain());
  std::fflush(stdout);
  if (moves) time_moves(ctx, *plan.column_order());
  std::string kernel;
  const double cg_natural = iteration(ctx, natural, never, kernel), cg_plain = iteration(ctx, shuffled, never, kernel),
               cg_reordered = iteration(ctx, shuffled, always, kernel);
  fmt::print("  {}: natural {:.1f} us an iteration, renumbered {:.1f}, reordered {:.1f}: {:.2f} of natural\n", kernel,
             cg_natural, cg_plain, cg_reordered, cg_natural / cg_reordered);
  std::fflush(stdout);
  const auto us = [](double t) { return fmt::format("{:.1f}", t); };
  const auto with_kernel = [&](const timed& t) {
    return t.kernel.empty() ? std::string("-") : fmt::format("{:.1f} (`{}`)", t.microseconds, t.kernel);
  };
  return {m.name,
          us(natural_us),
          with_kernel(ours),
          with_kernel(vendor),
          with_kernel(standard),
          with_kernel({std::string(plan.kernel()), reordered}),
          fmt::format("{:.2f}", best / reordered),
          us(own),
          fmt::format("{:.2f}", natural_us / own),
          fmt::format("{:.1f}", cost / 1e3),
          pays_after,
          us(cg_natural),
          us(cg_plain),
          us(cg_reordered),
          fmt::format("{:.2f}", cg_natural / cg_reordered)};
}

}  // namespace

int main(int argc, char** argv) {
  bool on_cpu = false, small = false, moves = false, kernels = false;
  std::string file, only;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    on_cpu = on_cpu || argument == "cpu";
    small = small || argument == "--small";
    moves = moves || argument == "--moves";
    kernels = kernels || argument == "--kernels";
    if (argument == "-o" && i + 1 < argc) file = argv[++i];
    if (argument == "--files") files.assign(argv + i + 1, argv + argc);
    if (argument == "--only" && i + 1 < argc) only = argv[++i];
  }
  const mesh large_meshes[] = {{"7-point 128^3", "gen:stencil:points=7,n=128,values=spd"},
                               {"27-point 100^3", "gen:stencil:points=27,n=100,values=spd"},
                               {"7-point 256^3", "gen:stencil:points=7,n=256,values=spd"}};
  const mesh small_meshes[] = {{"7-point 40^3", "gen:stencil:points=7,n=40,values=spd"},
                               {"27-point 30^3", "gen:stencil:points=27,n=30,values=spd"}};
  const context ctx = on_cpu ? context::cpu() : context::cuda();
  std::vector<row> rows;
  for (const std::string& name : files) {
    if (row made = measure_file(ctx, name); !made.empty()) rows.push_back(std::move(made));
  }
  if (!files.empty()) return file.empty() ? 0 : bench::write_record(file, ctx, file_header, rows);
  for (const mesh& m : small ? std::span<const mesh>(small_meshes) : std::span<const mesh>(large_meshes)) {
    if (std::string(m.name).find(only) == std::string::npos) continue;
    if (kernels) {
      measure_kernels(ctx, m);
    } else {
      rows.push_back(measure(ctx, m, moves));
    }
  }
  return file.empty() ? 0 : bench::write_record(file, ctx, mesh_header, rows);
}
