// The options of `tulle bench`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "common/command.hpp"
#include "options.hpp"
#include "suite.hpp"
#include "sweep.hpp"

namespace tulle::cli {
namespace {

using bench::bench_options;

/// The first word may be an operation: spmv, which is also meant without it; spmm, which has 8 right-hand sides where
/// --rhs does not say how many; spgemm; or solve.
void take_operation(bench_options& o) {
  if (o.matrices.empty()) return;
  const std::string word = o.matrices.front();
  if (word != "spmv" && word != "spmm" && word != "spgemm" && word != "solve") return;
  o.matrices.erase(o.matrices.begin());
  if (word == "spgemm" || word == "solve") o.operation = word;
  if (word == "spmm" && o.work.rhs == 1) o.work.rhs = 8;
}

void check(const bench_options& o) {
  if (o.matrices.empty() && o.suite.empty() && !o.errors && !o.precision_study) {
    throw error(status::invalid_argument,
                "nothing to measure: name a matrix, --suite peers, --errors or --precision-study");
  }
  if (o.operation == "spmv" && std::ranges::find(o.kernels, "default") != o.kernels.end()) {
    throw error(status::invalid_argument,
                "no kernel 'default'; --kernels chosen is the plan's choice and the kernel without set-up");
  }
  const bool spmv_only = o.errors || o.latency || o.cold || !o.sweep.empty() || o.work.transpose || o.work.rhs > 1 ||
                         o.passes || o.precision_study;
  if (o.operation != "spmv" && spmv_only) {
    throw error(status::invalid_argument,
                fmt::format("bench {} goes with none of --errors, --precision-study, --latency, --passes, --cold, --sweep, --transpose and --rhs",
                            o.operation));
  }
  if (o.operation == "spgemm" && o.run.precision == "mixed") {
    throw error(status::invalid_argument, "bench spgemm goes without --precision mixed");
  }
  if (is_further(type_named(o.run.precision)) && (o.operation == "solve" || o.errors || o.precision_study)) {
    throw error(status::invalid_argument,
                fmt::format("--precision {} goes with bench spmv and spgemm alone", o.run.precision));
  }
  if (o.operation != "solve") {
    (void)narrowing_of(o.run);
  } else if (narrowing_of_solver(o.run).is_asked_for()) {
    throw error(status::invalid_argument,
                "bench solve --precision mixed iterates until --rtol is reached, without a tolerance or a rule");
  }
  if (o.operation == "spgemm" && o.run.reorder != "never") {
    throw error(status::invalid_argument, "bench spgemm goes without --reorder");
  }
  if (!(o.rtol >= 0) || !std::isfinite(o.rtol)) {
    throw error(status::invalid_argument, fmt::format("--rtol {}: must be a number, 0 or above", o.rtol));
  }
}

constexpr const char* footer =
    R"(* marks what a plan of the --effort asked for chooses by itself. Times are medians. GB/s counts the fewest bytes
that must move (values, 32-bit columns, offsets, x and y once); % bw is their share of the read bandwidth measured in
this run; 'plan us' is the time from the CSR on the backend to a ready operator, analysis included; 'pays after' is the
number of applications after which that has caught up with the kernel without set-up (csr.balanced, csr.stream);
'error' is the largest error over its bound, at most 1. The bottleneck is the first of these that holds:
  bandwidth  the bytes moved reach 75% of the measured bandwidth
  latency    a run is shorter than 10 launches
  gather     setting all column indices to 0 makes it at least 1.25 times faster
  imbalance  spreading the same nonzeros evenly over the rows makes it at least 1.25 times faster
  latency    none of these
--kernels chosen: what the plan chooses, and the kernel without set-up; study: the origins of ours, and vendor: the
vendor's, neither of which a plan chooses.
--latency is for small matrices, and measures --kernels chosen,vendor unless told otherwise. 'event' is the time between two events, 'host' from the call until the host sees the device
done, 'submit' the call alone; '64 queued' is a 64th of 64 calls in a row, seen from the host, '64 graph' a 64th of a
CUDA graph of 64, between events; 'graph host' is a graph of one, from its launch until the host sees it done.
spgemm is C = A A, or A A^T where A is not square: 'whole' goes from A and B to a new, sorted C, seen from the host;
'numeric' is the values alone in a known pattern. Each product a_ik b_kj counts as 2 operations; % bw is the share of
the copy bandwidth that moving A and C once takes; % L2 is the share of the bandwidth of a GPU's L2 that reading an
entry of B for each product takes; 'x' is whole over numeric; 'peak' is memory beyond A, B and C. A vendor's kernel that
fails is reported, and does not change the exit code.
--passes adds what apply_dots (w is x where A is square) and jacobi take beyond apply, each beside what moving its
further bytes takes at the read bandwidth.
--precision mixed measures every kernel with A stored as --tolerance allows, and holds it to that and to rounding.
--precision-study sets the ways to store values side by side, on the values as given and on others in the same pattern:
floats, few different ones, four rows in five 2^-12 of the rest. 'error' is over rounding and what was promised.
solve is A x = b by conjugate gradients, from 0, seen from the host: the time of an iteration is a hundredth of 100, with
the solve's beginning and end (--precision mixed: of a whole solve); GB/s counts values, 32-bit columns and offsets once and 10 vectors; 'solve us' and
'iterations' are those to --rtol.
--json prints the records on stdout, and the tables then go to stderr; -o writes the records to a file.
Exit codes: 1 slower than --compare, 4 a kernel failed or its answer was outside its bound.

Examples: tulle bench gen:stencil:points=27,n=100 -o new.json --compare old.json
          tulle bench --suite peers --precision both --kernels all
          tulle bench spmm cant.mtx --rhs 16 --order row
          tulle bench cant.mtx --latency --precision both
          tulle bench cant.mtx --precision mixed --tolerance 1e-6 --bound row
          tulle bench --precision-study cant.mtx -o study.json
          tulle bench spgemm cant.mtx --kernels chosen
          tulle bench solve gen:stencil:points=7,n=100,values=spd --preconditioner jacobi,chebyshev
          tulle bench cant.mtx --sweep block_size --kernels csr.warp,csr.merge)";

}  // namespace

