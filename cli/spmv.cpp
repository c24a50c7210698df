// tulle spmv: y = alpha A x + beta y, or with A^T, or several right-hand sides: timed, checked and explained.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "bench/harness.hpp"
#include "bench/record.hpp"
#include "common/backend.hpp"
#include "common/command.hpp"

namespace tulle::cli {
namespace {

constexpr int warm_up_runs = 3;

struct settings {
  run_options run;
  spmv_request request;
  std::string output;
  int repeat = 10;
  bool explain = false;
  bool autotune = false;
};

/// A kernel, and why it cannot take the matrix: empty where it can.
struct candidate {
  std::string kernel;
  std::string refusal;
};

struct spmv_result {
  const spmv_problem& problem;
  std::string_view backend;
  bool all = false;                              // every kernel was asked for
  bool explain = false;                          // the candidates are wanted
  std::vector<bench::spmv_record> records = {};  // one, or with `all` those of every kernel that takes the matrix
  std::vector<candidate> skipped = {};           // the others
  std::vector<candidate> candidates = {};

  [[nodiscard]] bool verified() const { return std::ranges::all_of(records, &bench::spmv_record::is_right); }
  /// The error of a record over its bound; nothing where it was not to be verified.
  [[nodiscard]] std::optional<double> error_ratio(const bench::spmv_record& r) const {
    return problem.error_ratio ? std::optional(r.error_ratio) : std::nullopt;
  }
};

json kernel_json(const spmv_result& result, const bench::spmv_record& r) {
  json record =
      object(field("kernel", r.kernel), field("reason", r.reason), field("backend", result.backend),
             field("microseconds", r.time.median), field("gflops", r.gflops()), field("gbs", r.gbs()),
             field("transpose", r.work.transpose), field("rhs", r.work.rhs), field("order", r.work.order),
             field("effort", r.effort), field("plan_us", r.plan_us), field("workspace_bytes", r.workspace_bytes),
             field("stored", to_json(r.stored)));
  if (const auto ratio = result.error_ratio(r)) {
    record.update(object(field("error_ratio", number(*ratio)), field("verified", r.is_right())));
  }
  return record;
}

json to_json(const spmv_result& r) {
  json record = to_json(r.problem.matrix);
  record.update(object(field("precision", r.problem.precision()), field("hash", r.problem.hash)));
  if (r.problem.mixed.is_asked_for()) record.update(to_json(r.problem.mixed));
  if (!r.all) {
    record.update(kernel_json(r, r.records.front()));
  } else {
    record.update(object(field("results", json::array()), field("skipped", json::array())));
    for (const bench::spmv_record& of_kernel : r.records) record["results"].push_back(kernel_json(r, of_kernel));
    for (const auto& [kernel, reason] : r.skipped) {
      record["skipped"].push_back(object(field("kernel", kernel), field("reason", reason)));
    }
  }
  if (r.explain)
    record.update(object(field("stats", cli::to_json(r.problem.stats)), field("candidates", json::array())));
  for (const auto& [kernel, reason] : r.candidates) {
    record["candidates"].push_back(
        object(field("kernel", kernel), field("supported", reason.empty()), field("reason", reason)));
  }
  return record;
}

void print_table(const spmv_result& result) {
  put("  {:<20} {:>12} {:>10} {:>10} {:>12}  {}\n", "kernel", "us (median)", "GFLOP/s", "GB/s", "plan us",
      "error / bound");
  for (const bench::spmv_record& r : result.records) {
    const auto ratio = result.error_ratio(r);
    put("  {:<20} {:>12.2f} {:>10.3f} {:>10.3f} {:>12.0f}  {}\n", r.kernel, r.time.median, r.gflops(), r.gbs(),
        r.plan_us, ratio ? fmt::format("{:.3f}{}", *ratio, r.is_right() ? "" : " WRONG") : "-");
  }
  for (const auto& [kernel, reason] : result.skipped) put("  {:<20} not run: {}\n", kernel, reason);
}

void print_text(const spmv_result& result) {
  put("{}, {}\n", headline(result.problem.matrix), result.problem.precision());
  if (result.all) return print_table(result);
  const bench::spmv_record& r = result.records.front();
  put("  kernel        {}\n  backend       {}\n  time          {:.2f} us (median)\n", r.reason, result.backend,
      r.time.median);
  put("  speed         {:.3f} GFLOP/s, {:.3f} GB/s of compulsory traffic\n", r.gflops(), r.gbs());
  put("  plan          {:.0f} us (effort {}), {} of its own\n", r.plan_us, r.effort,
      human_bytes(static_cast<double>(r.workspace_bytes)));
  if (result.problem.mixed.is_asked_for()) put("  stored        {}\n", describe(r.stored));
  if (const auto ratio = result.error_ratio(r)) {
    print_verdict(r.is_right(), fmt::format("largest error is {:.3f} of its bound", *ratio));
  }
  for (const auto& [kernel, reason] : result.candidates) {
    put("  {:<13} {}\n", kernel, reason.empty() ? "takes this matrix" : reason);
  }
}

/// Times `kernel` ("" = the plan's choice), then applies it once to the initial y and checks that result, which stays.
bench::spmv_record run_kernel(const context& ctx, spmv_problem& p, const settings& s, const std::string& kernel) {
  any_spmv_plan plan(ctx, p.a, plan_options(s.run, p.work, kernel));
  if (s.autotune) plan.autotune();
  bench::harness clock(ctx, warm_up_runs, s.repeat);
  bench::spmv_record r = bench::describe(p, plan);
  r.reason = plan.explain();
  r.time = bench::summarise(clock.repeat(bench::cache_state::warm, [&] { p.apply(plan); }));
  p.reset(ctx);
  p.apply(plan);
  ctx.synchronize();
  if (p.error_ratio) r.error_ratio = p.error_ratio(p.y, p.mixed.promised(plan));
  return r;
}

/// What each kernel of the backend says about the matrix.
std::vector<candidate> candidates(const context& ctx, const spmv_problem& p) {
  std::vector<candidate> list;
  for (const kernel_info& k : kernels_of(ctx.backend(), p.work.operation())) {
    list.push_back({std::string(k.name), unsupported_reason(k, p.stats, p.a.types, ctx.info())});
  }
  return list;
}

/// Every kernel of the backend that takes the matrix, one after the other.
void run_all(const context& ctx, spmv_problem& p, const settings& s, spmv_result& result) {
  for (candidate& c : candidates(ctx, p)) {
    try {
      if (c.refusal.empty()) result.records.push_back(run_kernel(ctx, p, s, c.kernel));
    } catch (const error& e) {  // takes one right-hand side at a time
      if (e.code() != status::unsupported || p.work.rhs == 1) throw;
      c.refusal = e.what();
    }
    if (!c.refusal.empty()) result.skipped.push_back(c);
  }
}

template <scalar T>
void write_result(const context& ctx, const settings& s, const spmv_problem& p) {
  const std::vector<stored<T>> y = elements<T>(ctx, p.y);
  std::vector<stored<T>> by_columns;
  for (index_t j = 0; j < p.work.rhs; ++j) {
    const std::vector<stored<T>> one = p.work.vector_of(y, j);
    by_columns.insert(by_columns.end(), one.begin(), one.end());
  }
  write_vector(s.output, span_of<T>(by_columns), p.work.rhs);
}

int run(const settings& s) {
  (void)narrowing_of(s.run);  // before anything is read
  if (s.run.kernel == "all" && (!s.output.empty() || s.autotune || s.explain)) {
    throw error(status::invalid_argument, "--kernel all goes with neither --output nor --autotune nor --explain");
  }
  if (s.request.work.rhs > 1 && !s.request.x.empty()) {
    throw error(status::invalid_argument, "--x goes with one right-hand side");
  }
  const bool stdout_taken = check_outputs(s.run.json, {{"--output", s.output}});
  const context ctx = make_context(s.run);
  spmv_problem p = make_problem(ctx, s.request, s.run);
  spmv_result r{p, name(ctx.backend()), s.run.kernel == "all", s.explain};
  if (s.explain) r.candidates = candidates(ctx, p);
  if (r.all) {
    run_all(ctx, p, s, r);
  } else {
    r.records.push_back(run_kernel(ctx, p, s, s.run.kernel));
    if (!s.output.empty()) with_type(p.a.types.value, [&]<class T>() { write_result<T>(ctx, s, p); });
  }
  if (!stdout_taken) print(r, s.run.json);
  return r.verified() ? ok : not_converged;
}

}  // namespace

void add_spmv(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "spmv", "y = alpha A x + beta y, or A^T, or several x: timed, checked, explained",
                  "Example: tulle spmv gen:stencil:points=7,n=100 --verify --kernel all", run);
  command.add_option("matrix", s.request.matrix, matrix_help)->required();
  command.add_option("--x", s.request.x, "Vector x, Matrix Market n x 1; random in [-1, 1) otherwise");
  command.add_option(
      "-o,--output", s.output,
      "Write y as a Matrix Market array, a column for each right-hand side; - is stdout, which then holds y alone");
  command.add_option("--alpha", s.request.alpha, "Factor of A x")->capture_default_str();
  command.add_option("--beta", s.request.beta, "Factor of the initial y, which is random in [-1, 1)")
      ->capture_default_str();
  add_count(command, "--repeat", s.repeat, 1, 1'000'000, "Timed runs, after 3 to warm up");
  command.add_option("--kernel", s.run.kernel, "A name from `tulle kernels`, or all of them: all");
  command.add_flag("--verify", s.request.verify,
                   "Compare with higher precision; a row beyond its error bound is exit code 4");
  command.add_flag("--explain", s.explain, "Say of every kernel whether it takes the matrix, and why not");
  command.add_flag("--autotune", s.autotune, "Measure the kernels that suit the matrix and keep the fastest");
  add_workload_options(command, s.request.work);
  add_plan_options(command, s.run);
  add_backend_options(command, s.run);
  add_precision_option(command, s.run, {"f32", "f64", "i32", "mixed", "c64", "c128", "i64", "bool"});
  add_promise_options(command, s.run);
  add_rule_options(command, s.run);
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
