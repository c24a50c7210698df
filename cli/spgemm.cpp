// tulle spgemm: C = M o (alpha A B) + beta D, or with A^T or B^T: made, timed, checked and written.
#include <fmt/color.h>
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <tulle/ops/verify.hpp>

#include "bench/spgemm_measure.hpp"
#include "bench/statistics.hpp"
#include "spgemm_operands.hpp"
#include "write.hpp"

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
  int repeat = 5;
  bool transpose_a = false;
  bool transpose_b = false;
  bool verify = false;
};

/// The operands in host memory.
template <scalar T>
struct problem {
  named_matrix<T> a, b;
  std::optional<named_matrix<T>> mask, d;
  T alpha;
  T beta;
};

template <scalar T>
problem<T> load_problem(const settings& s) {
  const T alpha = scalar_option<T>("--alpha", s.alpha), beta = scalar_option<T>("--beta", s.beta);
  problem<T> p{load<T>(s.a, s.run), load<T>(s.b, s.run), {}, {}, alpha, beta};
  if (!s.mask.empty()) p.mask = load<T>(s.mask, s.run);
  if (!s.d.empty()) p.d = load<T>(s.d, s.run);
  return p;
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

template <scalar T>
using placed = std::optional<placed_csr<T>>;

template <scalar T>
placed<T> place(const context& ctx, const std::optional<named_matrix<T>>& m) {
  return m ? placed<T>(std::in_place, ctx, m->matrix.view()) : placed<T>();
}

template <scalar T, offset O>
std::optional<csr_view<T, O>> view_of(const placed<T>& m) {
  return m ? std::optional(m->template as<O>()) : std::nullopt;
}

/// Makes C as often as asked for, with 32-bit offsets where all operands have room for that.
template <scalar T>
bench::spgemm_measurement<T> measure(const context& ctx, const problem<T>& p, const settings& s) {
  const placed_csr<T> a(ctx, p.a.matrix.view()), b(ctx, p.b.matrix.view());
  const placed<T> mask = place(ctx, p.mask), d = place(ctx, p.d);
  const auto run = [&]<offset O>() {
    const bench::spgemm_input<T, O> input{
        a.template as<O>(), b.template as<O>(), {view_of<T, O>(mask), view_of<T, O>(d)}, p.alpha, p.d ? p.beta : T{0}};
    bench::harness clock(ctx, warm_up_runs, s.repeat);
    return bench::measure_spgemm(ctx, clock, {warm_up_runs, s.repeat}, input, options_of(s));
  };
  const bool narrow =
      a.fits_32_bits() && b.fits_32_bits() && (!mask || mask->fits_32_bits()) && (!d || d->fits_32_bits());
  return narrow ? run.template operator()<std::int32_t>() : run.template operator()<std::int64_t>();
}

template <scalar T>
spgemm_verdict verify(const problem<T>& p, const settings& s, csr_view<T, std::int64_t> c) {
  const context host = context::cpu(s.run.threads);
  const auto turned = [&](const csr<T>& m) { return transpose(to_csc(host, m.view())); };
  const csr<T> at = s.transpose_a ? turned(p.a.matrix) : csr<T>{}, bt = s.transpose_b ? turned(p.b.matrix) : csr<T>{};
  spgemm_expectation<T> expected{.a = s.transpose_a ? at.view() : p.a.matrix.view(),
                                 .b = s.transpose_b ? bt.view() : p.b.matrix.view()};
  if (p.mask) expected.mask = p.mask->matrix.view();
  if (p.d) expected.d = p.d->matrix.view();
  expected.alpha = p.alpha;
  expected.beta = p.d ? p.beta : T{0};
  return check_spgemm(host, expected, c);
}

template <scalar T>
json describe(const context& ctx, const problem<T>& p, const settings& s, const bench::spgemm_measurement<T>& m,
              const csr<T>& c) {
  const double us = bench::summarise(m.whole).median;
  json record{{"schema_version", schema_version},
              {"a", p.a.name},
              {"b", p.b.name},
              {"rows", c.rows},
              {"cols", c.cols},
              {"inner", s.transpose_a ? p.a.matrix.rows : p.a.matrix.cols},
              {"nnz_a", p.a.matrix.nnz()},
              {"nnz_b", p.b.matrix.nnz()},
              {"nnz", c.nnz()},
              {"products", m.products},
              {"compression", c.nnz() > 0 ? static_cast<double>(m.products) / static_cast<double>(c.nnz()) : 0},
              {"precision", name(scalar_type_of<T>)},
              {"transpose_a", s.transpose_a},
              {"transpose_b", s.transpose_b},
              {"mask", p.mask ? json(p.mask->name) : json(nullptr)},
              {"add", p.d ? json(p.d->name) : json(nullptr)},
              {"kernel", m.kernel},
              {"reason", m.reason},
              {"backend", name(ctx.backend())},
              {"microseconds", us},
              {"numeric_us", !m.numeric.empty() ? json(bench::summarise(m.numeric).median) : json(nullptr)},
              {"gflops", us > 0 ? 2 * static_cast<double>(m.products) / us / 1e3 : 0},
              {"memory_limit", options_of(s).memory_limit},
              {"peak_bytes", m.peak_bytes},
              {"workspace_bytes", m.workspace_bytes}};
  record["hash"] = matrix_hash(c.view());
  return record;
}

void add_verdict(json& record, const spgemm_verdict& verdict) {
  record["error_ratio"] = std::isfinite(verdict.error_ratio) ? json(verdict.error_ratio) : json("inf");
  record["checked_rows"] = verdict.checked_rows;
  record["verified"] = verdict.ok();
  record["wrong"] = verdict.wrong;
}

void print_verdict(const json& r) {
  const bool right = r["verified"];
  const auto style =
      use_colour(stdout) ? fmt::fg(right ? fmt::terminal_color::green : fmt::terminal_color::red) : fmt::text_style{};
  fmt::print(style, "  {:<13}", right ? "verified" : "WRONG");
  const std::string wrong = r["wrong"];
  const std::int64_t checked = r["checked_rows"], rows = r["rows"];
  if (wrong.empty() && r["error_ratio"].is_number()) {
    fmt::print(" largest error is {:.3f} of its bound", r["error_ratio"].get<double>());
  } else {
    fmt::print(" {}", wrong.empty() ? "an infinity or NaN in the wrong place" : wrong);
  }
  fmt::print("{}\n", checked == rows ? "" : fmt::format(", among {} of {} rows", checked, rows));
}

void print(const json& r) {
  fmt::print("{} * {}: {} x {}, {} nonzeros, {}\n", r["a"].get<std::string>(), r["b"].get<std::string>(),
             r["rows"].get<index_t>(), r["cols"].get<index_t>(), r["nnz"].get<std::int64_t>(),
             r["precision"].get<std::string>());
  fmt::print("  kernel        {}\n  backend       {}\n", r["reason"].get<std::string>(),
             r["backend"].get<std::string>());
  fmt::print("  products      {}, {:.2f} an entry of C\n", r["products"].get<std::int64_t>(),
             r["compression"].get<double>());
  fmt::print("  time          {:.2f} us (median)", r["microseconds"].get<double>());
  if (r["numeric_us"].is_number()) fmt::print(", {:.2f} us for the values alone", r["numeric_us"].get<double>());
  fmt::print("\n  speed         {:.3f} GFLOP/s\n  memory        {} at most beyond A, B and C\n",
             r["gflops"].get<double>(), human_bytes(r["peak_bytes"].get<double>()));
  if (r.contains("verified")) print_verdict(r);
}

template <scalar T>
int run(const settings& s) {
  if (s.output == "-" && s.run.json) throw error(status::invalid_argument, "--output - and --json both want stdout");
  options_of(s);  // a size that is none is said before anything is read
  const context ctx = make_context(s.run);
  const problem<T> p = load_problem<T>(s);
  auto m = measure(ctx, p, s);
  m.renewed.reset();
  const host_product<T> c(ctx, std::move(*m.c));
  json record = describe(ctx, p, s, m, c.matrix());
  bool right = true;
  if (s.verify) {
    const spgemm_verdict verdict = verify(p, s, c.view());
    add_verdict(record, verdict);
    right = verdict.ok();
  }
  if (!s.output.empty()) write_matrix(s.output, c.matrix(), false);
  if (s.run.json) {
    print_json(record);
  } else if (s.output != "-") {
    print(record);
  }
  return right ? ok : not_converged;
}

}  // namespace

