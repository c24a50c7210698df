// What a sweep of Jacobi's method takes in its three forms, beside the product alone and the bytes that a sweep adds,
// on meshes in their natural order and renumbered at random: `tulle_jacobi [cpu|cuda] [-o FILE] [--small]`.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
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
constexpr mesh large_meshes[] = {{"7-point 128^3", "gen:stencil:points=7,n=128,values=spd"},
                                 {"7-point 200^3", "gen:stencil:points=7,n=200,values=spd"},
                                 {"27-point 100^3", "gen:stencil:points=27,n=100,values=spd"}};
constexpr mesh small_meshes[] = {{"7-point 40^3", "gen:stencil:points=7,n=40,values=spd"}};
constexpr int sweeps = 100;

template <class F>
double median_of(int runs, const F& f) {
  std::vector<double> times;
  for (int i = 0; i < runs + 2; ++i) {
    const double time = f();
    if (i >= 2) times.push_back(time);
  }
  return bench::median(times);
}

/// Microseconds of one of `many` calls on the stream.
template <class F>
double microseconds(const context& ctx, int many, const F& f) {
  return median_of(7, [&] { return bench::sample(ctx, many, f); });
}

/// Microseconds in which 8 bytes of each of 3 vectors move, per element, where no cache holds the vectors: the matrix
/// passes through the caches between one sweep and the next.
double microseconds_per_element(const context& ctx) {
  const std::size_t n = ctx.backend() == backend_kind::cpu ? 1U << 23U : 1U << 26U;
  buffer<double> x(ctx, n);
  buffer<double> y(ctx, n);
  fill_bytes(ctx, x.data(), ctx.space(), 0, x.bytes());
  fill_bytes(ctx, y.data(), ctx.space(), 0, y.bytes());
  const vector_ops ops(ctx);
  return microseconds(ctx, 4, [&] { ops.axpby(0.5, x, 0.5, y); }) / static_cast<double>(n);
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
    return median_of(3, [&] {
      const auto begin = std::chrono::steady_clock::now();
      (void)solver.solve(b, x);
      return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    });
  };
  const double once = solve(sweeps);
  return (solve(2 * sweeps) - once) / sweeps;
}

using bench::row;
const row header = {"f64",           "A x, µs", "3 vectors, µs", "sweep, plain",      "over product and 3 vectors",
                    "and 2 vectors", "rows",    "symmetric",     "plain / symmetric", "kernel",
                    "of symmetric"};

row measure(const context& ctx, const std::string& name, const matrix_ref& a, double per_element) {
  const auto n = static_cast<std::size_t>(a.rows);
  double product = 0;
  {
    const any_spmv_plan plan(ctx, a);
    buffer<double> x(ctx, n), y(ctx, n);
    vector_ops(ctx).random(1, x);
    vector_ops(ctx).random(2, y);
    // As a sweep does: what was written last is read next.
    product = microseconds(ctx, 20,
                           [&] {
                             plan.apply(0.1, x, 0, y);
                             plan.apply(0.1, y, 0, x);
                           }) /
              2;
  }
  // b, the inverse diagonal, and x at the row, which in a good order was a column a moment ago.
  const double added = per_element * static_cast<double>(n);
  jacobi_options options;
  std::string kernel, of_symmetric;
  const double plain = sweep_of(ctx, a, options, kernel);
  options.form = jacobi_form::rows;
  options.order = ordering::length;
  const double rows = sweep_of(ctx, a, options, of_symmetric);
  options.form = jacobi_form::symmetric;
  options.order = ordering::rcm;
  const double symmetric = sweep_of(ctx, a, options, of_symmetric);
  const double over = plain / (product + added), over_two = plain / (product + 2 * added / 3);
  fmt::print(
      "{}: A x {:.1f} us, 3 vectors {:.1f}; sweep: plain {:.1f} ({}), {:.3f} of both, {:.3f} with two; rows {:.1f}, "
      "symmetric {:.1f} ({}), {:.2f} times plain's speed\n",
      name, product, added, plain, kernel, over, over_two, rows, symmetric, of_symmetric, plain / symmetric);
  std::fflush(stdout);
  const auto us = [](double t) { return fmt::format("{:.1f}", t); };
  return {name,
          us(product),
          us(added),
          us(plain),
          fmt::format("{:.2f}", over),
          fmt::format("{:.2f}", over_two),
          us(rows),
          us(symmetric),
          fmt::format("{:.2f}", plain / symmetric),
          fmt::format("`{}`", kernel),
          fmt::format("`{}`", of_symmetric)};
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
  const double per_element = microseconds_per_element(ctx);
  std::vector<row> rows;
  for (const mesh& m : small ? std::span<const mesh>(small_meshes) : std::span<const mesh>(large_meshes)) {
    const matrix_ref natural = clone(ctx, matrix_ref(generate<double>(context::cpu(), m.spec)));
    const matrix_ref renumbered = permute_symmetric(ctx, natural, bench::random_order(ctx, natural.rows));
    rows.push_back(measure(ctx, m.name, natural, per_element));
    rows.push_back(measure(ctx, fmt::format("{}, renumbered", m.name), renumbered, per_element));
  }
  return file.empty() ? 0 : bench::write_record(file, ctx, header, rows);
}
