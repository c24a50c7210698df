// What a sweep of Jacobi's method takes in its three forms, beside the product alone and the bytes that a sweep adds,
// on meshes in their natural order and renumbered at random: `tulle_jacobi [cpu|cuda] [-o FILE] [--small]`.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace {

using namespace tulle;

struct mesh {
  const char* name;
  const char* spec;
};
constexpr mesh large_meshes[] = {{"7-point 128^3", "gen:stencil:points=7,n=128,values=spd"},
                                 {"7-point 200^3", "gen:stencil:points=7,n=200,values=spd"},
                                 {"27-point 100^3", "gen:stencil:points=27,n=100,values=spd"}};
constexpr mesh small_meshes[] = {{"7-point 40^3", "gen:stencil:points=7,n=40,values=spd"}};
constexpr int sweeps = 200;

template <class F>
double median_of(int runs, const F& f) {
  std::vector<double> times;
  for (int i = 0; i < runs + 2; ++i) {
    const double time = f();
    if (i >= 2) times.push_back(time);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Microseconds of one of `many` calls on the stream.
template <class F>
double microseconds(const context& ctx, int many, const F& f) {
  event begin(ctx), end(ctx);
  return median_of(7, [&] {
    begin.record(ctx.stream());
    for (int i = 0; i < many; ++i) f();
    end.record(ctx.stream());
    end.synchronize();
    return end.microseconds_since(begin) / many;
  });
}

/// Of a sweep in the solver: what a solve of twice as many takes more, one residual included.
double sweep_of(const context& ctx, const matrix_ref& a, jacobi_options options, std::string& kernel) {
  const auto n = static_cast<std::size_t>(a.rows);
  buffer<double> b(ctx, n), x(ctx, n);
  vector_ops(ctx).random(2, b);
  fill_bytes(ctx, x.data(), ctx.space(), 0, x.bytes());
  options.rtol = 0;
  options.check_interval = sweeps;
  const auto solve = [&](int count) {
    options.max_iterations = count;
    const jacobi_solver solver(ctx, a, options);
    kernel = solver.kernel();
    return median_of(5, [&] {
      const auto begin = std::chrono::steady_clock::now();
      (void)solver.solve(b, x);
      return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    });
  };
  const double once = solve(sweeps);
  return (solve(2 * sweeps) - once) / sweeps;
}

permutation random_order(const context& ctx, index_t n) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return {ctx, order};
}

using row = std::vector<std::string>;
const row header = {"f64",  "A x, µs",   "a sweep adds, µs",  "together", "plain",       "over that",
                    "rows", "symmetric", "plain / symmetric", "kernel",   "of symmetric"};

row measure(const context& ctx, const std::string& name, const matrix_ref& a) {
  const auto n = static_cast<std::size_t>(a.rows);
  double product = 0, added = 0;
  {
    const any_spmv_plan plan(ctx, a);
    buffer<double> x(ctx, n), y(ctx, n), b(ctx, n);
    const vector_ops ops(ctx);
    ops.random(1, x);
    ops.random(2, y);
    // As a sweep does: what was written last is read next.
    product = microseconds(ctx, 20,
                           [&] {
                             plan.apply(0.1, x, 0, y);
                             plan.apply(0.1, y, 0, x);
                           }) /
              2;
    // b, the inverse diagonal and x again: as many bytes as y = a x + b y moves, without what a launch costs.
    ops.random(3, b);
    const double whole = microseconds(ctx, 20, [&] { ops.axpby(0.5, x, 0.5, b); });
    const double launch = microseconds(
        ctx, 20, [&] { ops.fill(0, vector_ref(scalar_type::f64, y.data(), 1, ctx.space(), ctx.device())); });
    added = std::max(0.0, whole - launch);
  }
  jacobi_options options;
  std::string kernel, of_symmetric;
  const double plain = sweep_of(ctx, a, options, kernel);
  options.form = jacobi_form::rows;
  options.order = ordering::length;
  const double rows = sweep_of(ctx, a, options, of_symmetric);
  options.form = jacobi_form::symmetric;
  options.order = ordering::rcm;
  const double symmetric = sweep_of(ctx, a, options, of_symmetric);
  fmt::print(
      "{}: A x {:.1f} us, bytes {:.1f}; sweep: plain {:.1f} ({}), {:.2f} of that; rows {:.1f}, symmetric {:.1f} ({}), "
      "{:.2f} times plain's speed\n",
      name, product, added, plain, kernel, plain / (product + added), rows, symmetric, of_symmetric, plain / symmetric);
  std::fflush(stdout);
  const auto us = [](double t) { return fmt::format("{:.1f}", t); };
  return {name,
          us(product),
          us(added),
          us(product + added),
          us(plain),
          fmt::format("{:.2f}", plain / (product + added)),
          us(rows),
          us(symmetric),
          fmt::format("{:.2f}", plain / symmetric),
          fmt::format("`{}`", kernel),
          fmt::format("`{}`", of_symmetric)};
}

std::string json(const row& cells) {
  std::string out;
  for (const std::string& cell : cells) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", cell);
  return "[" + out + "]";
}

/// As tools/bench_table.py takes it.
int write(const std::string& file, const context& ctx, const std::vector<row>& rows) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return 1;
  std::string text;
  for (const row& cells : rows) text += (text.empty() ? "\n  " : ",\n  ") + json(cells);
  fmt::print(
      out,
      "{{\n \"context\": {{\"commit\": \"{}\", \"date\": \"{:%FT%TZ}\", \"device\": \"{}\"}},\n \"header\": {},\n"
      " \"rows\": [{}\n ]\n}}\n",
      built_from().commit, fmt::gmtime(std::time(nullptr)), ctx.info().name, json(header), text);
  return std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  bool on_cpu = false, small = false;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    on_cpu = on_cpu || argument == "cpu";
    small = small || argument == "--small";
    if (argument == "-o" && i + 1 < argc) file = argv[++i];
  }
  const context ctx = on_cpu ? context::cpu() : context::cuda();
  std::vector<row> rows;
  for (const mesh& m : small ? std::span<const mesh>(small_meshes) : std::span<const mesh>(large_meshes)) {
    const matrix_ref natural = clone(ctx, matrix_ref(generate<double>(context::cpu(), m.spec)));
    rows.push_back(measure(ctx, m.name, natural));
    rows.push_back(measure(ctx, fmt::format("{}, renumbered", m.name),
                           permute_symmetric(ctx, natural, random_order(ctx, natural.rows))));
  }
  return file.empty() ? 0 : write(file, ctx, rows);
}
