// tulle spgemm: C = M o (alpha A B) + beta D, or with A^T or B^T: made, timed, checked and written.
#include <algorithm>

#include "common/backend.hpp"
#include "common/command.hpp"
#include "spgemm_result.hpp"

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
  problem<T> p{load<T>(s.a, s.run), load<T>(s.b, s.run), {}, {}, alpha, s.d.empty() ? T{0} : beta};
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

/// Makes C as often as asked for.
template <scalar T>
bench::spgemm_measurement measure(const context& ctx, const problem<T>& p, int repeats, const spgemm_options& options) {
  std::int64_t most = std::max(p.a.matrix.nnz(), p.b.matrix.nnz());
  for (const auto* m : {&p.mask, &p.d}) most = std::max(most, *m ? (*m)->matrix.nnz() : 0);
  const auto placed = [&](const named_matrix<T>& m) { return place<T>(ctx, m.matrix.view(), offsets_for(most)); };
  bench::spgemm_input input{placed(p.a), placed(p.b), {}, static_cast<double>(p.alpha), static_cast<double>(p.beta)};
  if (p.mask) input.terms.mask = placed(*p.mask);
  if (p.d) input.terms.d = placed(*p.d);
  bench::harness clock(ctx, warm_up_runs, repeats);
  return bench::measure_spgemm(ctx, clock, input, options);
}

template <scalar T>
spgemm_verdict verify(const problem<T>& p, const settings& s, csr_view<T, std::int64_t> c) {
  const csr<T> at = s.transpose_a ? transposed(p.a.matrix, s.run) : csr<T>{};
  const csr<T> bt = s.transpose_b ? transposed(p.b.matrix, s.run) : csr<T>{};
  spgemm_expectation<T> expected{.a = s.transpose_a ? at.view() : p.a.matrix.view(),
                                 .b = s.transpose_b ? bt.view() : p.b.matrix.view()};
  if (p.mask) expected.mask = p.mask->matrix.view();
  if (p.d) expected.d = p.d->matrix.view();
  expected.alpha = p.alpha;
  expected.beta = p.beta;
  return check_spgemm(context::cpu(s.run.threads), expected, c);
}

template <scalar T>
int run_typed(const settings& s) {
  spgemm_result r;
  r.options = options_of(s);  // first: a wrong size costs no reading of files
  const context ctx = make_context(s.run);
  const problem<T> p = load_problem<T>(s);
  bench::spgemm_measurement m = measure(ctx, p, s.repeat, r.options);
  m.renewed.reset();
  const csr<T> c = to_host<T>(ctx, m.c);
  r.a = p.a.facts();
  r.b = p.b.facts();
  r.c = {r.a.name + " * " + r.b.name, c.rows, c.cols, c.nnz()};
  if (p.mask) r.mask = p.mask->name;
  if (p.d) r.add = p.d->name;
  r.timing = std::move(m);
  r.precision = name(scalar_type_of<T>);
  r.backend = name(ctx.backend());
  r.hash = matrix_hash(c.view());
  if (s.verify) r.verdict = verify(p, s, c.view());
  if (!s.output.empty()) write_matrix(s.output, c);
  if (s.run.json || s.output != "-") print(r, s.run.json);
  return !r.verdict || r.verdict->ok() ? ok : not_converged;
}

int run(const settings& s) {
  if (s.output == "-" && s.run.json) throw error(status::invalid_argument, "--output - and --json both want stdout");
  return s.run.precision == "f32" ? run_typed<float>(s) : run_typed<double>(s);
}

}  // namespace

void add_spgemm(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "spgemm", "C = A B, or with A^T, B^T, a mask, a matrix added: made, timed, checked",
                  "Example: tulle spgemm gen:fem:n=10 gen:fem:n=10 -o C.mtx --verify --memory-limit 1G", run);
  command.add_option("A", s.a, matrix_help)->required();
  command.add_option("B", s.b, "The same")->required();
  command.add_option("-o,--output", s.output,
                     "Write C: .mtx, .mtx.gz or .mtx.zst; - is stdout, which then holds C alone");
  command.add_option("--mask", s.mask, "Keep only those entries of A B that this matrix has; its values do not matter");
  command.add_option("--alpha", s.alpha, "Factor of A B")->capture_default_str();
  auto* add = command.add_option("--add", s.d, "A matrix D to add to alpha A B; the mask does not touch it");
  command.add_option("--beta", s.beta, "Factor of D")->needs(add)->capture_default_str();
  command.add_flag("--transpose-a", s.transpose_a, "Multiply A^T");
  command.add_flag("--transpose-b", s.transpose_b, "Multiply by B^T");
  command.add_option("--memory-limit", s.memory_limit,
                     "Bytes to use at most beyond A, B and C, as 500000, 64K, 100M or 2G; C is the same");
  command.add_option("--kernel", s.run.kernel, "A name from `tulle kernels`");
  command.add_option("--tile-size", s.tile_size, "Columns of an accumulator of kernel0; 0: as many as it chooses")
      ->check(CLI::NonNegativeNumber);
  add_count(command, "--repeat", s.repeat, 1, 1'000'000, "Timed runs, after one to warm up");
  command.add_flag("--verify", s.verify,
                   "Compare with higher precision; an entry beyond its error bound is exit code 4");
  add_backend_options(command, s.run);
  add_precision_option(command, s.run, {"f32", "f64"});
  add_strict_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
