// tulle spgemm: C = M o (alpha A B) + beta D, or with A^T or B^T: made, timed, checked and written.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>
#include <cmath>
#include <tulle/ops/verify.hpp>

#include "bench/cells.hpp"
#include "bench/load.hpp"
#include "bench/spgemm_measure.hpp"
#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/inputs.hpp"
#include "common/matrix.hpp"

namespace tulle::cli {
namespace {

constexpr int warm_up_runs = 1;

struct settings {
  run_options run;
  std::string a, b, mask, d;
  std::string output;
  std::optional<std::string> memory_limit;
  double alpha = 1;
  double beta = 1;
  index_t tile_size = 0;
  CLI::Option* of_kernel0 = nullptr;  // --tile-size
  int repeat = 5;
  bool transpose_a = false;
  bool transpose_b = false;
  bool verify = false;
};

struct spgemm_result {
  matrix_facts a, b, c;
  std::optional<std::string> mask, add;  // names
  spgemm_options options;
  bench::spgemm_measurement measured;
  std::string_view precision;
  std::string_view backend;
  std::string hash;                       // of C
  std::optional<spgemm_verdict> verdict;  // with --verify
};

json to_json(const spgemm_result& r) {
  const bench::spgemm_record& whole = r.measured.whole;
  const bench::sample_summary& numeric = r.measured.numeric;
  json record = object(
      field("a", r.a.name), field("b", r.b.name), field("rows", r.c.rows), field("cols", r.c.cols),
      field("inner", r.options.transpose_a ? r.a.rows : r.a.cols), field("nnz_a", r.a.nnz), field("nnz_b", r.b.nnz),
      field("nnz", r.c.nnz), field("products", whole.products), field("compression", whole.compression()),
      field("precision", r.precision), field("transpose_a", r.options.transpose_a),
      field("transpose_b", r.options.transpose_b), field("mask", nullable(r.mask)), field("add", nullable(r.add)),
      field("kernel", whole.kernel), field("reason", r.measured.reason), field("backend", r.backend),
      field("microseconds", whole.time.median), field("statistic", "median"), field("runs", whole.time.count),
      field("lower_quartile", whole.time.lower), field("upper_quartile", whole.time.upper),
      field("numeric_us", numeric.count == 0 ? json(nullptr) : json(numeric.median)),
      field("numeric_lower_quartile", numeric.count == 0 ? json(nullptr) : json(numeric.lower)),
      field("numeric_upper_quartile", numeric.count == 0 ? json(nullptr) : json(numeric.upper)),
      field("gflops", whole.gflops()), field("memory_limit", r.options.memory_limit),
      field("peak_bytes", whole.peak_bytes), field("workspace_bytes", whole.workspace_bytes), field("hash", r.hash));
  if (r.verdict) {
    record.update(object(field("error_ratio", number(r.verdict->error_ratio)),
                         field("checked_rows", r.verdict->checked_rows), field("verified", r.verdict->ok()),
                         field("wrong", r.verdict->wrong)));
  }
  return record;
}

void print_text(const spgemm_result& r) {
  const bench::spgemm_record& whole = r.measured.whole;
  page to(stdout);
  to.line(fmt::format("{}, {}", headline(r.c), r.precision));
  to.fact("kernel", r.measured.reason);
  to.fact("backend", r.backend);
  to.fact("products", fmt::format("{}, {:.2f} for each entry of C", grouped(whole.products), whole.compression()));
  to.fact("time", bench::describe(whole.time));
  if (r.measured.numeric.count > 0) to.fact("values alone", bench::describe(r.measured.numeric));
  to.fact("speed", fmt::format("{} GFLOP/s", three_digits(whole.gflops())));
  to.fact("memory", fmt::format("{} at most beyond A, B and C, copies of A and B included",
                                human_bytes(static_cast<double>(whole.peak_bytes))));
  if (r.verdict) {
    const auto& [ratio, checked, wrong] = *r.verdict;
    std::string text = wrong;
    if (text.empty()) {
      text = std::isfinite(ratio) ? fmt::format("largest error is {:.3f} of its bound", ratio)
                                  : "an infinity or NaN in the wrong place";
    }
    if (checked < r.c.rows) text += fmt::format(", among {} of {}", grouped(checked), counted(r.c.rows, "row"));
    to.verdict(r.verdict->ok(), text);
  }
  to.print(stdout);
}

/// The operands in host memory.
struct problem {
  named_matrix a, b;
  std::optional<named_matrix> mask, d;
  double alpha;
  double beta;
};

problem load_problem(const settings& s) {
  const double alpha = scalar_option("--alpha", s.alpha, s.run), beta = scalar_option("--beta", s.beta, s.run);
  problem p{load(s.a, s.run), load(s.b, s.run), {}, {}, alpha, s.d.empty() ? 0 : beta};
  if (!s.mask.empty()) p.mask = load(s.mask, s.run);
  if (!s.d.empty()) p.d = load(s.d, s.run);
  return p;
}

/// A complex file among real ones, without --precision: all are complex.
problem load_of_one_type(const settings& s) {
  problem p = load_problem(s);
  const auto is_complex = [](const named_matrix& m) { return tulle::is_complex(m.matrix.types.value); };
  if (s.run.precision_given || !(is_complex(p.a) || is_complex(p.b) || (p.d && is_complex(*p.d)))) return p;
  settings all = s;
  all.run.precision = "c128";
  return load_problem(all);
}

spgemm_options options_of(const settings& s) {
  spgemm_options options;
  options.kernel = s.run.kernel;
  options.transpose_a = s.transpose_a;
  options.transpose_b = s.transpose_b;
  options.tile_size = s.tile_size;
  if (s.memory_limit) options.memory_limit = size_option("--memory-limit", *s.memory_limit);
  return options;
}

/// Makes C as often as asked for.
bench::spgemm_measurement measure(const context& ctx, const problem& p, int repeats, const spgemm_options& options) {
  std::int64_t most = std::max(p.a.matrix.nnz, p.b.matrix.nnz);
  for (const auto* m : {&p.mask, &p.d}) most = std::max(most, *m ? (*m)->matrix.nnz : 0);
  const auto placed = [&](const named_matrix& m) { return place(ctx, m.matrix, offsets_for(most)); };
  bench::spgemm_input input{placed(p.a), placed(p.b), {}, p.alpha, p.beta};
  if (p.mask) input.terms.mask = placed(*p.mask);
  if (p.d) input.terms.d = placed(*p.d);
  bench::harness clock(ctx, warm_up_runs, repeats);
  return bench::measure_spgemm(ctx, clock, input, options);
}

/// `c` is on the host.
spgemm_verdict verify(const problem& p, const settings& s, const matrix_ref& c) {
  const matrix_ref a = s.transpose_a ? transposed(p.a.matrix, s.run) : p.a.matrix;
  const matrix_ref b = s.transpose_b ? transposed(p.b.matrix, s.run) : p.b.matrix;
  if (is_further(c.types.value)) {
    return bench::check_further(a, b, c, p.alpha, p.beta, p.d ? std::optional(p.d->matrix) : std::nullopt);
  }
  return with_precision(s.run, [&]<class T>() {
    spgemm_expectation<T> expected{.a = a.as<T, std::int64_t>(), .b = b.as<T, std::int64_t>()};
    if (p.mask) expected.mask = p.mask->view<T>();
    if (p.d) expected.d = p.d->view<T>();
    expected.alpha = static_cast<T>(p.alpha);
    expected.beta = static_cast<T>(p.beta);
    return with_view<T>(c, [&](auto view) { return check_spgemm(context::cpu(s.run.threads), expected, view); });
  });
}

int run(const settings& s) {
  const bool stdout_taken = check_outputs(s.run.json, {{"--output", s.output, true}});
  if (s.run.kernel != "kernel0") refuse_idle({s.of_kernel0}, "--kernel kernel0");
  spgemm_result r;
  r.options = options_of(s);  // first: a wrong size costs no reading of files
  const context ctx = make_context(s.run);
  require_kernel(ctx.backend(), kernel_operation::spgemm, s.run.kernel);
  std::vector<std::string> inputs{s.a, s.b};
  for (const std::string& more : {s.mask, s.d}) {
    if (!more.empty()) inputs.push_back(more);
  }
  check_inputs(inputs);
  const problem p = load_of_one_type(s);
  const std::string names = p.a.name + " * " + p.b.name;
  const bench::load_watch load;
  r.measured = in_memory_for(names, [&] { return measure(ctx, p, s.repeat, r.options); });
  bench::tell_of_load(load, ctx);
  r.measured.renewed.reset();
  const matrix_ref c = on_host(r.measured.c);
  r.a = p.a.facts();
  r.b = p.b.facts();
  r.c = {names, c.rows, c.cols, c.nnz};
  if (p.mask) r.mask = p.mask->name;
  if (p.d) r.add = p.d->name;
  r.precision = name(c.types.value);
  r.backend = name(ctx.backend());
  r.hash = matrix_hash(c);
  if (s.verify) r.verdict = in_memory_for(names, [&] { return verify(p, s, c); });
  if (!s.output.empty()) write_matrix(s.output, c);
  if (!stdout_taken) print(r, s.run.json);
  return !r.verdict || r.verdict->ok() ? ok : not_converged;
}

}  // namespace

void add_spgemm(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "spgemm", "C = A B, or with A^T, B^T, a mask, a matrix added",
                                  "Examples: tulle spgemm a.mtx b.mtx -o c.mtx\n"
                                  "          tulle spgemm gen:fem:n=10 gen:fem:n=10 --verify --memory-limit 1G\n"
                                  "          tulle spgemm a.mtx a.mtx --transpose-b --mask a.mtx -o c.mtx",
                                  run);
  add_matrix(command, "A", s.a)->required();
  add_matrix(command, "B", s.b, "The same")->required();
  add_file(command, "-o,--output", s.output,
           "Write C: .mtx, .mtx.gz, .mtx.xz or .mtx.zst; - is stdout, which then holds C alone");
  add_matrix(command, "--mask", s.mask,
             "Keep only those entries of A B that this matrix has; its values do not matter");
  command.add_option("--alpha", s.alpha, "Factor of A B")->capture_default_str();
  auto* add = add_matrix(command, "--add", s.d, "A matrix D to add to alpha A B; the mask does not touch it");
  command.add_option("--beta", s.beta, "Factor of D")->needs(add)->capture_default_str();
  command.add_flag("--transpose-a", s.transpose_a, "Multiply A^T");
  command.add_flag("--transpose-b", s.transpose_b, "Multiply by B^T");
  command
      .add_option("--memory-limit", s.memory_limit,
                  "Bytes to use at most beyond A, B, C and copies of A and B (transposed, sorted, on the GPU), as "
                  "500000, 64K, 100M or 2G; 0: no limit; C is the same")
      ->type_name("BYTES");
  add_kernel(command, s.run.kernel, "A name from `tulle kernels`");
  s.of_kernel0 = add_count(command, "--tile-size", s.tile_size, 0, INT_MAX,
                           "Columns of an accumulator of kernel0; 0: as many as it chooses");
  add_count(command, "--repeat", s.repeat, 1, 1'000'000, "Timed runs, after one to warm up");
  command.add_flag("--verify", s.verify,
                   "Compare with higher precision; an entry beyond its error bound is exit code 4");
  add_backend_options(command, s.run);
  add_precision_option(command, s.run, {"f32", "f64", "c64", "c128", "i64", "bool"});
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
