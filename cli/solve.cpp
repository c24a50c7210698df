// tulle solve: A x = b by conjugate gradients or Jacobi's method, with the true residual and how it ended.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <tulle/solvers/cg.hpp>
#include <tulle/solvers/jacobi.hpp>

#include "bench/cells.hpp"
#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/inputs.hpp"
#include "common/matrix.hpp"
#include "common/ordering.hpp"
#include "common/page.hpp"
#include "common/progress.hpp"
#include "common/workload.hpp"
#include "plot/picture.hpp"
#include "plot/residuals.hpp"
#include "plot/text.hpp"

namespace tulle::cli {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::uint64_t rhs_seed = 1;
constexpr std::string_view preconditioner_names[] = {"none", "jacobi", "block_jacobi", "chebyshev"};
constexpr std::string_view form_names[] = {"plain", "rows", "symmetric"};

struct settings {
  run_options run;
  std::string matrix, b, output, plot;
  std::string method = "cg";
  std::string preconditioner = "jacobi";
  int block = 0;
  bool whole_blocks = false;
  int degree = 3;
  double rtol = 1e-8;
  double atol = 0;
  double omega = 1;
  std::string form = "plain";
  std::string order;        // a method's name; empty: that of the form
  std::string permutation;  // a file, instead
  bool match = false;
  int check_interval = 10;
  int max_iterations = 10'000;
  int replace_interval = 0;
  std::vector<CLI::Option*> of_cg, of_jacobi, of_blocks, of_chebyshev;  // options that others have no use for
};

struct solve_result {
  matrix_facts matrix;
  std::string_view precision;
  std::string_view backend;
  std::string method;
  std::string explanation;
  double target = 0;
  double setup_us = 0;
  double solve_us = 0;
  std::optional<narrowing> stored = {};  // of A, where that is not what was given
  double true_residual = 0;              // then: of A as it was given
  std::string failure = {};              // what the set-up found, where there was nothing to iterate with
  cg_result end;

  [[nodiscard]] std::string_view status_name() const { return name(static_cast<status>(end.code)); }
  [[nodiscard]] double relative() const { return end.rhs == 0 ? 0 : end.residual / end.rhs; }
  [[nodiscard]] double iteration_us() const { return solve_us / std::max(end.iterations, 1); }
};

double microseconds_since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

json to_json(const solve_result& r) {
  json record = to_json(r.matrix);
  record.update(object(
      field("precision", r.precision), field("backend", r.backend), field("method", r.method),
      field("reason", r.explanation), field("status", r.status_name()), field("converged", r.end.converged()),
      field("iterations", r.end.iterations), field("residual", number(r.end.residual)), field("rhs", number(r.end.rhs)),
      field("relative_residual", number(r.relative())), field("target", number(r.target)),
      field("setup_us", r.setup_us), field("solve_us", r.solve_us), field("iteration_us", r.iteration_us())));
  if (r.stored) {
    record.update(to_json(*r.stored));
    record["true_residual"] = number(r.true_residual);
  } else if (r.precision == "mixed") {
    record.update(object(field("corrections", r.end.corrections), field("wide_iterations", r.end.wide_iterations)));
  }
  return record;
}

void print_text(const solve_result& r) {
  page to(stdout);
  to.line(fmt::format("{}, {}", headline(r.matrix), r.precision));
  to.fact("method", bench::without_plan_time(r.explanation));
  to.fact("backend", r.backend);
  to.fact("set-up", human_time(r.setup_us));
  to.fact("solve", fmt::format("{}: {} of {}", human_time(r.solve_us), counted(r.end.iterations, "iteration"),
                               human_time(r.iteration_us())));
  to.fact("residual",
          fmt::format("{:.3e} = {:.3e} of ||b||; {:.3e} was asked for", r.end.residual, r.relative(), r.target));
  if (r.stored) {
    to.fact("stored", fmt::format("A within {}; of A as it was given the residual is {:.3e}", r.stored->label(),
                                  r.true_residual));
  } else if (r.precision == "mixed") {
    to.fact("mixed", fmt::format("{} in f64; {} in f64, the others in f32", counted(r.end.corrections, "correction"),
                                 counted(r.end.wide_iterations, "iteration")));
  }
  to.fact("status", r.status_name());
  to.print(stdout);
}

/// One line on a terminal, written over itself a few times a second. The residual falls by about the same factor in
/// every iteration: how far it has come, in logarithms, is how much is done.
class solve_progress {
 public:
  solve_progress(double target, int most) : target_(target), most_(most) {}
  void operator()(int iterations, double residual) {
    if (first_ == 0) first_ = residual;
    const double way = std::log(first_ / residual) / std::log(first_ / target_);
    const double by_residual = std::isfinite(way) ? way : 0;
    bar_.tell(fmt::format("{}, residual {:.3e} of {:.3e}", counted(iterations, "iteration"), residual, target_),
              std::max(by_residual, static_cast<double>(iterations) / std::max(most_, 1)));
  }

