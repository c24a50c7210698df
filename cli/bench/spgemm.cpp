#include "spgemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <tulle/formats/validate.hpp>
#include <tulle/ops/verify.hpp>
#include <utility>

#include "../spgemm_operands.hpp"
#include "machine.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "spgemm_measure.hpp"
#include "spgemm_record.hpp"
#include "suite.hpp"

namespace tulle::cli::bench {
namespace {

/// A matrix on the host and on the backend, and the first kernel's answer, which the others are compared with.
template <scalar T>
struct spgemm_case {
  spgemm_subject subject;
  csr<T> a;
  std::optional<csr<T>> turned;  // A^T where that is B
  std::optional<placed_csr<T>> placed_a, placed_b;
  host_product<T> first;
  spgemm_verdict first_verdict;
  bool has_first = false;

  [[nodiscard]] const csr<T>& b() const { return turned ? *turned : a; }
  [[nodiscard]] bool fits_32_bits() const { return placed_a->fits_32_bits(); }  // B has as many entries
};

class spgemm_bench {
 public:
  explicit spgemm_bench(const bench_options& o)
      : o_(o), out_(o), ctx_(make_context(o.run)), clock_(ctx_, o.warmup, o.repeat), kernels_(selected()) {}
  int run();

 private:
  template <scalar T>
  void measure_matrix(const case_name& which, const machine& host, progress& bar);
  template <scalar T>
  void measure_kernel(spgemm_case<T>& c, const spgemm_kernel& kernel);
  template <scalar T, offset O>
  void measure_typed(spgemm_case<T>& c, const spgemm_kernel& kernel);
  template <scalar T>
  [[nodiscard]] std::vector<const spgemm_kernel*> choice_first(const spgemm_case<T>& c);
  template <scalar T>
  void check(spgemm_case<T>& c, any_csr<T>&& result, spgemm_record& r);
  void give_up(const case_name& which, scalar_type precision, status code, const std::string& reason);
  [[nodiscard]] std::vector<const spgemm_kernel*> selected() const;

