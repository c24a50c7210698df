// Orderings: how long reverse Cuthill-McKee takes on meshes whose unknowns are numbered at random, and what each
// ordering gains in SpMV on matrices from files. Usage: tulle_orderings [cpu|cuda] [--meshes SPEC...] [--check]
// [--files FILE...] [--orders FOLDER] [-o FILE]; on the CPU --threads N
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;
using bench::row;

template <class F>
double milliseconds(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Best of some runs; the orders stay in the context's memory.
double order_time(const context& ctx, const matrix_ref& a, ordering how, int runs) {
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const double ms = milliseconds([&] {
      (void)order(ctx, a, how);
      ctx.synchronize();
    });
    best = run == 0 ? ms : std::min(best, ms);
  }
  return best;
}

/// Median microseconds of an application of the plan that tulle chooses.
double application(const context& ctx, const matrix_ref& a) {
  const any_spmv_plan plan(ctx, a);
  buffer<double> x(ctx, static_cast<std::size_t>(a.cols)), y(ctx, static_cast<std::size_t>(a.rows));
  vector_ops(ctx).random(1, x);
  constexpr int runs = 21;
  std::vector<double> times;
  event begin(ctx), end(ctx);
  for (int i = 0; i < runs + 3; ++i) {
    begin.record(ctx.stream());
    plan.apply(1, x, 0, y);
    end.record(ctx.stream());
    end.synchronize();
    if (i >= 3) times.push_back(end.microseconds_since(begin));
  }
  std::ranges::nth_element(times, times.begin() + runs / 2);
  return times[runs / 2];
}

matrix_ref shuffled(const context& ctx, const matrix_ref& a) {
  return permute_symmetric(ctx, a, order(ctx, a, ordering::random));
}

row measure_mesh(const context& ctx, const std::string& spec, bool check) {
  const matrix_ref natural = clone(ctx, matrix_ref(generate<double>(context::cpu(), spec)));
  const double natural_us = application(ctx, natural);
  const matrix_ref a = shuffled(ctx, natural);
  const permutation rcm = order(ctx, a, ordering::rcm);  // warm: memory of the pool, modules
  const double ms = order_time(ctx, a, ordering::rcm, 3);
  const matrix_ref b = permute_symmetric(ctx, a, rcm);
  const order_quality before = measure_order(ctx, a), after = measure_order(ctx, b);
  const double a_us = application(ctx, a), b_us = application(ctx, b);
  std::string same;
  if (check) {
    const context host = context::cpu();
    same = order(host, clone(host, a), ordering::rcm).to_vector() == rcm.to_vector() ? "same" : "DIFFERENT";
  }
  fmt::print(
      "{}: rcm {:.2f} ms {}, bandwidth {} -> {}, profile {:.3g} -> {:.3g}, sectors of a thread per row {:.2f} -> "
      "{:.2f}; "
      "SpMV natural {:.1f}, renumbered {:.1f}, rcm {:.1f} us\n",
      spec, ms, same, before.bandwidth, after.bandwidth, static_cast<double>(before.profile),
      static_cast<double>(after.profile), before.sectors[0], after.sectors[0], natural_us, a_us, b_us);
  std::fflush(stdout);
  if (same == "DIFFERENT") std::exit(1);
  return {spec.substr(4),
          fmt::format("{:.1f}", ms),
          fmt::format("{}", before.bandwidth),
          fmt::format("{}", after.bandwidth),
          fmt::format("{:.2f} → {:.2f}", before.sectors[0], after.sectors[0]),
          fmt::format("{:.1f}", natural_us),
          fmt::format("{:.1f}", a_us),
          fmt::format("{:.1f}", b_us),
          fmt::format("{:.2f}", a_us / b_us)};
}

/// The order that the library gives or, where this build has not the library, that of FOLDER/MATRIX.ORDERING.txt, one
/// number per line. Nothing where there is neither.
std::optional<permutation> order_of(const context& ctx, const matrix_ref& a, ordering how, const std::string& file) {
  if (std::ranges::find(orderings(), how) != orderings().end()) return order(ctx, a, how);
  std::vector<index_t> elsewhere;
  std::ifstream numbers(file);
  for (index_t i = 0; numbers >> i;) elsewhere.push_back(i);
  if (elsewhere.empty()) return {};
  return permutation(ctx, elsewhere);
}

