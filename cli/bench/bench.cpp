// `tulle bench`: every kernel of the table on every matrix given.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "compare.hpp"
#include "errors.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sweep.hpp"

namespace tulle::cli {
namespace {

using namespace bench;

/// A run that is slower than the one that --compare names.
constexpr int regression = 1;

/// Everything one call of `tulle bench` writes to.
class bench_command {
 public:
  explicit bench_command(const bench_options& options) : o_(options), text_(options.json == "-" ? stderr : stdout) {}
  int run();

 private:
  void measure(const context& ctx, const machine& host);
  template <scalar T>
  void measure_case(const bench_run& run, const case_name& which, progress& bar);
  void sweep_subject(const bench_run& run, subject& s, progress& bar);
  void measure_subject(const bench_run& run, subject& s, progress& bar);
  [[nodiscard]] std::vector<case_name> cases() const;
  [[nodiscard]] json document(const machine& host) const;
  void print(const std::string& text) const {
    fmt::print(text_, "{}", text);
    std::fflush(text_);
  }

  const bench_options& o_;
  std::FILE* text_;
  results all_;
  std::vector<rounding> errors_;
};

std::vector<case_name> bench_command::cases() const {
  std::vector<case_name> all;
  if (!o_.suite.empty()) all = suite(o_.suite);
  for (const std::string& m : o_.matrices) all.push_back({"", m});
  return all;
}

void bench_command::measure_subject(const bench_run& run, subject& s, progress& bar) {
  results mine;
  for (const spmv_kernel* k : select_kernels(run, s, o_.kernels)) {
    bar.show(fmt::format("{} {} {}", s.name, name(s.a.types.value), k->name));
    measure_kernel(run, s, *k, {}, "", mine);
  }
  add_break_even(mine.records, kernel_without_set_up(run.ctx.backend()));
  bar.clear();
  print(subject_table(s, mine.records, mine.omitted));
  std::ranges::move(mine.records, std::back_inserter(all_.records));
  std::ranges::move(mine.omitted, std::back_inserter(all_.omitted));
}

void bench_command::sweep_subject(const bench_run& run, subject& s, progress& bar) {
  results mine;
  bar.show(fmt::format("{} {} {}", s.name, name(s.a.types.value), o_.sweep));
  sweep(run, s, select_kernels(run, s, o_.kernels), o_.sweep, mine);
  bar.clear();
  print(fmt::format("\n{}, {}:\n{}", s.name, name(s.a.types.value), sweep_table(mine.records, o_.sweep)));
  std::ranges::move(mine.records, std::back_inserter(all_.records));
  std::ranges::move(mine.omitted, std::back_inserter(all_.omitted));
}

template <scalar T>
void bench_command::measure_case(const bench_run& run, const case_name& which, progress& bar) {
  bar.show(fmt::format("{}: preparing", which.label.empty() ? which.spec : which.label));
  subject s = make_subject<T>(run.ctx, which, o_.run, run.clock);
  if (o_.sweep.empty()) {
    measure_subject(run, s, bar);
  } else {
    sweep_subject(run, s, bar);
  }
  bar.advance();
}

void bench_command::measure(const context& ctx, const machine& host) {
  harness clock(ctx, o_.warmup, o_.repeat);
  std::vector<cache_state> states;
  if (o_.cold || !o_.warm) states.push_back(cache_state::cold);
  if (o_.warm || !o_.cold) states.push_back(cache_state::warm);
  const bench_run run{ctx, host, clock, states, o_.diagnose && o_.sweep.empty()};
  const std::vector<case_name> all = cases();
  progress bar(all.size() * (o_.precision == "both" ? 2 : 1));
  for (const case_name& c : all) {
    if (o_.precision != "f32") measure_case<double>(run, c, bar);
    if (o_.precision != "f64") measure_case<float>(run, c, bar);
  }
}

json bench_command::document(const machine& host) const {
  json j{{"context", describe(host)}, {"benchmarks", json::array()}, {"skipped", json::array()}};
  j["context"]["warmup"] = o_.warmup;
  for (const record& r : all_.records) j["benchmarks"].push_back(to_json(r));
  for (const omission& o : all_.omitted) j["skipped"].push_back(to_json(o));
  if (o_.errors) {
    j["errors"] = json::array();
    for (const rounding& r : errors_) j["errors"].push_back(to_json(r));
  }
  return j;
}

/// Opens what --json names before anything is measured: a name that cannot be written costs no run.
std::ofstream open_output(const std::string& file) {
  std::ofstream stream;
  if (file.empty() || file == "-") return stream;
  stream.open(file);
  if (!stream) throw error(status::file_io, fmt::format("--json {}: cannot be written: {}", file, std::strerror(errno)));
  return stream;
}

int bench_command::run() {
  const json before = o_.compare.empty() ? json() : read_run(o_.compare);
  std::ofstream file = open_output(o_.json);
  const context ctx = make_context(o_.run);
  const machine host = measure_machine(ctx);
  print(headline(host) + '\n');
  if (o_.errors) {
    errors_ = study_errors(ctx, o_.kernels);
    print(errors_table(errors_));
  }
  measure(ctx, host);
  print(choice_summary(all_.records));
  print(failures(all_));

  const json after = document(host);
  if (o_.json == "-") print_json(after);
  if (file.is_open()) {
    file << after.dump(1) << '\n';
    file.close();
    if (!file) throw error(status::file_io, fmt::format("--json {}: cannot be written", o_.json));
  }
  const bool wrong = std::ranges::any_of(errors_, [](const rounding& r) { return !(r.error_ratio <= 1); });
  if (wrong || !failures(all_).empty()) return not_converged;
  if (o_.compare.empty()) return ok;
  const comparisons compared = compare(before, after, o_.tolerance);
  print(comparison_table(compared, o_.tolerance));
  return compared.any_regression() ? regression : ok;
}

/// `tulle bench spmv MATRIX` says the operation; without it, it is the same one.
void drop_operation(std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "spmv") words.erase(words.begin());
}

void check(const bench_options& o) {
  if (o.matrices.empty() && o.suite.empty() && !o.errors) {
    throw error(status::invalid_argument, "nothing to measure: name a matrix, --suite peers or --errors");
  }
}

constexpr const char* footer =
    "* marks what a plan chooses by itself. Times are medians; GB/s counts the fewest bytes that must move (values,\n"
    "32-bit columns, offsets, x and y once), % bw is of the read bandwidth measured in this run, 'plan us' goes from the\n"
    "CSR on the backend to a ready operator, 'pays after' is the number of applications after which that has caught up\n"
    "with the kernel without set-up (csr.balanced, csr.merge), 'error' is the largest error over its bound (at most 1).\n"
    "Bottleneck, the first that holds: bandwidth: bytes moved reach 75% of the measured bandwidth; latency: shorter than\n"
    "10 launches; gather: at least 1.25 times faster with all column indices 0; imbalance: at least 1.25 times faster\n"
    "with the same nonzeros spread evenly over the rows; else latency.\n"
    "Exit codes: 1 slower than --compare, 4 a kernel failed or its answer was outside its bound.\n"
    "\nExamples: tulle bench gen:stencil:points=27,n=100 --json new.json --compare old.json\n"
    "          tulle bench --suite peers --precision both --kernels all\n"
    "          tulle bench cant.mtx --sweep block_size --kernels csr.warp,csr.merge";

}  // namespace

