// tulle permute: a matrix in another order, what the order is worth, and what SpMV gains.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <span>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spmv.hpp>

#include "bench/cells.hpp"
#include "bench/harness.hpp"
#include "bench/load.hpp"
#include "bench/statistics.hpp"
#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/ordering.hpp"
#include "common/workload.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  order_request order;
  std::string matrix;
  std::string output;
  std::string save;
  bool symmetric = false;
  bool rows = false;
  int repeat = 10;
};

struct timed_plan {
  std::string kernel;
  bench::sample_summary time;  // microseconds
};

struct permute_result {
  matrix_facts matrix;
  std::string_view backend;
  std::string method;
  bool symmetric = false;
  double order_ms = 0;    // to find it
  double permute_ms = 0;  // to move A
  order_quality before = {}, after = {};
  std::optional<timed_plan> spmv_before = {}, spmv_after = {};

  [[nodiscard]] double gain() const { return spmv_before->time.median / spmv_after->time.median; }
  /// Whether the middle halves of the two series of times overlap: the medians then say nothing.
  [[nodiscard]] bool within_spread() const {
    const bench::sample_summary &a = spmv_before->time, &b = spmv_after->time;
    return a.lower <= b.upper && b.lower <= a.upper;
  }
  /// Applications that repay the order; nothing where it gains nothing, or nothing that can be told from the spread.
  [[nodiscard]] std::optional<double> pays_after() const {
    if (within_spread()) return std::nullopt;
    const double saved = spmv_before->time.median - spmv_after->time.median;
    return saved > 0 ? std::optional(1e3 * (order_ms + permute_ms) / saved) : std::nullopt;
  }
};

json to_json(const permute_result& r) {
  json record = cli::to_json(r.matrix);
  record.update(object(field("backend", r.backend), field("ordering", r.method),
                       field("moves", r.symmetric ? "rows and columns" : "rows"), field("order_ms", r.order_ms),
                       field("permute_ms", r.permute_ms), field("before", cli::to_json(r.before)),
                       field("after", cli::to_json(r.after))));
  if (!r.spmv_before) return record;
  const auto of = [](const timed_plan& p) {
    return object(field("kernel", p.kernel), field("microseconds", p.time.median), field("statistic", "median"),
                  field("runs", p.time.count), field("lower_quartile", p.time.lower),
                  field("upper_quartile", p.time.upper));
  };
  record["before"]["spmv"] = of(*r.spmv_before);
  record["after"]["spmv"] = of(*r.spmv_after);
  record.update(object(field("gain", r.gain()), field("beyond_spread", !r.within_spread()),
                       field("pays_after", nullable(r.pays_after()))));
  return record;
}

void print_text(const permute_result& r) {
  page to(stdout);
  to.line(headline(r.matrix));
  to.fact("order",
          fmt::format("{} of {} in {} on {}, A in it in {}", r.method, r.symmetric ? "rows and columns" : "rows",
                      human_time(1e3 * r.order_ms), r.backend, human_time(1e3 * r.permute_ms)));
  add_quality(to, r.before, r.after);
  if (r.spmv_before) {
    const auto of = [](const timed_plan& p) { return fmt::format("{} ({})", human_time(p.time.median), p.kernel); };
    to.fact("SpMV", fmt::format("{} -> {}, medians of {}, quartiles {} and {} apart", of(*r.spmv_before),
                                of(*r.spmv_after), counted(r.spmv_before->time.count, "run"),
                                bench::spread_cell(r.spmv_before->time), bench::spread_cell(r.spmv_after->time)));
    const std::optional<double> pays = r.pays_after();
    const std::string repaid =
        pays                ? fmt::format("the order pays after {}",
                                          counted(std::max<std::int64_t>(std::llround(std::ceil(*pays)), 1), "application"))
        : r.within_spread() ? "no difference beyond the spread"
                            : "which does not pay for the order";
    to.fact("gain", fmt::format("{:.2f}x, {}", r.gain(), repaid));
  }
  to.print(stdout);
}