 private:
  progress_bar bar_;
  double target_;
  int most_;
  double first_ = 0;
};

/// Gives both kinds of solver what --precision asks for.
template <class Options>
void take_precision(const run_options& o, Options& options) {
  const narrowing of_a = narrowing_of_solver(o);
  of_a.tell(options.spmv);
  if (o.precision == "mixed" && !of_a.is_asked_for()) options.precision = solver_precision::mixed;
}

template <scalar T>
double norm2(const std::vector<T>& v) {
  double squares = 0;
  for (const T e : v) squares += static_cast<double>(e) * static_cast<double>(e);
  return std::sqrt(squares);
}

/// ||b - A x||.
template <scalar T>
double residual(const context& ctx, const matrix_ref& a, const std::vector<T>& b, const buffer<T>& x) {
  buffer<T> r = to_buffer(ctx, b);
  any_spmv_plan(ctx, a).apply(-1, x, 1, r);
  return norm2(to_vector(ctx, r));
}

template <scalar T>
cg_result by_cg(const context& ctx, const settings& s, const matrix_ref& a, const buffer<T>& b, buffer<T>& x,
                const std::function<void(int, double)>& progress, solve_result& r) {
  cg_options options;
  options.rtol = s.rtol;
  options.atol = s.atol;
  options.max_iterations = s.max_iterations;
  options.keep_history = !s.plot.empty();
  options.preconditioner = static_cast<preconditioner_kind>(std::ranges::find(preconditioner_names, s.preconditioner) -
                                                            std::begin(preconditioner_names));
  options.replace_interval = s.replace_interval;
  options.block = s.block;
  options.narrow_blocks = !s.whole_blocks;
  options.degree = s.degree;
  options.kernel = s.run.kernel;
  take_precision(s.run, options);
  take_reorder_option(s.run, options.spmv);
  if (!s.permutation.empty()) {
    if (options.spmv.reorder == spmv_reorder::never) options.spmv.reorder = spmv_reorder::always;
    options.spmv.reorder_method = read_permutation(ctx, s.permutation, a.rows).to_vector();
  }
  options.progress = progress;
  auto begin = clock::now();
  const cg_solver solver(ctx, a, options);  // throws INDEFINITE
  r.setup_us = microseconds_since(begin);
  r.explanation = solver.explain();
  begin = clock::now();
  cg_result end = solver.solve(b, x);
  r.solve_us = microseconds_since(begin);
  return end;
}

template <scalar T>
cg_result by_jacobi(const context& ctx, const settings& s, const matrix_ref& a, const buffer<T>& b, buffer<T>& x,
                    const std::function<void(int, double)>& progress, solve_result& r) {
  jacobi_options options;
  options.rtol = s.rtol;
  options.atol = s.atol;
  options.max_iterations = s.max_iterations;
  options.omega = s.omega;
  options.check_interval = s.check_interval;
  options.keep_history = !s.plot.empty();
  options.form = static_cast<jacobi_form>(std::ranges::find(form_names, s.form) - std::begin(form_names));
  if (!s.order.empty()) options.order = ordering_named(s.order);
  if (!s.permutation.empty()) options.order = read_permutation(ctx, s.permutation, a.rows).to_vector();
  options.match = s.match;
  options.spmv.kernel = s.run.kernel;
  take_precision(s.run, options);
  take_reorder_option(s.run, options.spmv);
  options.progress = progress;
  auto begin = clock::now();
  const jacobi_solver solver(ctx, a, options);
  r.setup_us = microseconds_since(begin);
  r.explanation = solver.explain();
  begin = clock::now();
  cg_result end = solver.solve(b, x);
  r.solve_us = microseconds_since(begin);
  return end;
}

plot::residual_history history_of(const settings& s, const solve_result& r) {
  const bool cg = s.method == "cg";
  const std::string how = cg ? fmt::format("preconditioner {}", s.preconditioner) : fmt::format("omega {:g}", s.omega);
  return {.text = {fmt::format("Residual of {} on {}", r.method, r.matrix.name),
                   {fmt::format("{}, {}", plot::size_text(r.matrix.rows, r.matrix.cols, r.matrix.nnz), r.precision),
                    fmt::format("{}, {} after {}", how, r.status_name(), counted(r.end.iterations, "iteration"))}},
          .residuals = r.end.history,
          .stride = cg ? 1 : s.check_interval,
          .iterations = r.end.iterations,
          .target = r.target,
          .at_end = r.end.residual};
}

/// A preconditioner that could not be made: x is still 0.
void not_begun(solve_result& r, const error& e, double rhs) {
  r.failure = e.what();
  r.explanation = fmt::format("none: {}", e.what());
  r.end.code = static_cast<std::int32_t>(e.code());
  r.end.residual = r.end.rhs = rhs;
}

std::string what_failed(const settings& s, const solve_result& r, const matrix_ref& a) {
  std::string text = r.failure.empty()
                         ? fmt::format("{} after {}: the residual is {:.3e}, {:.3e} was asked for", r.status_name(),
                                       counted(r.end.iterations, "iteration"), r.end.residual, r.target)
                         : fmt::format("{}: {}", r.status_name(), r.failure);
  if (s.method != "cg") return text;
  if (const auto at = first_asymmetry(a)) {
    text += fmt::format("; A is not symmetric: a_ij and a_ji differ at row {}, column {}, counted from 0", at->row,
                        at->col);
  }
  return text;
}

template <scalar T>
int solve(const settings& s, bool stdout_taken) {
  const context ctx = make_context(s.run);
  require_kernel(ctx.backend(), s.method == "cg" ? kernel_operation::cg : kernel_operation::spmv, s.run.kernel);
  check_inputs(s.b.empty() ? std::vector{s.matrix} : std::vector{s.matrix, s.b});
  const named_matrix loaded = load_real(s.matrix, s.run, "solve");
  const index_t n = loaded.matrix.rows;
  const matrix_ref a = place(ctx, loaded.matrix, offsets_for(loaded.matrix.nnz));
  const std::vector<T> rhs =
      s.b.empty() ? random_vector<T>(static_cast<std::size_t>(n), rhs_seed) : load_vector<T>(s.b, n, "b", s.run);
  const buffer<T> b = to_buffer(ctx, rhs);
  buffer<T> x = to_buffer(ctx, std::vector<T>(rhs.size()));
  const bool mixed = s.run.precision == "mixed";
  solve_result r{.matrix = loaded.facts(),
                 .precision = mixed ? "mixed" : name(a.types.value),
                 .backend = name(ctx.backend()),
                 .method = s.method,
                 .explanation = {},
                 .end = {}};
  r.target = std::max(s.rtol * norm2(rhs), s.atol);
  try {
    solve_progress line(r.target, s.max_iterations);
    const auto progress = [&](int iterations, double residual) { line(iterations, residual); };
    r.end = s.method == "cg" ? by_cg<T>(ctx, s, a, b, x, progress, r) : by_jacobi<T>(ctx, s, a, b, x, progress, r);
  } catch (const error& e) {
    if (e.code() != status::indefinite) throw;
    not_begun(r, e, norm2(rhs));
  }
  if (const narrowing of_a = narrowing_of_solver(s.run); of_a.is_asked_for()) {
    r.stored = of_a;
    r.true_residual = residual(ctx, a, rhs, x);
  }
  const std::vector<T> solution = to_vector(ctx, x);
  const bool is_finite = r.end.code != static_cast<std::int32_t>(status::not_finite), begun = r.failure.empty();
  const bool written = !s.output.empty() && is_finite && begun;
  if (written) write_vector(s.output, host_span<const T>(solution));
  if (!s.plot.empty() && begun) {
    plot::draw_residuals(s.plot, history_of(s, r));
    note_written(s.plot);
  }
  if (!stdout_taken) print(r, s.run.json);
  if (r.end.converged()) return ok;
  complain(what_failed(s, r, loaded.matrix) + (s.output.empty() || written ? "" : "; x is not written"));
  return not_converged;
}

void check_bound(const char* option, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw error(status::invalid_argument, fmt::format("{} {}: must be a number, 0 or above", option, value));
}

int run(const settings& s) {
  (void)narrowing_of_solver(s.run);  // before anything is read
  plot::check_picture("--plot", s.plot);
  check_bound("--rtol", s.rtol);
  check_bound("--atol", s.atol);
  if (s.method != "cg") refuse_idle(s.of_cg, "--method cg");
  if (!s.order.empty() && !s.permutation.empty()) {
    throw error(status::invalid_argument, "--order and --permutation exclude each other");
  }
  if (s.method != "jacobi") refuse_idle(s.of_jacobi, "--method jacobi");
  if (s.method == "jacobi" && s.form == "plain" && !(s.order.empty() && s.permutation.empty())) {
    throw error(status::invalid_argument,
                fmt::format("{} goes with --form rows or symmetric", s.order.empty() ? "--permutation" : "--order"));
  }
  if (s.preconditioner != "block_jacobi") refuse_idle(s.of_blocks, "--preconditioner block_jacobi");
  if (s.preconditioner != "chebyshev") refuse_idle(s.of_chebyshev, "--preconditioner chebyshev");
  const bool stdout_taken = check_outputs(s.run.json, {{"--output", s.output, true}, {"--plot", s.plot}});
  return s.run.precision == "f32" ? solve<float>(s, stdout_taken) : solve<double>(s, stdout_taken);
}

}  // namespace