void add_bench(CLI::App& app, int& result) {
  auto o = std::make_shared<bench_options>();
  CLI::App& command = *app.add_subcommand("bench", "Measure every kernel on matrices");
  command.footer(footer);
  command.add_option("MATRIX", o->matrices, "Files or gen:NAME:key=value,...");
  command.add_option("--suite", o->suite, "A set of matrices")->check(CLI::IsMember({"peers", "peers-small"}));
  command.add_option("--kernels", o->kernels, "all, default, or names")->delimiter(',')->capture_default_str();
  add_backend_options(command, o->run);
  add_strict_option(command, o->run);
  command.add_option("--precision", o->precision, "Type of the values")
      ->check(CLI::IsMember({"f32", "f64", "both"}))
      ->capture_default_str();
  command.add_option("--warmup", o->warmup, "Runs before the timed ones")->check(CLI::Range(0, 1000))->capture_default_str();
  command.add_option("--repeat", o->repeat, "Timed runs")->check(CLI::Range(1, 1000))->capture_default_str();
  command.add_flag("--cold", o->cold, "Only with the cache overwritten before every run");
  command.add_flag("--warm", o->warm, "Only with runs back to back");
  command.add_flag("!--no-diagnosis", o->diagnose, "Leave out the runs on altered matrices behind the bottleneck");
  command.add_option("--json", o->json, "Write the records to a file; - is stdout, the tables then go to stderr");
  command.add_option("--compare", o->compare, "An earlier --json file")->check(CLI::ExistingFile);
  command.add_option("--tolerance", o->tolerance, "Per cent slower that --compare lets pass")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--sweep", o->sweep, "Each kernel at each usual value of a parameter")
      ->check(CLI::IsMember(sweep_parameters()));
  command.add_flag("--errors", o->errors, "Rounding error against row length, in i32, f64 and f32");
  command.callback([o, &result] {
    drop_operation(o->matrices);
    check(*o);
    result = bench_command(*o).run();
  });
}

}  // namespace tulle::cli