  const bench_options& o_;
  output out_;
  context ctx_;
  harness clock_;
  std::vector<const spgemm_kernel*> kernels_;
  std::vector<spgemm_record> records_;  // of this matrix
  std::vector<omission> omitted_;
  json benchmarks_ = json::array();
  json skipped_ = json::array();
  std::string failures_;
  std::string chosen_;  // the kernel that a plan takes by itself
  int code_ = ok;       // of the first matrix that could not be had
};

/// What --kernels names, in the table's order.
std::vector<const spgemm_kernel*> spgemm_bench::selected() const {
  const auto table = spgemm_kernels(ctx_.backend());
  std::vector<std::string_view> names;
  for (const spgemm_kernel& k : table) names.push_back(k.name);
  for (const std::string& n : o_.kernels) {
    if (n == "all" || std::ranges::find(names, n) != names.end()) continue;
    throw error(status::invalid_argument, fmt::format("no kernel '{}' for C = A B on backend {}; there are: {}", n,
                                                      name(ctx_.backend()), fmt::join(names, ", ")));
  }
  const auto asked = [&](std::string_view name) { return std::ranges::find(o_.kernels, name) != o_.kernels.end(); };
  std::vector<const spgemm_kernel*> kernels;
  for (const spgemm_kernel& k : table) {
    if (asked("all") || asked(k.name)) kernels.push_back(&k);
  }
  return kernels;
}

void spgemm_bench::give_up(const case_name& which, scalar_type precision, status code, const std::string& reason) {
  note(reason);
  skipped_.push_back(to_json(
      omission{"all", which.label.empty() ? which.spec : which.label, std::string(name(precision)), reason, false}));
  if (code_ == ok) code_ = exit_code_of(code);
}

template <scalar T>
bool same_bits(csr_view<T, std::int64_t> x, csr_view<T, std::int64_t> y) {
  const auto rows = static_cast<std::size_t>(x.rows) + 1, nnz = static_cast<std::size_t>(x.nnz);
  return x.nnz == y.nnz && std::memcmp(x.rowptr, y.rowptr, rows * sizeof(std::int64_t)) == 0 &&
         (nnz == 0 || (std::memcmp(x.colind, y.colind, nnz * sizeof(index_t)) == 0 &&
                       std::memcmp(x.values, y.values, nnz * sizeof(T)) == 0));
}

template <scalar T>
bool same_pattern(csr_view<T, std::int64_t> x, csr_view<T, std::int64_t> y) {
  return x.nnz == y.nnz && std::equal(x.rowptr, x.rowptr + x.rows + 1, y.rowptr) &&
         std::equal(x.colind, x.colind + x.nnz, y.colind);
}

/// The first answer is held to higher precision; what has the same bits is as right.
template <scalar T>
void spgemm_bench::check(spgemm_case<T>& c, any_csr<T>&& result, spgemm_record& r) {
  const context host = context::cpu(o_.run.threads);
  host_product<T> got(ctx_, std::move(result));
  r.same_bits = c.has_first && same_bits(got.view(), c.first.view());
  spgemm_verdict verdict = c.first_verdict;
  if (!r.same_bits) verdict = check_spgemm<T>(host, {.a = c.a.view(), .b = c.b().view()}, got.view());
  r.sorted = validate(host, got.view(), {.sorted = true, .duplicates = true}).ok();
  r.error_ratio = verdict.error_ratio;
  r.checked_rows = verdict.checked_rows;
  r.wrong = verdict.wrong;
  if (r.wrong.empty() && c.has_first && !r.same_bits && !same_pattern(got.view(), c.first.view())) {
    r.wrong = "the pattern is not that of the first kernel";
  }
  if (c.has_first) return;
  c.first = std::move(got);
  c.first_verdict = verdict;
  c.has_first = true;
}

template <scalar T, offset O>
void spgemm_bench::measure_typed(spgemm_case<T>& c, const spgemm_kernel& kernel) {
  spgemm_options options;
  options.kernel = kernel.name;
  const spgemm_input<T, O> input{c.placed_a->template as<O>(),
                                 (c.placed_b ? *c.placed_b : *c.placed_a).template as<O>()};
  auto m = measure_spgemm(ctx_, clock_, {o_.warmup, o_.repeat}, input, options);
  spgemm_record whole;
  whole.kernel = m.kernel;
  whole.phase = "whole";
  whole.chosen = m.kernel == chosen_;
  whole.vendor = kernel.role == kernel_role::vendor;
  whole.products = m.products;
  whole.nnz_c = m.nnz;
  whole.time = summarise(m.whole);
  whole.peak_bytes = m.peak_bytes;
  whole.workspace_bytes = m.workspace_bytes;
  spgemm_record numeric = whole;
  check(c, std::move(*m.c), whole);
  m.c.reset();
  records_.push_back(whole);
  if (!m.renewed) {
    omitted_.push_back({std::string(m.kernel), c.subject.matrix, c.subject.precision,
                        fmt::format("no numeric phase: {}", m.numeric_missing), !whole.vendor});
    return;
  }
  numeric.phase = "numeric";
  numeric.time = summarise(m.numeric);
  check(c, std::move(*m.renewed), numeric);
  records_.push_back(std::move(numeric));
}

/// Statuses by which a kernel declines a matrix, as opposed to failing on it.
bool declines(status code) {
  return code == status::out_of_memory || code == status::device_out_of_memory || code == status::unsupported ||
         code == status::overflow;
}

template <scalar T>
void spgemm_bench::measure_kernel(spgemm_case<T>& c, const spgemm_kernel& kernel) {
  const auto omit = [&](const std::string& reason, bool failed) {
    omitted_.push_back(
        {std::string(kernel.name), c.subject.matrix, c.subject.precision, reason, failed && kernel.role != kernel_role::vendor});
  };
  try {
    if (c.fits_32_bits()) {
      measure_typed<T, std::int32_t>(c, kernel);
    } else {
      measure_typed<T, std::int64_t>(c, kernel);
    }
  } catch (const error& e) {
    omit(e.what(), !declines(e.code()));
  } catch (const std::bad_alloc&) {
    omit("out of memory", false);
  }
}

/// So that its answer is the one that the others are compared with.
template <scalar T>
std::vector<const spgemm_kernel*> spgemm_bench::choice_first(const spgemm_case<T>& c) {
  const auto a = c.placed_a->template as<std::int64_t>();
  chosen_ = spgemm_plan<T>(ctx_, a, c.placed_b ? c.placed_b->template as<std::int64_t>() : a).kernel();
  std::vector<const spgemm_kernel*> kernels = kernels_;
  std::ranges::stable_partition(kernels, [&](const spgemm_kernel* k) { return k->name == chosen_; });
  return kernels;
}

template <scalar T>
spgemm_case<T> make_case(const case_name& which, const run_options& run, const machine& host) {
  spgemm_case<T> c;
  auto loaded = load<T>(which.spec, run);
  c.a = std::move(loaded.matrix);
  if (c.a.rows != c.a.cols) c.turned = transpose(to_csc(context::cpu(run.threads), c.a.view()));
  c.subject = {which.label.empty() ? loaded.name : which.label,
               matrix_hash(c.a.view()),
               std::string(name(scalar_type_of<T>)),
               c.turned.has_value(),
               c.a.rows,
               c.b().cols,
               c.a.nnz(),
               c.b().nnz(),
               host.memory.copy,
               host.memory.cache};
  return c;
}

template <scalar T>
void spgemm_bench::measure_matrix(const case_name& which, const machine& host, progress& bar) {
  records_.clear();
  omitted_.clear();
  try {
    bar.show(fmt::format("{}: preparing", which.label.empty() ? which.spec : which.label));
    spgemm_case<T> c = make_case<T>(which, o_.run, host);
    c.placed_a.emplace(ctx_, c.a.view());
    if (c.turned) c.placed_b.emplace(ctx_, c.turned->view());
    for (const spgemm_kernel* kernel : choice_first(c)) {
      bar.show(fmt::format("{} {} {}", c.subject.matrix, c.subject.precision, kernel->name));
      measure_kernel(c, *kernel);
    }
    bar.clear();
    out_.print(spgemm_table(c.subject, records_, omitted_));
    for (const spgemm_record& r : records_) {
      benchmarks_.push_back(to_json(c.subject, r));
      if (r.is_right()) continue;
      failures_ += fmt::format("WRONG{}: {}: error is {:.3g} times its bound{}{}\n", r.vendor ? " (vendor)" : "",
                               name_of(c.subject, r), r.error_ratio, r.sorted ? "" : ", rows not sorted",
                               r.wrong.empty() ? "" : "; " + r.wrong);
      if (!r.vendor) code_ = not_converged;
    }
  } catch (const error& e) {
    bar.clear();
    give_up(which, scalar_type_of<T>, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    bar.clear();
    give_up(which, scalar_type_of<T>, status::out_of_memory, fmt::format("{}: out of memory", which.spec));
  }
  for (const omission& o : omitted_) {
    skipped_.push_back(to_json(o));
    if (!o.failed) continue;
    failures_ += fmt::format("FAILED: {} on {} in {}: {}\n", o.kernel, o.matrix, o.precision, o.reason);
    code_ = not_converged;
  }
  bar.advance();
}

int spgemm_bench::run() {
  const machine host = measure_machine(ctx_);
  out_.print(headline(host) + '\n');
  const std::vector<case_name> all = cases(o_.suite, o_.matrices);
  progress bar(all.size() * (o_.precision == "both" ? 2 : 1));
  for (const case_name& which : all) {
    if (o_.precision != "f32") measure_matrix<double>(which, host, bar);
    if (o_.precision != "f64") measure_matrix<float>(which, host, bar);
  }
  if (!failures_.empty()) out_.print('\n' + failures_);
  json document{{"context", describe(host)}, {"benchmarks", benchmarks_}, {"skipped", skipped_}};
  document["context"]["warmup"] = o_.warmup;
  return out_.finish(document, code_);
}

}  // namespace

int run_spgemm_bench(const bench_options& options) { return spgemm_bench(options).run(); }

}  // namespace tulle::cli::bench
