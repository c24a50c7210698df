// tulle spmv: y = alpha A x + beta y, or with A^T, or several right-hand sides: timed, checked and explained.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <tulle/core/stream.hpp>

#include "core/backends.hpp"
#include "report.hpp"
#include "spmv_print.hpp"

namespace tulle::cli {
namespace {

constexpr int warm_up_runs = 3;

struct settings {
  run_options run;
  workload work;
  std::string matrix;
  std::string x;
  std::string output;
  double alpha = 1;
  double beta = 0;
  int repeat = 10;
  bool verify = false;
  bool explain = false;
  bool autotune = false;
};

/// The operation asked for, in host memory.
template <scalar T>
struct problem {
  named_matrix<T> a;
  std::optional<csr<T>> turned;  // A^T where that multiplies
  T alpha;
  T beta;
  std::vector<T> x;  // all right-hand sides
  std::vector<T> y0;
  std::vector<spmv_reference> reference;  // one for each right-hand side; empty unless they are wanted

  [[nodiscard]] const csr<T>& multiplied() const { return turned ? *turned : a.matrix; }
};

template <scalar T>
problem<T> make_problem(const settings& s) {
  const T alpha = scalar_option<T>("--alpha", s.alpha);
  const T beta = scalar_option<T>("--beta", s.beta);
  problem<T> p{load<T>(s.matrix, s.run), {}, alpha, beta, {}, {}, {}};
  const context host = context::cpu(s.run.threads);
  if (s.work.transpose) p.turned = transpose(to_csc(host, p.a.matrix.view()));
  const csr<T>& a = p.multiplied();
  const auto vectors = static_cast<std::size_t>(s.work.rhs);
  p.x = s.x.empty() ? random_vector<T>(static_cast<std::size_t>(a.cols) * vectors, 1)
                    : load_vector<T>(s.x, a.cols, "--x", s.run);
  p.y0 = random_vector<T>(static_cast<std::size_t>(a.rows) * vectors, 2);
  if (p.beta == 0 && !std::is_integral_v<T>) {  // whatever a kernel reads of y shows
    std::fill(p.y0.begin(), p.y0.end(), std::numeric_limits<T>::quiet_NaN());
  }
  for (index_t j = 0; s.verify && j < s.work.rhs; ++j) {
    const std::vector<T> x = s.work.vector_of(p.x, j), y0 = s.work.vector_of(p.y0, j);
    p.reference.push_back(
        reference_spmv(host, p.alpha, a.view(), host_span<const T>(x), p.beta, host_span<const T>(y0)));
  }
  return p;
}

/// The largest error over its bound among all right-hand sides.
template <scalar T>
double worst_ratio(const problem<T>& p, const workload& work, const std::vector<T>& y) {
  double worst = 0;
  for (index_t j = 0; j < work.rhs; ++j) {
    const std::vector<T> one = work.vector_of(y, j);
    const double ratio = error_ratio(p.reference[static_cast<std::size_t>(j)], host_span<const T>(one));
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

/// Microseconds that each of `repeat` runs took.
template <class Run>
std::vector<double> measure(const context& ctx, int repeat, const Run& run) {
  event begin(ctx), end(ctx);
  for (int i = 0; i < warm_up_runs; ++i) run();
  ctx.synchronize();
  std::vector<double> microseconds;
  for (int i = 0; i < repeat; ++i) {
    begin.record(ctx.stream());
    run();
    end.record(ctx.stream());
    end.synchronize();
    microseconds.push_back(end.microseconds_since(begin));
  }
  return microseconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct outcome {
  json record;
  bool verified = true;
};

/// Times `kernel` ("" = the plan's choice), then applies it once to the initial y and checks that result.
template <scalar T>
outcome run_kernel(const context& ctx, const problem<T>& p, const settings& s, const std::string& kernel,
                   std::vector<T>* result = nullptr) {
  spmv_options options = plan_options(s.run, kernel);
  options.transpose = s.work.transpose;
  spmv_plan<T> plan(ctx, p.a.matrix, options);
  if (s.autotune) plan.autotune();

  const buffer<T> x = to_buffer(ctx, p.x);
  buffer<T> y = to_buffer(ctx, p.y0);
  const auto [rows, cols] = plan.dimensions();
  const auto apply = [&, rows = rows, cols = cols] {
    if (s.work.rhs == 1) return plan.apply(p.alpha, x, p.beta, y);
    plan.apply(p.alpha, s.work.view(x.data(), cols, ctx.space()), p.beta, s.work.view(y.data(), rows, ctx.space()));
  };
  const double us = median(measure(ctx, s.repeat, apply));
  y = to_buffer(ctx, p.y0);
  apply();
  std::vector<T> once = to_vector(ctx, y);

  const csr_stats& stats = plan.stats();
  const double bytes = compulsory_bytes(stats, sizeof(T), p.beta != 0, s.work.rhs);
  outcome o;
  o.record = {{"kernel", plan.kernel()},
              {"reason", plan.explain()},
              {"backend", name(ctx.backend())},
              {"microseconds", us},
              {"gflops", us > 0 ? 2 * static_cast<double>(stats.nnz) * s.work.rhs / us / 1e3 : 0},
              {"gbs", us > 0 ? bytes / us / 1e3 : 0},
              {"transpose", s.work.transpose},
              {"rhs", s.work.rhs},
              {"order", s.work.order},
              {"effort", name(plan.effort())},
              {"plan_us", plan.plan_microseconds()},
              {"workspace_bytes", plan.workspace_bytes()}};
  if (!p.reference.empty()) {
    const double ratio = worst_ratio(p, s.work, once);
    o.verified = ratio <= 1;
    o.record["error_ratio"] = ratio;
    o.record["verified"] = o.verified;
  }
  if (result != nullptr) *result = std::move(once);
  return o;
}

/// What each kernel of the backend says about the matrix.
json candidates(const context& ctx, const csr_stats& stats, type_key types, bool transpose) {
  json list = json::array();
  const auto transposed = spmv_transposed_kernels(ctx.backend());
  for (const spmv_kernel& kernel : transpose ? transposed : transposed.first(0)) {
    list.push_back({{"kernel", kernel.name}, {"supported", true}, {"reason", ""}});
  }
  for (const spmv_kernel& kernel : spmv_kernels(ctx.backend())) {
    const support verdict = kernel_support(kernel, stats, types, ctx.info());
    list.push_back({{"kernel", kernel.name}, {"supported", verdict.ok}, {"reason", verdict.reason}});
  }
  return list;
}

template <scalar T>
json header(const problem<T>& p) {
  json record{{"schema_version", schema_version}};
  record.update(describe(p.a));
  record["precision"] = name(scalar_type_of<T>);
  record["hash"] = matrix_hash(p.a.matrix.view());
  return record;
}

template <scalar T>
int run_one(const context& ctx, const problem<T>& p, const settings& s) {
  std::vector<T> y;
  const outcome o = run_kernel(ctx, p, s, s.run.kernel, &y);
  json record = header(p);
  record.update(o.record);
  if (s.explain) {
    const csr_stats stats = statistics(context::cpu(s.run.threads), p.multiplied().view());
    record["stats"] = to_json(stats);
    record["candidates"] = candidates(ctx, stats, plan_types<T>(stats.nnz), s.work.transpose);
  }
  if (!s.output.empty()) {
    std::vector<T> by_columns;
    for (index_t j = 0; j < s.work.rhs; ++j) {
      const std::vector<T> one = s.work.vector_of(y, j);
      by_columns.insert(by_columns.end(), one.begin(), one.end());
    }
    write_vector(s.output, host_span<const T>(by_columns), s.work.rhs);
  }
  if (s.run.json) {
    print_json(record);
  } else if (s.output != "-") {
    print_header(record);
    print_outcome(record);
    if (s.explain) print_candidates(record["candidates"]);
  }
  return o.verified ? ok : not_converged;
}

/// Every kernel of the backend that takes the matrix, one after the other.
template <scalar T>
int run_all(const context& ctx, const problem<T>& p, const settings& s) {
  const csr_stats stats = statistics(context::cpu(s.run.threads), p.multiplied().view());
  json record = header(p);
  record["results"] = json::array();
  record["skipped"] = json::array();
  bool verified = true;
  const auto skip = [&](const json& kernel, const json& reason) {
    record["skipped"].push_back({{"kernel", kernel}, {"reason", reason}});
  };
  for (const json& candidate : candidates(ctx, stats, plan_types<T>(stats.nnz), s.work.transpose)) {
    if (!candidate["supported"]) {
      skip(candidate["kernel"], candidate["reason"]);
      continue;
    }
    try {
      const outcome o = run_kernel(ctx, p, s, candidate["kernel"]);
      verified = verified && o.verified;
      record["results"].push_back(o.record);
    } catch (const error& e) {  // takes one right-hand side at a time
      if (e.code() != status::unsupported || s.work.rhs == 1) throw;
      skip(candidate["kernel"], e.what());
    }
  }
  if (s.run.json) {
    print_json(record);
  } else {
    print_header(record);
    print_table(record);
  }
  return verified ? ok : not_converged;
}

template <scalar T>
int run(const settings& s) {
  const bool all = s.run.kernel == "all";
  if (all && (!s.output.empty() || s.autotune || s.explain)) {
    throw error(status::invalid_argument, "--kernel all goes with neither --output nor --autotune nor --explain");
  }
  if (s.work.rhs > 1 && !s.x.empty()) throw error(status::invalid_argument, "--x goes with one right-hand side");
  if (s.output == "-" && s.run.json) throw error(status::invalid_argument, "--output - and --json both want stdout");
  const context ctx = make_context(s.run);
  const problem<T> p = make_problem<T>(s);
  return all ? run_all(ctx, p, s) : run_one(ctx, p, s);
}

}  // namespace

void add_spmv(CLI::App& app, int& result) {
  CLI::App* command =
      app.add_subcommand("spmv", "y = alpha A x + beta y, or A^T, or several x: timed, checked, explained");
  const auto s = std::make_shared<settings>();
  command->add_option("matrix", s->matrix, "Matrix Market file, - or gen:NAME:...")->required();
  command->add_option("--x", s->x, "Vector x, Matrix Market n x 1; random in [-1, 1) otherwise");
  command->add_option(
      "--output", s->output,
      "Write y as a Matrix Market array, a column for each right-hand side; - is stdout, which then holds y alone");
  command->add_option("--alpha", s->alpha, "Factor of A x")->capture_default_str();
  command->add_option("--beta", s->beta, "Factor of the initial y, which is random in [-1, 1)")->capture_default_str();
  command->add_option("--repeat", s->repeat, "Timed runs, after 3 to warm up")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--kernel", s->run.kernel, "A name from `tulle kernels`, or all of them: all");
  command->add_flag("--verify", s->verify,
                    "Compare with higher precision; a row beyond its error bound is exit code 4");
  command->add_flag("--explain", s->explain, "Say what every kernel makes of the matrix");
  command->add_flag("--autotune", s->autotune, "Measure the kernels that suit the matrix and keep the fastest");
  add_workload_options(*command, s->work);
  add_plan_options(*command, s->run);
  add_backend_options(*command, s->run);
  add_precision_option(*command, s->run);
  add_strict_option(*command, s->run);
  add_json_option(*command, s->run);
  command->footer("Example: tulle spmv gen:stencil:points=7,n=100 --verify --kernel all");
  command->callback([s, &result] { result = with_precision(s->run, [&]<class T>() { return run<T>(*s); }); });
}

}  // namespace tulle::cli
