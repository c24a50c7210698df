// `tulle bench solve`: every solver of A x = b on every matrix, an iteration and a whole solve.
#include <algorithm>
#include <tulle/solvers/cg.hpp>

#include "common/matrix.hpp"
#include "session.hpp"
#include "solve_record.hpp"

namespace tulle::cli::bench {
namespace {

/// An iteration is measured as one of so many, the beginning and the end of a solve included.
constexpr int timed_iterations = 100;
constexpr std::uint64_t rhs_seed = 1;

struct solve_case {
  solve_record matrix;  // what all records have in common
  std::shared_ptr<named_matrix> loaded;
  matrix_ref a;  // on the backend
  buffer<std::byte> b, x;
  scalar_type type = scalar_type::f64;

  [[nodiscard]] vector_ref vector(const context& ctx, buffer<std::byte>& v) const {
    return {type, v.data(), a.rows, ctx.space(), ctx.device()};
  }
};

solve_case make_solve_case(const session& bench, const case_name& which, const run_options& run) {
  solve_case c;
  c.loaded = std::make_shared<named_matrix>(load_real(which.spec, run));
  const matrix_ref& host = c.loaded->matrix;
  if (host.rows != host.cols) {
    throw error(status::invalid_dimensions, fmt::format("{} is {} x {}, not square", which.spec, host.rows, host.cols));
  }
  c.matrix.matrix = which.label.empty() ? c.loaded->name : which.label;
  c.matrix.matrix_hash = matrix_hash(host);
  c.matrix.precision = run.precision;
  c.matrix.rows = host.rows;
  c.matrix.cols = host.cols;
  c.matrix.nnz = host.nnz;
  c.matrix.read_bandwidth = bench.host.read;
  c.type = host.types.value;
  c.a = place(bench.ctx, host, offsets_for(host.nnz));
  with_precision(run, [&]<class T>() {
    const std::vector<T> rhs = random_vector<T>(static_cast<std::size_t>(host.rows), rhs_seed);
    c.b = buffer<std::byte>(bench.ctx, rhs.size() * sizeof(T));
    c.x = buffer<std::byte>(bench.ctx, rhs.size() * sizeof(T));
    copy_bytes(bench.ctx, c.b.data(), bench.ctx.space(), rhs.data(), memory_space::host, c.b.bytes());
  });
  return c;
}

cg_options options_for(const bench_options& o, preconditioner_kind m, std::string kernel) {
  cg_options options;
  run_options of_plan = o.run;
  if (o.run.precision == "mixed") {
    options.precision = solver_precision::mixed;
    of_plan.precision = name(scalar_type::f64);
  }
  options.spmv = plan_options(of_plan, o.work);
  options.preconditioner = m;
  options.kernel = std::move(kernel);
  options.zero_guess = true;
  options.rtol = o.rtol;
  return options;
}

void measure_kernel(session& bench, const bench_options& o, solve_case& c, const std::string& kernel,
                    preconditioner_kind m, bool chosen, solve_results& out) {
  solve_record r = c.matrix;
  r.kernel = kernel;
  r.preconditioner = name(m);
  r.chosen = chosen;
  const vector_ref b = c.vector(bench.ctx, c.b), x = c.vector(bench.ctx, c.x);
  std::optional<cg_solver> solver;
  cg_options options = options_for(o, m, kernel);
  r.setup_us = bench.clock.once([&] { solver.emplace(bench.ctx, c.a, options); });
  r.reason = solver->explain();
  r.workspace_bytes = solver->workspace_bytes();
  cg_result end;
  const auto solve = [&] { end = solver->solve(b, x); };
  sample_summary whole = bench.clock.time_on_host(until::done, solve);
  r.solve_us = whole.median;
  r.status = name(static_cast<status>(end.code));
  r.iterations = end.iterations;
  r.relative_residual = end.rhs > 0 ? end.residual / end.rhs : 0;
  r.corrections = end.corrections;
  r.wide_iterations = end.wide_iterations;
  if (options.precision == solver_precision::uniform) {  // mixed ones differ from one another, and end where f64 does
    options.rtol = 0;
    options.max_iterations = timed_iterations;
    solver.emplace(bench.ctx, c.a, options);
    whole = bench.clock.time_on_host(until::done, solve);
  }
  r.time = whole.over(std::max(end.iterations, 1));
  out.records.push_back(std::move(r));
}

solve_results measure_case(session& bench, const bench_options& o, std::span<const kernel_info> all, solve_case& c) {
  solve_results mine;
  for (const std::string& word : o.preconditioners) {
    const auto m = static_cast<preconditioner_kind>(std::ranges::find(preconditioner_names, word) -
                                                    std::begin(preconditioner_names));
    std::string chosen;
    const omission blank{"the choice", c.matrix.matrix, c.matrix.precision, {}, false};
    try_kernel(blank, false, mine.omitted, [&] { chosen = cg_solver(bench.ctx, c.a, options_for(o, m, {})).kernel(); });
    if (chosen.empty()) continue;
    const std::vector<kernel_info> kernels = select_kernels(all, o.kernels, {&chosen, 1});
    if (&word == &o.preconditioners.front()) bench.bar.divide(o.preconditioners.size() * kernels.size());
    for (const kernel_info& kernel : kernels) {
      const std::string solver(kernel.name);
      bench.bar.step(fmt::format("{} {} {}, {}", c.matrix.matrix, c.matrix.precision, solver, word));
      try_kernel({solver, c.matrix.matrix, c.matrix.precision, {}, false}, false, mine.omitted,
                 [&] { measure_kernel(bench, o, c, solver, m, solver == chosen, mine); });
    }
  }
  bench.mark_disturbed(mine.records);
  bench.print([&](page& to) { add_solves(to, c.matrix, mine); });
  return mine;
}

}  // namespace

int run_solve_bench(const bench_options& o) {
  return run_kernel_bench<solve_results>(
      o, kernel_operation::cg, make_solve_case,
      [&](session& bench, std::span<const kernel_info> all, solve_case& c) { return measure_case(bench, o, all, c); });
}

}  // namespace tulle::cli::bench