void add_spgemm(CLI::App& app, int& result) {
  CLI::App* command =
      app.add_subcommand("spgemm", "C = A B, or with A^T, B^T, a mask, a matrix added: made, timed, checked");
  const auto s = std::make_shared<settings>();
  command->add_option("A", s->a, "Matrix Market file, - or gen:NAME:...")->required();
  command->add_option("B", s->b, "The same")->required();
  command->add_option("-o,--output", s->output,
                      "Write C: .mtx, .mtx.gz or .mtx.zst; - is stdout, which then holds C alone");
  command->add_option("--mask", s->mask,
                      "Keep only those entries of A B that this matrix has; its values do not matter");
  command->add_option("--alpha", s->alpha, "Factor of A B")->capture_default_str();
  auto* add = command->add_option("--add", s->d, "A matrix D to add to alpha A B; the mask does not touch it");
  command->add_option("--beta", s->beta, "Factor of D")->needs(add)->capture_default_str();
  command->add_flag("--transpose-a", s->transpose_a, "Multiply A^T");
  command->add_flag("--transpose-b", s->transpose_b, "Multiply by B^T");
  command->add_option("--memory-limit", s->memory_limit,
                      "Bytes to use at most beyond A, B and C, as 500000, 64K, 100M or 2G; C is the same");
  command->add_option("--kernel", s->run.kernel, "A name from `tulle kernels`");
  command->add_option("--tile-size", s->tile_size, "kernel0: columns of an accumulator; 0 is its own choice")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--repeat", s->repeat, "Timed runs, after one to warm up")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("--verify", s->verify,
                    "Compare with higher precision; an entry beyond its error bound is exit code 4");
  add_backend_options(*command, s->run);
  command->add_option("--precision", s->run.precision, "Type of the values")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  add_strict_option(*command, s->run);
  add_json_option(*command, s->run);
  command->footer("Example: tulle spgemm gen:fem:n=10 gen:fem:n=10 -o C.mtx --verify --memory-limit 1G");
  command->callback([s, &result] { result = s->run.precision == "f32" ? run<float>(*s) : run<double>(*s); });
}

}  // namespace tulle::cli
