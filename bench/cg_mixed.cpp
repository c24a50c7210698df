// Conjugate gradients in f64 beside mixed precision, whole solves to 1e-10 of ||b|| by Jacobi's preconditioner, in
// turns: `tulle_cg_mixed [cpu|cuda] [-o FILE] [--small] [--only TEXT] [--jacobi] [MATRIX...]`, TEXT: a part of a name,
// MATRIX: a file in Matrix Market form, instead of the suite, --jacobi: Jacobi's method in place of conjugate
// gradients. docs/notes/0021-precision-steps.md.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;
using clock_type = std::chrono::steady_clock;

constexpr double rtol = 1e-10;
constexpr int runs = 5;
constexpr std::int64_t large = 10'000'000;  // nonzeros, from which the mean counts

/// -div(k grad u) by finite volumes on n^3 cells, u = 0 outside; k is 1, or from 1 to `contrast` at random.
matrix_ref diffusion(int n, double contrast) {
  const auto cells = static_cast<std::size_t>(n) * n * n;
  std::mt19937 random(5);
  std::vector<double> k(cells, 1.0);
  if (contrast > 1) {
    for (double& v : k) v = std::exp(std::log(contrast) * (random() / 4294967296.0));
  }
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<double> values;
  rowptr.reserve(cells + 1);
  colind.reserve(7 * cells);
  values.reserve(7 * cells);
  const index_t steps[] = {-n * n, -n, -1, 0, 1, n, n * n};
  for (index_t i = 0; i < static_cast<index_t>(cells); ++i) {
    const int at[] = {i % n, i / n % n, i / n / n};
    double sum = 0;
    std::size_t diagonal = 0;
    for (int s = 0; s < 7; ++s) {
      if (s == 3) {
        diagonal = values.size();
        colind.push_back(i);
        values.push_back(0);
        continue;
      }
      const int axis = s < 3 ? 2 - s : s - 4, there = at[axis] + (s < 3 ? -1 : 1);
      const auto self = static_cast<std::size_t>(i);
      if (there < 0 || there >= n) {
        sum += 2 * k[self];
        continue;
      }
      const auto other = static_cast<std::size_t>(i + steps[s]);
      const double flow = 2 * k[self] * k[other] / (k[self] + k[other]);
      sum += flow;
      colind.push_back(i + steps[s]);
      values.push_back(-flow);
    }
    values[diagonal] = sum;
    rowptr.push_back(static_cast<std::int64_t>(colind.size()));
  }
  const auto size = static_cast<index_t>(cells);
  const csr_view<double, std::int64_t> view{size,
                                            size,
                                            static_cast<std::int64_t>(colind.size()),
                                            rowptr.data(),
                                            colind.data(),
                                            values.data(),
                                            memory_space::host};
  return clone(context::cpu(), view);
}

struct mesh {
  const char* name;
  const char* spec;     // of a generator; null: diffusion
  int n = 0;            // cells along an edge
  double contrast = 1;  // of the coefficient
};
constexpr mesh suite[] = {{"7-point 128^3, dominant", "gen:stencil:points=7,n=128,values=spd"},
                          {"7-point 200^3, dominant", "gen:stencil:points=7,n=200,values=spd"},
                          {"7-point 256^3, dominant", "gen:stencil:points=7,n=256,values=spd"},
                          {"27-point 128^3, dominant", "gen:stencil:points=27,n=128,values=spd"},
                          {"FEM 3x63^3, dominant", "gen:fem:dof=3,n=63,values=spd"},
                          {"5-point 3000^2, dominant", "gen:stencil:points=5,n=3000,values=spd"},
                          {"7-point 128^3, Poisson", nullptr, 128, 1},
                          {"7-point 200^3, Poisson", nullptr, 200, 1},
                          {"7-point 128^3, diffusion 1 to 1e3", nullptr, 128, 1e3},
                          {"7-point 128^3, diffusion 1 to 1e6", nullptr, 128, 1e6},
                          {"FEM 3x40^3, dominant", "gen:fem:dof=3,n=40,values=spd"},
                          {"7-point 64^3, Poisson", nullptr, 64, 1}};
constexpr mesh small_suite[] = {{"7-point 40^3, dominant", "gen:stencil:points=7,n=40,values=spd"},
                                {"7-point 40^3, Poisson", nullptr, 40, 1},
                                {"7-point 32^3, diffusion 1 to 1e6", nullptr, 32, 1e6}};

struct measured {
  std::vector<double> times;
  cg_result end;
  double truth = 0;  // ||b - A x|| / ||b||, computed here
};

double norm_of(const context& ctx, const vector_ref& v) {
  buffer<double> norm(ctx, 1);
  vector_ops(ctx).norm2(v, norm);
  return to_vector(ctx, norm).front();
}

