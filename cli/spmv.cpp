// tulle spmv: y = alpha A x + beta y, or with A^T, or several right-hand sides: timed, checked and explained.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cells.hpp"
#include "bench/harness.hpp"
#include "bench/load.hpp"
#include "bench/machine.hpp"
#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/inputs.hpp"

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
  bool bandwidth = true;
};

/// A kernel, and why it cannot take the matrix: empty where it can.
struct candidate {
  std::string kernel;
  std::string refusal;
};

struct spmv_result {
  const spmv_problem& problem;
  std::string_view backend;
  double read_bandwidth = 0;  // of the machine, where it is shown
  int repeats = 0;
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
             field("microseconds", r.time.median), field("statistic", "median"), field("runs", r.time.count),
             field("lower_quartile", r.time.lower), field("upper_quartile", r.time.upper), field("gflops", r.gflops()),
             field("gbs", r.gbs()), field("transpose", r.work.transpose), field("rhs", r.work.rhs),
             field("order", r.work.order), field("effort", r.effort), field("plan_us", r.plan_us),
             field("workspace_bytes", r.workspace_bytes), field("stored", to_json(r.stored)));
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

void add_table(page& to, const spmv_result& result) {
  table t({{.title = "kernel", .left = true},
           {"median"},
           {"IQR"},
           {"GFLOP/s", 2},
           {"GB/s"},
           {"% bw"},
           {"plan", 1},
           {"error / bound"}});
  for (const bench::spmv_record& r : result.records) {
    const auto ratio = result.error_ratio(r);
    t.row({r.kernel, bench::median_cell(r), bench::spread_cell(r.time), three_digits(r.gflops()), three_digits(r.gbs()),
           bench::percent_cell(r.percent_of_bandwidth()), human_time(r.plan_us),
           ratio ? bench::error_cell(*ratio, r.is_right()) : "-"},
          ' ', r.is_right() ? look::plain : look::red);
  }
  to.add(t);
  bench::explain_disturbed(to, result.records);
  std::vector<bench::omission> omitted;
  for (const auto& [kernel, reason] : result.skipped) omitted.push_back({kernel, {}, {}, reason, false});
  bench::add_omissions(to, omitted);
  std::string legend = fmt::format("  medians of {}; IQR: from quartile to quartile, in % of the median",
                                   counted(result.repeats, "run"));
  if (result.read_bandwidth > 0)
    legend +=
        fmt::format("; shares of bandwidth are of the {} that this machine reads", human_rate(result.read_bandwidth));
  to.line(legend);
}

/// "4.57 GFLOP/s, 38.2 GB/s of compulsory traffic, 82% of this machine's 46.5 GB/s"
std::string speed_of(const bench::spmv_record& r) {
  std::string text =
      fmt::format("{} GFLOP/s, {} of compulsory traffic", three_digits(r.gflops()), human_rate(1e9 * r.gbs()));
  if (r.read_bandwidth > 0) {
    const double percent = r.percent_of_bandwidth();
    text += fmt::format(", {}% of this machine's {}{}", bench::percent_cell(percent), human_rate(r.read_bandwidth),
                        percent > 105 ? ": out of caches" : "");
  }
  return text;
}

void add_facts(page& to, const spmv_result& result) {
  const bench::spmv_record& r = result.records.front();
  to.fact("kernel", bench::without_plan_time(r.reason));
  to.fact("backend", result.backend);
  to.fact("time", bench::describe(r.time));
  to.fact("speed", speed_of(r));
  to.fact("plan", fmt::format("{} (effort {}), {} of its own", human_time(r.plan_us), r.effort,
                              human_bytes(static_cast<double>(r.workspace_bytes))));
  if (result.problem.mixed.is_asked_for()) to.fact("stored", describe(r.stored));
  if (const auto ratio = result.error_ratio(r)) {
    to.verdict(r.is_right(), fmt::format("largest error is {:.3f} of its bound", *ratio));
  }
  table t({{.title = "kernel", .left = true}, {.title = "takes this matrix", .wraps = true}});
  for (const auto& [kernel, reason] : result.candidates) {
    t.row({kernel, reason.empty() ? "yes" : fmt::format("no: {}", reason)});
  }
  if (!t.empty()) to.line().add(t);
}

