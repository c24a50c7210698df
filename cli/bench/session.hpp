// What `tulle bench` does whatever the operation: goes through the matrices, shows progress, writes what was found.
#pragma once

#include <fmt/format.h>

#include "common/backend.hpp"
#include "common/command.hpp"
#include "harness.hpp"
#include "load.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "record.hpp"
#include "suite.hpp"

namespace tulle::cli::bench {

/// What --cold, --warm and --latency ask for.
std::vector<cache_state> states_of(const bench_options& o);

class session {
 public:
  /// Reads what --compare names and checks what --output names before anything is measured: a file that cannot be
  /// written, or is none to overwrite, costs no run. Then measures the machine. Throws FILE_IO, INVALID_FORMAT.
  session(const bench_options& options, context on);
  ~session() { clear_bar(); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// For every matrix and precision asked for: measure(prepare(matrix, options of that precision)). A matrix that
  /// cannot be prepared is noted and omitted: the others are still measured.
  template <class Prepare, class Measure>
  void each_matrix(std::vector<omission>& omitted, const Prepare& prepare, const Measure& measure);

  /// Shows on a terminal what runs now.
  void show(std::string_view what);
  /// To stdout, or to stderr where the JSON goes to stdout.
  void print(const std::string& text);

  /// Prints what failed and writes the records, with `more` at the end of the document, where there are any. Returns
  /// the exit code.
  template <class Record>
  int finish(const results<Record>& all, const json& more = json::object());

 private:
  omission give_up(omission o, status code, const std::string& reason);
  int write(const json& document);
  void clear_bar();
  /// Says it where other processes were in the way, and records it.
  void add_load(json& context);

  const bench_options& o_;
  json before_;
  std::size_t steps_ = 1, done_ = 0;
  bool bar_shown_ = false;
  int code_ = ok;  // of the first matrix that could not be had
  load_watch load_;

 public:  // made after the files were looked at
  const context ctx;
  const machine host;
  harness clock;
};

template <class Prepare, class Measure>
void session::each_matrix(std::vector<omission>& omitted, const Prepare& prepare, const Measure& measure) {
  const auto one = [&](const case_name& which, const char* precision) {
    run_options run = o_.run;
    run.precision = precision;
    const std::string& name = which.label.empty() ? which.spec : which.label;
    const omission blank{"all", name, precision, which.spec + ": out of memory", false};
    std::optional<decltype(prepare(which, run))> subject;
    show(name + ": preparing");
    try {
      subject.emplace(prepare(which, run));
    } catch (const error& e) {
      omitted.push_back(give_up(blank, e.code(), e.what()));
    } catch (const std::bad_alloc&) {
      omitted.push_back(give_up(blank, status::out_of_memory, blank.reason));
    }
    if (subject) measure(*subject);
    ++done_;
  };
  const std::vector<case_name> all = cases(o_.suite, o_.matrices);
  steps_ = all.size() * (o_.run.precision == "both" ? 2 : 1);
  for (const case_name& which : all) {
    if (o_.output.empty() && lost_output() != 0) break;  // nobody would see what is measured
    const std::string& asked = o_.run.precision;
    if (asked == "mixed") one(which, "mixed");
    if (asked == "f64" || asked == "both") one(which, "f64");
    if (asked == "f32" || asked == "both") one(which, "f32");
    if (is_further(type_named(asked))) one(which, asked.c_str());
  }
  clear_bar();
}

/// The kernels that failed and the answers that were wrong; empty when there are none.
template <class Record>
std::string failures(const results<Record>& all) {
  std::string text;
  for (const Record& r : all.records) {
    if (r.is_right()) continue;
    text += fmt::format("WRONG{}: {}: {}\n", r.is_failure() ? "" : " (vendor)", r.name(), r.complaint());
  }
  for (const omission& o : all.omitted) {
    if (o.failed) text += fmt::format("FAILED: {} on {} in {}: {}\n", o.kernel, o.matrix, o.precision, o.reason);
  }
  return text;
}

template <class Record>
int session::finish(const results<Record>& all, const json& more) {
  if (const std::string text = failures(all); !text.empty()) print('\n' + text);
  json document =
      object(field("context", describe(host)), field("benchmarks", json::array()), field("skipped", json::array()));
  document["context"]["warmup"] = o_.warmup;
  add_load(document["context"]);
  for (const Record& r : all.records) {
    document["benchmarks"].push_back(to_json(r));
    if (r.is_failure()) code_ = not_converged;
  }
  for (const omission& o : all.omitted) {
    document["skipped"].push_back(to_json(o));
    if (o.failed) code_ = not_converged;
  }
  document.update(more);
  return write(document);
}

/// Every kernel of an operation on every matrix: measure(session, kernels, prepare(session, matrix, options)) gives the
/// results of one.
template <class Results, class Prepare, class Measure>
int run_kernel_bench(const bench_options& o, kernel_operation operation, const Prepare& prepare,
                     const Measure& measure) {
  const context ctx = make_context(o.run);
  const std::vector<kernel_info> kernels = kernels_of(ctx.backend(), operation);
  select_kernels(kernels, o.kernels, {});  // a name that there is not costs no reading of files
  session bench(o, ctx);
  Results all;
  bench.each_matrix(
      all.omitted, [&](const case_name& which, const run_options& run) { return prepare(bench, which, run); },
      [&](auto& subject) { all.append(measure(bench, kernels, subject)); });
  return bench.finish(all);
}

}  // namespace tulle::cli::bench
