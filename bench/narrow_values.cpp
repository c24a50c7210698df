// What storing values in fewer bytes gains in y = A x: the same patterns with values that are floats, bf16, of 256, of
// 16 and of 2 kinds, and f32 values under f64 vectors, beside values that take all bytes of a double; on a CPU the last
// in CSR, too: `tulle_narrow_values [cpu|cuda] [-o FILE] [MATRIX...]`.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;

using bench::row;
const row header = {"matrix",   "values",   "kernel",   "stored",   "bytes a nonzero",
                    "plan, ms", "cold, µs", "over f64", "warm, µs", "over f64"};

/// Microseconds of f on the stream; `before` runs ahead of each and is not counted.
template <class Before, class F>
double microseconds(const context& ctx, int runs, const Before& before, const F& f) {
  event begin(ctx), end(ctx);
  std::vector<double> times;
  for (int i = 0; i < runs + 2; ++i) {
    before();
    begin.record(ctx.stream());
    f();
    end.record(ctx.stream());
    end.synchronize();
    if (i >= 2) times.push_back(end.microseconds_since(begin));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Values of one kind, made of random ones in (-1, 1) and of where they are.
struct kind {
  const char* name;
  double (*make)(double random, bool on_diagonal);
};
constexpr kind kinds[] = {
    {"f64", [](double v, bool) { return v; }},
    {"floats", [](double v, bool) -> double { return static_cast<float>(v); }},
    {"bf16",
     [](double v, bool) -> double {
       return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffff0000u);
     }},
    {"256 different", [](double v, bool) { return std::floor(v * 128) / 3; }},
    {"16 different", [](double v, bool) { return std::floor(v * 8) / 3; }},
    {"2 different", [](double, bool diagonal) { return diagonal ? 26.1 : -0.9; }},
};

struct measured {
  double cold, warm;
  row cells;
};

measured measure(const context& ctx, const matrix_ref& host, const std::string& kernel = {}) {
  const matrix_ref a = clone(ctx, host);
  const spmv_options options{.kernel = kernel, .vector_type = scalar_type::f64};
  (void)any_spmv_plan(ctx, a, options);  // the first plan of a process has to find the memory
  const any_spmv_plan plan(ctx, a, options);
  buffer<double> x(ctx, static_cast<std::size_t>(a.cols)), y(ctx, static_cast<std::size_t>(a.rows));
  const vector_ops ops(ctx);
  ops.random(1, x);
  buffer<std::byte> other(ctx, std::size_t{512} << 20);
  unsigned char with = 0;
  const auto apply = [&] { plan.apply(1, x, 0, y); };
  const auto overwrite = [&] { fill_bytes(ctx, other.data(), ctx.space(), ++with, other.bytes()); };
  const double cold = microseconds(ctx, 11, overwrite, apply), warm = microseconds(
                                                                   ctx, 21, [] {}, apply);
  const std::string parameters = plan.parameters();
  const std::size_t at = parameters.find("values=");
  const std::string stored = at == std::string::npos ? "whole" : parameters.substr(at + 7);
  return {cold,
          warm,
          {fmt::format("`{}`", plan.kernel()), stored.substr(0, stored.find(' ')),
           fmt::format("{:.2f}", static_cast<double>(plan.matrix_bytes()) / static_cast<double>(a.nnz)),
           fmt::format("{:.0f}", plan.plan_microseconds() / 1000)}};
}

void add(std::vector<row>& rows, const std::string& matrix, const std::string& values, const measured& m,
         const measured& whole) {
  row cells = {matrix, values};
  cells.insert(cells.end(), m.cells.begin(), m.cells.end());
  for (const auto& [mine, other] : {std::pair(m.cold, whole.cold), std::pair(m.warm, whole.warm)}) {
    cells.push_back(fmt::format("{:.1f}", mine));
    cells.push_back(fmt::format("{:.2f}", other / mine));
  }
  fmt::print("{}\n", fmt::join(cells, "  "));
  std::fflush(stdout);
  rows.push_back(std::move(cells));
}

void measure_all(const context& ctx, const std::string& spec, std::vector<row>& rows) {
  csr<double> a = generate<double>(context::cpu(), spec);
  const std::vector<double> random(a.values.data(), a.values.data() + a.values.size());
  const csr<float> floats = generate<float>(context::cpu(), spec);
  const bool on_cpu = ctx.backend() == backend_kind::cpu;
  measured whole, in_place;
  if (on_cpu) in_place = measure(ctx, matrix_ref(a), "csr.balanced");
  for (const kind& k : kinds) {
    for (index_t r = 0; r < a.rows; ++r) {
      for (auto e = a.rowptr.data()[r]; e < a.rowptr.data()[r + 1]; ++e) {
        a.values.data()[e] = k.make(random[static_cast<std::size_t>(e)], a.colind.data()[e] == r);
      }
    }
    const measured m = measure(ctx, matrix_ref(a));
    if (&k == kinds) whole = m;
    add(rows, spec, k.name, m, whole);
  }
  const char* narrow = "f32, f64 vectors";
  add(rows, spec, narrow, measure(ctx, matrix_ref(floats)), whole);
  if (!on_cpu) return;
  add(rows, spec, "f64", in_place, in_place);
  add(rows, spec, narrow, measure(ctx, matrix_ref(floats), "csr.balanced"), in_place);
}

}  // namespace

int main(int argc, char** argv) {
  bool on_cpu = false;
  std::string file;
  std::vector<std::string> matrices;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "cpu") on_cpu = true;
    if (argument == "-o" && i + 1 < argc) file = argv[++i];
    if (argument.starts_with("gen:")) matrices.push_back(argument);
  }
  if (matrices.empty()) {
    matrices = {"gen:stencil:points=7,n=128", "gen:stencil:points=27,n=100", "gen:fem:dof=3,n=40",
                "gen:stencil:points=7,n=56",  "gen:stencil:points=27,n=24",  "gen:stencil:points=7,n=24"};
  }
  const context ctx = on_cpu ? context::cpu() : context::cuda();
  std::vector<row> rows;
  for (const std::string& spec : matrices) measure_all(ctx, spec, rows);
  return file.empty() ? 0 : bench::write_record(file, ctx, header, rows);
}