void add_bench(CLI::App& app, int& result) {
  auto o = std::make_shared<bench_options>();
  CLI::App& command = *app.add_subcommand("bench", "Measure every kernel on matrices");
  command.footer(footer);
  command.add_option("MATRIX", o->matrices, "Files or gen:NAME:key=value,...");
  command.add_option("--suite", o->suite, "A set of matrices")->check(CLI::IsMember(bench::suite_names()));
  const auto* kernels =
      command.add_option("--kernels,--kernel", o->kernels, "all, chosen, study, vendor, or names from `tulle kernels`")
          ->delimiter(',')
          ->allow_extra_args(false)  // what follows is a matrix
          ->capture_default_str();
  add_workload_options(command, o->work);
  add_plan_options(command, o->run);
  add_backend_options(command, o->run);
  add_strict_option(command, o->run);
  add_precision_option(command, o->run, {"f32", "f64", "both", "mixed", "c64", "c128", "i64", "bool"});
  add_promise_options(command, o->run);
  add_rule_options(command, o->run);
  add_count(command, "--warmup", o->warmup, 0, 1000, "Runs before the timed ones");
  const auto* repeat =
      add_count(command, "--repeat", o->repeat, 1, 1000, "Timed runs; 200 with --latency unless said otherwise");
  command.add_flag("--cold", o->cold, "Only with the cache overwritten before every run");
  command.add_flag("--warm", o->warm, "Only with runs back to back");
  command.add_flag("!--no-diagnosis", o->diagnose, "Leave out the runs on altered matrices that tell the bottleneck");
  command.add_flag("!--no-bandwidth", o->bandwidth, "Leave out what the memory reaches, some seconds, and shares of it");
  add_json_option(command, o->run);
  command.add_option("-o,--output", o->output, "Write the records to a file, as JSON: a new one, or that of an earlier run; - is stdout");
  command.add_option("--compare", o->compare, "Records of an earlier run, as -o wrote them")->check(CLI::ExistingFile);
  command.add_option("--allow", o->allow, "Per cent slower that --compare lets pass")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command.add_option("--sweep", o->sweep, "Each kernel at each usual value of a parameter")
      ->check(CLI::IsMember(bench::sweep_parameters()));
  const std::vector<std::string> words(std::begin(bench::preconditioner_names), std::end(bench::preconditioner_names));
  const auto* preconditioner =
      command.add_option("--preconditioner", o->preconditioners, "Of solve: none, jacobi, block_jacobi, chebyshev")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::IsMember(words))
          ->capture_default_str();
  const auto* rtol =
      command.add_option("--rtol", o->rtol, "Of solve: the residual to reach, of ||b||")->capture_default_str();
  command.add_flag("--errors", o->errors, "Rounding error against row length, in i32, f64 and f32");
  command.add_flag("--precision-study", o->precision_study,
                   "The ways to store values side by side, and what --precision mixed asks for besides")
      ->excludes("--sweep", "--errors", "--transpose", "--rhs", "--kernels", "--effort", "--policy", "--reorder");
  command.add_flag("--passes", o->passes, "Also apply_dots and jacobi, beside apply")
      ->excludes("--sweep", "--errors", "--precision-study");
  command.add_flag("--latency", o->latency, "Also times from the host, of the call alone, and in a CUDA graph; warm")
      ->excludes("--cold", "--sweep", "--errors", "--precision-study");
  command.callback([o, kernels, repeat, preconditioner, rtol, &result] {
    take_operation(*o);
    if (o->operation != "solve" && preconditioner->count() + rtol->count() > 0) {
      throw error(status::invalid_argument, "--preconditioner and --rtol go with bench solve");
    }
    if (o->latency && kernels->count() == 0) o->kernels = {"chosen", "vendor"};
    if (o->latency && repeat->count() == 0) o->repeat = 200;
    check(*o);
    result = o->operation == "spgemm" ? bench::run_spgemm_bench(*o)
             : o->operation == "solve" ? bench::run_solve_bench(*o)
             : o->precision_study ? bench::run_precision_study(*o)
                                       : bench::run_spmv_bench(*o);
  });
}

}  // namespace tulle::cli