void print_text(const spmv_result& result) {
  page to(stdout);
  to.line(fmt::format("{}, {}", headline(result.problem.matrix), result.problem.precision()));
  if (result.all) {
    add_table(to, result);
  } else {
    add_facts(to, result);
  }
  to.print(stdout);
}

/// Times `kernel` ("" = the plan's choice), then applies it once to the initial y and checks that result, which stays.
bench::spmv_record run_kernel(const context& ctx, spmv_problem& p, const settings& s, const std::string& kernel) {
  any_spmv_plan plan(ctx, p.a, plan_options(s.run, p.work, kernel));
  if (s.autotune) plan.autotune();
  bench::harness clock(ctx, warm_up_runs, s.repeat);
  bench::spmv_record r = bench::describe(p, plan);
  r.reason = plan.explain();
  r.time = clock.time(bench::cache_state::warm, [&] { p.apply(plan); });
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
  if (s.autotune && !s.run.kernel.empty()) {
    throw error(status::invalid_argument,
                fmt::format("--autotune finds a kernel, and --kernel {} names one: give one of them", s.run.kernel));
  }
  if (s.request.work.rhs > 1 && !s.request.x.empty()) {
    throw error(status::invalid_argument, "--x goes with one right-hand side");
  }
  const bool stdout_taken = check_outputs(s.run.json, {{"--output", s.output, true}});
  const context ctx = make_context(s.run);
  if (s.run.kernel != "all") require_kernel(ctx.backend(), s.request.work.operation(), s.run.kernel);
  check_inputs(s.request.x.empty() ? std::vector{s.request.matrix} : std::vector{s.request.matrix, s.request.x});
  const bench::load_watch load;
  spmv_problem p = make_problem(ctx, s.request, s.run);
  const bool as_text = !stdout_taken && !s.run.json;
  spmv_result r{p,        name(ctx.backend()),   as_text && s.bandwidth ? bench::read_bandwidth(ctx) : 0,
                s.repeat, s.run.kernel == "all", s.explain};
  if (s.explain) r.candidates = candidates(ctx, p);
  if (r.all) {
    run_all(ctx, p, s, r);
  } else {
    r.records.push_back(run_kernel(ctx, p, s, s.run.kernel));
    if (!s.output.empty()) with_type(p.a.types.value, [&]<class T>() { write_result<T>(ctx, s, p); });
  }
  bench::tell_of_load(load, ctx);
  bench::mark_disturbed(r.records, load.others(), bench::threads_that_count(ctx));
  for (bench::spmv_record& of_kernel : r.records) of_kernel.read_bandwidth = r.read_bandwidth;
  if (!stdout_taken) print(r, s.run.json);
  return r.verified() ? ok : not_converged;
}

}  // namespace

void add_spmv(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "spmv", "y = alpha A x + beta y, or A^T, or several x",
                                  "Examples: tulle spmv cant.mtx --x x.mtx -o y.mtx\n"
                                  "          tulle spmv gen:stencil:points=7,n=100 --verify --kernel all\n"
                                  "          tulle spmv cant.mtx --rhs 8 --explain",
                                  run);
  add_matrix(command, "matrix", s.request.matrix)->required();
  add_matrix(command, "--x", s.request.x, "Vector x, Matrix Market n x 1; random in [-1, 1) otherwise");
  add_file(
      command, "-o,--output", s.output,
      "Write y as a Matrix Market array, a column for each right-hand side; - is stdout, which then holds y alone");
  command.add_option("--alpha", s.request.alpha, "Factor of A x")->capture_default_str();
  command.add_option("--beta", s.request.beta, "Factor of the initial y, which is random in [-1, 1)")
      ->capture_default_str();
  add_count(command, "--repeat", s.repeat, 1, 1'000'000, "Timed runs, after 3 to warm up");
  command.add_flag("!--no-bandwidth", s.bandwidth,
                   "Leave out the share of this machine's bandwidth, which is measured once and remembered");
  add_kernel(command, s.run.kernel, "A name from `tulle kernels`, or all of them: all");
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
