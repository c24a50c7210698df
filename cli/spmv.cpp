// tulle spmv: y = alpha A x + beta y, or with A^T, or several right-hand sides: timed, checked and explained.
#include <algorithm>
#include <limits>

#include "bench/harness.hpp"
#include "bench/statistics.hpp"
#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/kernel_support.hpp"
#include "kernels/backends.hpp"
#include "spmv_result.hpp"

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
  std::optional<csr<T>> transpose;  // A^T where that multiplies
  T alpha;
  T beta;
  std::vector<T> x;  // all right-hand sides
  std::vector<T> y0;
  std::vector<spmv_reference> expected;  // one for each right-hand side; empty unless they are wanted

  [[nodiscard]] csr_view<T, std::int64_t> multiplied() const { return (transpose ? *transpose : a.matrix).view(); }
};

template <scalar T>
problem<T> make_problem(const settings& s) {
  const T alpha = scalar_option<T>("--alpha", s.alpha), beta = scalar_option<T>("--beta", s.beta);
  problem<T> p{load<T>(s.matrix, s.run), {}, alpha, beta, {}, {}, {}};
  if (s.work.transpose) p.transpose = transposed(p.a.matrix, s.run);
  const auto a = p.multiplied();
  const auto vectors = static_cast<std::size_t>(s.work.rhs);
  p.x = s.x.empty() ? random_vector<T>(static_cast<std::size_t>(a.cols) * vectors, 1)
                    : load_vector<T>(s.x, a.cols, "--x", s.run);
  p.y0 = random_vector<T>(static_cast<std::size_t>(a.rows) * vectors, 2);
  if (beta == 0 && !std::is_integral_v<T>) {  // NaN shows whatever a kernel reads of y
    std::fill(p.y0.begin(), p.y0.end(), std::numeric_limits<T>::quiet_NaN());
  }
  if (s.verify) p.expected = references(context::cpu(s.run.threads), s.work, alpha, a, p.x, beta, p.y0);
  return p;
}

/// Times `kernel` ("" = the plan's choice), then applies it once to the initial y and checks that result, which is left
/// in `y`.
template <scalar T>
spmv_outcome run_kernel(const context& ctx, const problem<T>& p, const settings& s, const std::string& kernel,
                        std::vector<T>& result) {
  spmv_options options = plan_options(s.run, kernel);
  options.transpose = s.work.transpose;
  spmv_plan<T> plan(ctx, p.a.matrix, options);
  if (s.autotune) plan.autotune();

  const buffer<T> x = to_buffer(ctx, p.x);
  buffer<T> y = to_buffer(ctx, p.y0);
  const shape size = plan.dimensions();
  const auto apply = [&] {
    if (s.work.rhs == 1) return plan.apply(p.alpha, x, p.beta, y);
    plan.apply_many(p.alpha, s.work.view(x.data(), size.cols, ctx.space()), p.beta,
                    s.work.view(y.data(), size.rows, ctx.space()));
  };
  bench::harness clock(ctx, warm_up_runs, s.repeat);
  const double us = bench::summarise(clock.repeat(bench::cache_state::warm, apply)).median;
  y = to_buffer(ctx, p.y0);
  apply();
  result = to_vector(ctx, y);

  const csr_stats& stats = plan.stats();
  const double flops = 2 * static_cast<double>(stats.nnz) * s.work.rhs;
  const double bytes = compulsory_bytes(stats, sizeof(T), p.beta != 0, s.work.rhs);
  spmv_outcome o{std::string(plan.kernel()), plan.explain(), name(ctx.backend()), us};
  if (us > 0) o.gflops = flops / us / 1e3;
  if (us > 0) o.gbs = bytes / us / 1e3;
  o.work = s.work;
  o.effort = name(plan.effort());
  o.plan_us = plan.plan_microseconds();
  o.workspace_bytes = plan.workspace_bytes();
  if (s.verify) o.error_ratio = worst_ratio(p.expected, s.work, result);
  return o;
}

/// What each kernel of the backend says about the matrix.
std::vector<candidate> candidates(const context& ctx, const csr_stats& stats, type_key types, bool transpose) {
  std::vector<candidate> list;
  const auto transposed = spmv_transposed_kernels(ctx.backend());
  for (const spmv_kernel& kernel : transpose ? transposed : transposed.first(0)) {
    list.push_back({std::string(kernel.name), true, ""});
  }
  for (const spmv_kernel& kernel : spmv_kernels(ctx.backend())) {
    const support verdict = kernel_support(kernel, stats, types, ctx.info());
    list.push_back({std::string(kernel.name), verdict.ok, verdict.reason});
  }
  return list;
}