/// What each ordering gains by plans of effort max, each applied by turns with the plan in A's order.
void measure_file(const context& ctx, const std::string& file, const std::string& folder, std::vector<row>& to) {
  const matrix_ref a = clone(ctx, matrix_ref(read_matrix_market<double>(file)));
  const std::string name = std::filesystem::path(file).stem().string();
  const order_quality before = measure_order(ctx, a);
  spmv_options options;
  options.effort = spmv_effort::max;
  const any_spmv_plan plain(ctx, a, options);
  bench::applications applications(ctx, a.dimensions());
  for (const ordering how : {ordering::rcm, ordering::amd, ordering::nd, ordering::partition, ordering::degree,
                             ordering::length, ordering::random}) {
    if (a.rows != a.cols && how != ordering::length && how != ordering::random) continue;
    const bool here = std::ranges::find(orderings(), how) != orderings().end();
    std::optional<permutation> p;
    const double ms = milliseconds([&] {
      p = order_of(ctx, a, how, fmt::format("{}/{}.{}.txt", folder, name, tulle::name(how)));
      ctx.synchronize();
    });
    if (!p) continue;
    const bool of_rows = how == ordering::length || a.rows != a.cols;
    const matrix_ref b = of_rows ? permute_rows(ctx, a, *p) : permute_symmetric(ctx, a, *p);
    const order_quality after = measure_order(ctx, b);
    const any_spmv_plan ordered(ctx, b, options);
    const std::vector<double> us = applications.by_turns({&plain, &ordered, &plain});
    to.push_back({name, fmt::format("{}", a.nnz), std::string(tulle::name(how)), here ? fmt::format("{:.1f}", ms) : "-",
                  fmt::format("{} → {}", before.bandwidth, after.bandwidth),
                  fmt::format("{:.2f} → {:.2f}", before.sectors[0], after.sectors[0]),
                  fmt::format("{:.2f} (`{}`)", us[0], plain.kernel()),
                  fmt::format("{:.2f} (`{}`)", us[1], ordered.kernel()), fmt::format("{:.2f}", us[0] / us[1]),
                  fmt::format("{:.2f}", us[0] / us[2])});
    for (const std::string& cell : to.back()) fmt::print("{} ", cell);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool on_cpu = false, check = false;
  int threads = 0;
  std::string output, folder;
  std::vector<std::string> meshes, files, *list = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "cpu" || argument == "cuda") {
      on_cpu = argument == "cpu";
    } else if (argument == "--meshes") {
      list = &meshes;
    } else if (argument == "--files") {
      list = &files;
    } else if (argument == "--check") {
      check = true;
    } else if (argument == "--threads" && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (argument == "--orders" && i + 1 < argc) {
      folder = argv[++i];
    } else if (argument == "-o" && i + 1 < argc) {
      output = argv[++i];
    } else if (list != nullptr) {
      list->push_back(argument);
    } else {
      fmt::print(stderr,
                 "usage: tulle_orderings [cpu|cuda] [--threads N] [--check] [--orders FOLDER] [-o FILE] [--meshes "
                 "SPEC...] [--files FILE...]\n");
      return 2;
    }
  }
  const context ctx = on_cpu ? context::cpu(threads) : context::cuda();
  row header;
  std::vector<row> rows;
  if (!meshes.empty()) {
    header = {"mesh, renumbered",  "rcm, ms",    "bandwidth", "after rcm", "sectors per nonzero",
              "SpMV: natural, µs", "renumbered", "after rcm", "gain"};
    for (const std::string& spec : meshes) rows.push_back(measure_mesh(ctx, spec, check));
  } else {
    header = {"matrix",          "nonzeros", "ordering", "ms",           "bandwidth", "sectors per nonzero",
              "SpMV before, µs", "after",    "gain",     "before, again"};
    for (const std::string& file : files) measure_file(ctx, file, folder, rows);
  }
  return output.empty() ? 0 : bench::write_record(output, ctx, header, rows);
}