timed_plan time_spmv(const context& ctx, const matrix_ref& a, int repeat) {
  const any_spmv_plan plan(ctx, a);
  const scalar_type type = a.types.value;
  const buffer<std::byte> x = with_type(type, [&]<class T>() {
    const auto numbers = random_vector<T>(static_cast<std::size_t>(a.cols), 1);
    return to_buffer(ctx, std::as_bytes(std::span(numbers)));
  });
  buffer<std::byte> y(ctx, static_cast<std::size_t>(a.rows) * size_of(type));
  const const_vector_ref from(type, x.data(), a.cols, x.space());
  const vector_ref to(type, y.data(), a.rows, y.space());
  bench::harness clock(ctx, 3, repeat);
  return {std::string(plan.kernel()), clock.time(bench::cache_state::warm, [&] { plan.apply(1, from, 0, to); })};
}

/// Rows and columns alike, unless rows alone were asked for, or all that the ordering is about.
bool is_symmetric(const settings& s, const matrix_ref& a) {
  if (s.symmetric && s.rows) throw error(status::invalid_argument, "--symmetric and --rows exclude each other");
  return s.symmetric || (!s.rows && a.rows == a.cols && (s.order.method != "length" || !s.order.file.empty()));
}

int run(const settings& s) {
  check_order_options(s.order);
  const bool stdout_taken = check_outputs(s.run.json, {{"--output", s.output, true}, {"--save-permutation", s.save}});
  check_permutation_name(s.save);
  const context ctx = make_context(s.run);
  const named_matrix loaded = load(s.matrix, s.run);
  const matrix_ref a = place(ctx, loaded.matrix, offsets_for(loaded.matrix.nnz));
  permute_result r{loaded.facts(), name(ctx.backend()), s.order.name(), is_symmetric(s, a)};
  permutation p(ctx);
  bench::harness clock(ctx, 0, 1);
  r.order_ms = clock.once([&] { p = make_order(ctx, a, s.order); }) / 1e3;
  matrix_ref b;
  r.permute_ms = clock.once([&] { b = r.symmetric ? permute_symmetric(ctx, a, p) : permute_rows(ctx, a, p); }) / 1e3;
  r.before = measure_order(ctx, a);
  r.after = measure_order(ctx, b);
  if (s.repeat > 0) {
    const bench::load_watch load;
    r.spmv_before = time_spmv(ctx, a, s.repeat);
    r.spmv_after = time_spmv(ctx, b, s.repeat);
    bench::tell_of_load(load, ctx);
  }
  if (!s.save.empty()) write_permutation(s.save, p);
  if (!s.output.empty()) write_matrix(s.output, on_host(b), false, loaded.info.field);
  if (!stdout_taken) print(r, s.run.json);
  return ok;
}

}  // namespace

void add_permute(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "permute", "A matrix in another order, and what SpMV gains by it",
                  "Rows and columns move alike where A is square, but for the method length.\n"
                  "Examples: tulle permute gen:stencil:n=20 --method rcm -o b.mtx --save-permutation p.txt\n"
                  "          tulle permute cant.mtx --permutation p.txt -o b.mtx\n"
                  "          tulle permute cant.mtx --method nd --repeat 100 --json",
                  run);
  add_matrix(command, "matrix", s.matrix)->required();
  add_order_options(command, s.order);
  command.add_flag("--symmetric", s.symmetric, "Move rows and columns alike: P A P^T");
  command.add_flag("--rows", s.rows, "Move rows alone: P A");
  add_file(command, "-o,--output", s.output, output_help);
  add_file(command, "--save-permutation", s.save, "File for the order: one number per line, from 0; - is stdout");
  add_count(command, "--repeat", s.repeat, 0, 1000000, "Timed applications of SpMV; 0: none");
  add_backend_options(command, s.run);
  add_precision_option(command, s.run);
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
