// What `tulle bench` does whatever the operation: goes through the matrices, shows progress, writes what was found.
#pragma once

#include <fmt/format.h>

#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/inputs.hpp"
#include "common/page.hpp"
#include "common/progress.hpp"
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
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// For every matrix and precision asked for: measure(prepare(matrix, options of that precision)). A matrix that
  /// cannot be prepared is noted and omitted: the others are still measured.
  template <class Prepare, class Measure>
  void each_matrix(std::vector<omission>& omitted, const Prepare& prepare, const Measure& measure);

  /// What runs now, on a terminal.
  progress_bar bar;

  /// Prints what write(page) writes, to stdout, or to stderr where the JSON goes to stdout; not there where quiet,
  /// unless it is an error.
  template <class Write>
  void print(const Write& write, bool is_error = false) {
    if (stream_ == stderr && is_quiet() && !is_error) return;
    bar.clear();
    write(page_);
    page_.print(stream_);
    std::fflush(stream_);
  }

  /// Once all of a matrix is measured: says of every record whether other processes were in the way; of what was too
  /// short to tell, by all that was measured since the last call.
  template <class Record>
  void mark_disturbed(std::vector<Record>& records);

  /// Prints what failed and writes the records, with `more` at the end of the document, where there are any. Returns
  /// the exit code.
  template <class Record>
  int finish(const results<Record>& all, const json& more = json::object());

 private:
  omission give_up(omission o, status code, const std::string& reason);
  int write(const json& document);
  /// Prints the comparison with what --compare names. Returns the exit code.
  int compare_with_before(const json& document);
  /// Says it where other processes were in the way, and records it.
  void add_load(json& context);

  const bench_options& o_;
  json before_;
  std::FILE* stream_;
  page page_;
  int code_ = ok;  // of the first matrix that could not be had
  load_watch load_, of_matrix_;

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
    bar.next();
    bar.step(fmt::format("{} {}: preparing", name, precision));
    try {
      subject.emplace(prepare(which, run));
    } catch (const error& e) {
      omitted.push_back(give_up(blank, e.code(), e.what()));
    } catch (const std::bad_alloc&) {
      omitted.push_back(give_up(blank, status::out_of_memory, blank.reason));
    }
    if (subject) measure(*subject);
  };
  const std::vector<case_name> all = cases(o_.suite, o_.matrices);
  bar.expect(all.size() * (o_.run.precision == "both" ? 2 : 1));
  for (const case_name& which : all) {
    if (o_.output.empty() && lost_output() != 0) break;  // nobody would see what is measured
    const std::string& asked = o_.run.precision;
    if (asked == "mixed") one(which, "mixed");
    if (asked == "f64" || asked == "both") one(which, "f64");
    if (asked == "f32" || asked == "both") one(which, "f32");
    if (is_further(type_named(asked))) one(which, asked.c_str());
  }
  bar.clear();
}

template <class Record>
void session::mark_disturbed(std::vector<Record>& records) {
  bench::mark_disturbed(records, of_matrix_.others(), threads_that_count(ctx));
  of_matrix_ = load_watch();
}

/// The kernels that failed and the answers that were wrong, a line each.
template <class Record>
void add_failures(page& to, const results<Record>& all) {
  for (const Record& r : all.records) {
    if (r.is_right()) continue;
    to.line(fmt::format("WRONG{}: {}: {}", r.is_failure() ? "" : " (vendor)", r.name(), r.complaint()), look::red);
  }
  for (const omission& o : all.omitted) {
    if (o.failed)
      to.line(fmt::format("FAILED: {} on {} in {}: {}", o.kernel, o.matrix, o.precision, o.reason), look::red);
  }
}

template <class Record>
int session::finish(const results<Record>& all, const json& more) {
  print([&](page& to) { add_failures(to, all); }, true);
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