class comparison {
 public:
  explicit comparison(const context& ctx) : ctx_(ctx) {}
  template <class Solver, class Options>
  void add(const std::string& name, const matrix_ref& host, Options o) {
    const matrix_ref a = clone(ctx_, host);
    const auto n = static_cast<std::size_t>(a.rows);
    buffer<double> b(ctx_, n), x(ctx_, n), r(ctx_, n);
    vector_ops(ctx_).random(3, b);
    o.rtol = rtol;
    const Solver wide(ctx_, a, o);
    o.precision = solver_precision::mixed;
    const Solver narrow(ctx_, a, o);
    const any_spmv_plan plan(ctx_, a);
    measured all[2];
    for (int run = 0; run <= runs; ++run) {
      for (const int i : {0, 1}) {
        vector_ops(ctx_).fill(0, x);
        ctx_.synchronize();
        const auto begin = clock_type::now();
        all[i].end = (i == 0 ? wide : narrow).solve(b, x);
        const double us = std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
        if (run > 0) all[i].times.push_back(us);
        if (run < runs) continue;
        vector_ops(ctx_).copy(b, r);
        plan.apply(-1, x, 1, r);
        all[i].truth = norm_of(ctx_, r) / all[i].end.rhs;
      }
    }
    report(name, a, all[0], all[1]);
    fmt::print("    {:.1f} MB in f64, {:.1f} MB mixed: {}\n", 1e-6 * static_cast<double>(wide.workspace_bytes()),
               1e-6 * static_cast<double>(narrow.workspace_bytes()), narrow.explain());
    std::fflush(stdout);
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] double mean() const { return counted_ == 0 ? 1 : std::exp(logarithms_ / counted_); }
  [[nodiscard]] int counted() const { return counted_; }
  [[nodiscard]] const std::vector<bench::row>& rows() const { return rows_; }

 private:
  void report(const std::string& name, const matrix_ref& a, const measured& wide, const measured& narrow) {
    const double us[] = {bench::median(wide.times), bench::median(narrow.times)};
    const auto per = [](double time, const measured& m) { return time / std::max(m.end.iterations, 1); };
    const double gain = us[0] / us[1];
    if (wide.end.converged() && !narrow.end.converged()) failed_ = true;
    if (a.nnz > large) {
      logarithms_ += std::log(gain);
      ++counted_;
    }
    fmt::print(
        "{:36} {:>10} nnz | f64 {:10.0f} us {:5} x {:7.2f}, {:.1e} {}| mixed {:10.0f} us {:5} x {:7.2f}, {:3} "
        "corrections, "
        "{} in f64, {:.1e} {}| {:.2f}\n",
        name, a.nnz, us[0], wide.end.iterations, per(us[0], wide), wide.truth,
        wide.end.converged() ? "" : "NOT CONVERGED ", us[1], narrow.end.iterations, per(us[1], narrow),
        narrow.end.corrections, narrow.end.wide_iterations, narrow.truth,
        narrow.end.converged() ? "" : "NOT CONVERGED ", gain);
    const auto status = [](const measured& m) { return m.end.converged() ? "" : " (not converged)"; };
    rows_.push_back({name, fmt::format("{}", a.nnz), fmt::format("{:.0f}", us[0]),
                     fmt::format("{}{}", wide.end.iterations, status(wide)), fmt::format("{:.1e}", wide.truth),
                     fmt::format("{:.0f}", us[1]), fmt::format("{}{}", narrow.end.iterations, status(narrow)),
                     fmt::format("{}", narrow.end.corrections), fmt::format("{}", narrow.end.wide_iterations),
                     fmt::format("{:.1e}", narrow.truth), fmt::format("{:.2f}", gain)});
  }

  context ctx_;
  std::vector<bench::row> rows_;
  double logarithms_ = 0;
  int counted_ = 0;
  bool failed_ = false;
};

/// By conjugate gradients, or by Jacobi's method.
void compare(comparison& all, bool jacobi, const std::string& name, const matrix_ref& a) {
  if (jacobi) return all.add<jacobi_solver>(name, a, jacobi_options{});
  cg_options options;
  options.zero_guess = true;
  all.add<cg_solver>(name, a, options);
}

matrix_ref made(const mesh& s) {
  return s.spec == nullptr ? diffusion(s.n, s.contrast) : matrix_ref(generate<double>(context::cpu(), s.spec));
}

}  // namespace

int main(int argc, char** argv) {
  std::string backend = "cuda", file, only;
  std::vector<std::string> matrices;
  bool small = false, jacobi = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-o" && i + 1 < argc) {
      file = argv[++i];
    } else if (word == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (word == "--jacobi") {
      jacobi = true;
    } else if (word == "--small") {
      small = true;
    } else if (word == "cpu" || word == "cuda") {
      backend = word;
    } else {
      matrices.push_back(word);
    }
  }
  const context ctx = backend == "cpu" ? context::cpu() : context::cuda();
  comparison all(ctx);
  for (const std::string& m : matrices) {
    compare(all, jacobi, std::filesystem::path(m).stem().string(), read_matrix_market<double>(m));
  }
  if (matrices.empty()) {
    const std::span<const mesh> systems = small ? std::span<const mesh>(small_suite) : suite;
    for (const mesh& s : systems) {
      if (std::string_view(s.name).find(only) != std::string_view::npos) compare(all, jacobi, s.name, made(s));
    }
  }
  fmt::print("geometric mean of {} systems above {} nonzeros: {:.3f}\n", all.counted(), large, all.mean());
  if (!file.empty()) {
    auto rows = all.rows();
    rows.push_back({fmt::format("geometric mean above {} nonzeros", large), "", "", "", "", "", "", "", "", "",
                    fmt::format("{:.2f}", all.mean())});
    const bench::row header{
        "f64, Jacobi, to 1e-10", "nonzeros", "f64, µs",  "iterations", "residual", "mixed, µs", "iterations",
        "corrections",           "in f64",   "residual", "f64 / mixed"};
    if (bench::write_record(file, ctx, header, rows) != 0) return 2;
  }
  return all.failed() ? 1 : 0;
}