/// Every kernel of the backend that takes the matrix, one after the other.
template <scalar T>
void run_all(const context& ctx, const problem<T>& p, const settings& s, std::vector<candidate> kernels,
             spmv_result& result) {
  std::vector<T> y;
  for (candidate& c : kernels) {
    try {
      if (c.supported) result.outcomes.push_back(run_kernel(ctx, p, s, c.kernel, y));
    } catch (const error& e) {  // takes one right-hand side at a time
      if (e.code() != status::unsupported || s.work.rhs == 1) throw;
      c = {c.kernel, false, e.what()};
    }
    if (!c.supported) result.skipped.push_back(c);
  }
}

template <scalar T>
void write_result(const settings& s, const std::vector<T>& y) {
  std::vector<T> by_columns;
  for (index_t j = 0; j < s.work.rhs; ++j) {
    const std::vector<T> one = s.work.vector_of(y, j);
    by_columns.insert(by_columns.end(), one.begin(), one.end());
  }
  write_vector(s.output, host_span<const T>(by_columns), s.work.rhs);
}

template <scalar T>
int run_typed(const settings& s) {
  const context ctx = make_context(s.run);
  const problem<T> p = make_problem<T>(s);
  spmv_result r{p.a.facts(), name(scalar_type_of<T>), matrix_hash(p.a.matrix.view()), s.run.kernel == "all"};
  if (r.all || s.explain) {
    r.stats = statistics(context::cpu(s.run.threads), p.multiplied());
    r.candidates = candidates(ctx, *r.stats, plan_types<T>(r.stats->nnz), s.work.transpose);
  }
  if (r.all) {
    run_all(ctx, p, s, std::exchange(r.candidates, {}), r);
    r.stats.reset();
  } else {
    std::vector<T> y;
    r.outcomes.push_back(run_kernel(ctx, p, s, s.run.kernel, y));
    if (!s.output.empty()) write_result(s, y);
  }
  if (s.run.json || s.output != "-") print(r, s.run.json);
  return r.verified() ? ok : not_converged;
}

int run(const settings& s) {
  if (s.run.kernel == "all" && (!s.output.empty() || s.autotune || s.explain)) {
    throw error(status::invalid_argument, "--kernel all goes with neither --output nor --autotune nor --explain");
  }
  if (s.work.rhs > 1 && !s.x.empty()) throw error(status::invalid_argument, "--x goes with one right-hand side");
  if (s.output == "-" && s.run.json) throw error(status::invalid_argument, "--output - and --json both want stdout");
  return with_precision(s.run, [&]<class T>() { return run_typed<T>(s); });
}

}  // namespace

void add_spmv(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "spmv", "y = alpha A x + beta y, or A^T, or several x: timed, checked, explained",
                  "Example: tulle spmv gen:stencil:points=7,n=100 --verify --kernel all", run);
  command.add_option("matrix", s.matrix, matrix_help)->required();
  command.add_option("--x", s.x, "Vector x, Matrix Market n x 1; random in [-1, 1) otherwise");
  command.add_option(
      "-o,--output", s.output,
      "Write y as a Matrix Market array, a column for each right-hand side; - is stdout, which then holds y alone");
  command.add_option("--alpha", s.alpha, "Factor of A x")->capture_default_str();
  command.add_option("--beta", s.beta, "Factor of the initial y, which is random in [-1, 1)")->capture_default_str();
  add_count(command, "--repeat", s.repeat, 1, 1'000'000, "Timed runs, after 3 to warm up");
  command.add_option("--kernel", s.run.kernel, "A name from `tulle kernels`, or all of them: all");
  command.add_flag("--verify", s.verify, "Compare with higher precision; a row beyond its error bound is exit code 4");
  command.add_flag("--explain", s.explain, "Say of every kernel whether it takes the matrix, and why not");
  command.add_flag("--autotune", s.autotune, "Measure the kernels that suit the matrix and keep the fastest");
  add_workload_options(command, s.work);
  add_plan_options(command, s.run);
  add_backend_options(command, s.run);
  add_precision_option(command, s.run);
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