void add_solve(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "solve", "A x = b by conjugate gradients or Jacobi's method",
                  "A must be symmetric positive definite (--method cg). What does not converge is exit code 4, with "
                  "the status: NOT_CONVERGED, INDEFINITE, BREAKDOWN or NOT_FINITE.\n"
                  "Examples: tulle solve a.mtx b.mtx -o x.mtx\n"
                  "          tulle solve gen:stencil:points=7,n=50,values=spd --rtol 1e-10 --plot residual.svg\n"
                  "          tulle solve gen:fem:n=10,values=spd --preconditioner block_jacobi",
                  run);
  add_matrix(command, "matrix", s.matrix)->required();
  add_matrix(command, "b", s.b, "Right-hand side, Matrix Market n x 1; random in [-1, 1) otherwise");
  add_file(command, "-o,--output", s.output, "Write x as a Matrix Market array; - is stdout, which then holds x alone");
  add_file(
      command, "--plot", s.plot,
      fmt::format("Draw the residual of every iteration (jacobi: wherever it is looked at): {}", plot::picture_help));
  add_choice(command, "--method", s.method, {"cg", "jacobi"}, "Conjugate gradients, or x += omega D^-1 (b - A x)");
  s.of_cg = {add_choice(command, "--preconditioner", s.preconditioner, {"none", "jacobi", "block_jacobi", "chebyshev"},
                        "Of cg: the diagonal, its blocks, or a polynomial in A"),
             add_count(command, "--replace-interval", s.replace_interval, -1, 1'000'000'000,
                       "Iterations of cg after which b - A x replaces the recursive residual; 0: chosen, -1: never")};
  s.of_blocks = {add_count(command, "--block", s.block, 0, 8, "Rows of the blocks of block_jacobi; 0: chosen"),
                 command.add_flag("--whole-blocks", s.whole_blocks,
                                  "Of block_jacobi: inverses of blocks with all their bits, however well conditioned")};
  s.of_chebyshev = {add_count(command, "--degree", s.degree, 1, 100, "Of chebyshev's polynomial")};
  for (const auto& [title, options] : {std::pair("With --method cg", s.of_cg),
                                       std::pair("With --method cg --preconditioner block_jacobi", s.of_blocks),
                                       std::pair("With --method cg --preconditioner chebyshev", s.of_chebyshev)}) {
    for (CLI::Option* o : options) o->group(title);
  }
  command.add_option("--rtol", s.rtol, "Done when ||b - A x|| is at most rtol ||b|| or atol")->capture_default_str();
  command.add_option("--atol", s.atol, "The same, absolute")->capture_default_str();
  s.of_jacobi = {
      command.add_option("--omega", s.omega, "Weight of a step of --method jacobi")->capture_default_str(),
      add_choice(command, "--form", s.form, {"plain", "rows", "symmetric"},
                 "Of --method jacobi: rows where they are, rows in another order that the sweep undoes, or rows and "
                 "columns in one"),
      add_ordering(command, "--order", s.order,
                   "Of --form rows and symmetric: that order; otherwise length for rows, rcm for symmetric"),
      command.add_flag("--match", s.match,
                       "Of --method jacobi: first bring large entries to the diagonal by the order of rows"),
      add_count(command, "--check-interval", s.check_interval, 1, 1'000'000'000,
                "Iterations of --method jacobi between two computations of the residual")};
  for (CLI::Option* o : s.of_jacobi) o->group("With --method jacobi");
  add_file(command, "--permutation", s.permutation,
           "File with the order of --form, or of cg with --reorder's, instead: one number per line, from 0");
  add_count(command, "--max-iterations", s.max_iterations, 0, 2'000'000'000, "Iterations at most");
  add_kernel(command, s.run.kernel, "Of cg a solver, of jacobi a kernel of y = A x, from `tulle kernels`");
  add_reorder_option(command, s.run);
  add_backend_options(command, s.run);
  add_choice(command, "--precision", s.run.precision, {"f32", "f64", "mixed"},
             "Type of the values; mixed: f64, but iterations in f32, corrected until --rtol is reached. With "
             "--tolerance iterations in f64, where A is stored in fewer bits: what is solved is a system near by");
  add_promise_options(command, s.run);
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
