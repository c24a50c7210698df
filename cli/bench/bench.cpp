// The options of `tulle bench`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <tulle/core/nearest_name.hpp>

#include "common/command.hpp"
#include "options.hpp"
#include "plot.hpp"
#include "plot/picture.hpp"
#include "suite.hpp"
#include "sweep.hpp"

namespace tulle::cli {
namespace {

using bench::bench_options;

void check(const bench_options& o) {
  plot::check_picture("--plot", o.plot);
  if (!o.from.empty()) {
    if (o.plot.empty()) throw error(status::invalid_argument, "--from goes with --plot FILE: it measures nothing");
    return;
  }
  if (o.matrices.empty() && o.suite.empty() && !o.errors && !o.precision_study) {
    throw error(status::invalid_argument,
                "nothing to measure: name a matrix, --suite peers, --errors or --precision-study");
  }
  if (o.operation == "spmv" && std::ranges::find(o.kernels, "default") != o.kernels.end()) {
    throw error(status::invalid_argument,
                "no kernel 'default'; --kernels chosen is the plan's choice and the kernel without set-up");
  }
  if (o.errors && o.kernels == std::vector<std::string>{"chosen"}) {
    throw error(status::invalid_argument, "--errors goes without --kernels chosen: no plan chooses for its matrices");
  }
  if (o.operation == "spgemm" && o.run.precision == "mixed") {
    throw error(status::invalid_argument, "bench spgemm goes without --precision mixed");
  }
  if (is_further(type_named(o.run.precision)) && (o.operation == "solve" || o.errors || o.precision_study)) {
    throw error(status::invalid_argument,
                fmt::format("--precision {} goes with bench spmv, spmm and spgemm alone, and not with --errors and "
                            "--precision-study",
                            o.run.precision));
  }
  if (o.operation != "solve") (void)narrowing_of(o.run);
  if (!(o.rtol >= 0) || !std::isfinite(o.rtol)) {
    throw error(status::invalid_argument, fmt::format("--rtol {}: must be a number, 0 or above", o.rtol));
  }
}

constexpr const char* legend =
    R"(Times are medians, of --repeat runs after --warmup; IQR is the distance between the quartiles, in % of the median;
~ marks what was measured while other processes wanted the same cores. Columns for which a terminal is too narrow, or
the 100 columns that a pipe has, are left out: COLUMNS=200 before the command makes room, --json and -o have all of
them.
--kernels chosen: what the plan chooses, and the kernel without set-up; study: the origins of ours, and vendor: the
vendor's, neither of which a plan chooses. A vendor's kernel that fails is reported, and does not change the exit code.
--json prints the records on stdout, and the tables then go to stderr; -o writes the records to a file.
--compare calls slower what is so by more than --allow and has its lower quartile above the upper one of the old run.
Exit codes: 1 slower than --compare, 3 nothing in common with it, 4 a kernel failed or its answer was outside its bound.

)";

constexpr const char* of_spmv =
    R"(* marks what a plan of the --effort asked for chooses by itself. GB/s counts the fewest bytes that must move (values,
32-bit columns, offsets, x and y once); % bw is their share of the read bandwidth measured in this run; 'plan' is the
time from the CSR on the backend to a ready operator, analysis included, the same for cold and warm; 'pays after' is the
number of applications after which that has caught up with the kernel without set-up (csr.balanced, csr.stream);
'error' is the largest error over its bound, at most 1. The bottleneck is the first of these that holds:
  bandwidth  the bytes moved reach 75% of the measured bandwidth
  latency    a run is shorter than 10 launches
  gather     setting all column indices to 0 makes it at least 1.25 times faster
  imbalance  the same nonzeros in even rows make it at least 1.25 times faster
  latency    none of these
  -          what would tell was not measured
--latency is for small matrices, and measures --kernels chosen,vendor unless told otherwise. 'event' is the time between
two events, 'host' from the call until the host sees the device done, 'submit' the call alone; '64 queued' is a 64th of
64 calls in a row, seen from the host, '64 graph' a 64th of a CUDA graph of 64, between events; 'graph host' is a graph
of one, from its launch until the host sees it done.
--passes adds what apply_dots (w is x where A is square) and jacobi take beyond apply, each beside what moving its
further bytes takes at the read bandwidth.
--precision mixed measures every kernel with A stored as --tolerance allows, and holds it to that and to rounding.
--precision-study sets the ways to store values side by side, on the values as given and on others in the same pattern:
floats, few different ones, four rows in five 2^-12 of the rest. 'error' is over rounding and what was promised.
--sweep sets one parameter to each of its usual values: block_size (threads of a block) and lanes (threads that share a
row) on a GPU, sigma (rows sorted together) and block (of bsr) on both, threads on the CPU.

Examples: tulle bench spmv gen:stencil:points=27,n=100 -o new.json --compare old.json
          tulle bench spmv --suite peers --precision both --kernels all
          tulle bench spmv cant.mtx --latency --precision both
          tulle bench spmv cant.mtx --precision mixed --tolerance 1e-6 --bound row
          tulle bench spmv --precision-study cant.mtx -o study.json
          tulle bench spmv cant.mtx --sweep sigma --kernels sell)";

constexpr const char* of_spmm =
    R"(The columns are those of `tulle bench spmv`, which its --help explains.

Example: tulle bench spmm cant.mtx --rhs 16 --order row)";

constexpr const char* of_spgemm =
    R"(C = A A, or A A^T where A is not square: 'whole' goes from A and B to a new, sorted C, seen from the host; 'values' is
the values alone in a known pattern. Each product a_ik b_kj counts as 2 operations; % bw is the share of the copy
bandwidth that moving A and C once takes; % L2 is the share of the bandwidth of a GPU's L2 that reading an entry of B for
each product takes; 'peak' is memory beyond A, B and C.

Example: tulle bench spgemm cant.mtx --kernels chosen)";

constexpr const char* of_solve =
    R"(A x = b by conjugate gradients, from 0, seen from the host: the time of an iteration is a hundredth of 100, with the
solve's beginning and end (--precision mixed: of a whole solve); GB/s counts values, 32-bit columns and offsets once and
10 vectors; 'solve' and 'iterations' are those to --rtol.

Example: tulle bench solve gen:stencil:n=50,values=spd --preconditioner none,jacobi)";

constexpr const char* of_all =
    R"(Without an operation it is spmv, whose --help explains the columns.

Examples: tulle bench cant.mtx
          tulle bench spmm cant.mtx --rhs 16
          tulle bench --from run.json --plot kernels.svg --plot-kind bars
          tulle bench solve gen:stencil:points=7,n=100,values=spd)";

/// What was given, on whichever side of the operation's name.
struct asked {
  bench_options o;
  std::vector<std::string> before, after;  // matrices
  std::vector<const CLI::Option*> kernels, repeat, precision, rhs;

  static bool any(const std::vector<const CLI::Option*>& options) {
    return std::ranges::any_of(options, [](const CLI::Option* option) { return option->count() > 0; });
  }
};

void add_pictures(CLI::App& command, bench_options& o) {
  CLI::Option* const plot =
      add_file(command, "--plot", o.plot, fmt::format("Draw the records: {}", plot::picture_help));
  add_choice(
      command, "--plot-kind", o.plot_kind, {"roofline", "bars"},
      "roofline: GB/s against the bytes that a nonzero needs, below the measured bandwidth; bars: each kernel of "
      "each matrix, with its spread")
      ->needs(plot);
  add_file(command, "--from", o.from,
           "Measure nothing: draw these records, as -o wrote them, of the MATRIX, --kernels, --precision and --warm "
           "that are named");
}

void add_common(CLI::App& command, asked& a, std::vector<std::string>& matrices,
                const std::vector<std::string>& precisions) {
  bench_options& o = a.o;
  command.add_option("MATRIX", matrices, "Files or gen:NAME:key=value,...")->type_name("MATRIX");
  only(command.add_option("--suite", o.suite, "A set of matrices"), bench::suite_names());
  a.kernels.push_back(
      command.add_option("--kernels,--kernel", o.kernels, "all, chosen, study, vendor, or names from `tulle kernels`")
          ->type_name("KERNELS")
          ->delimiter(',')
          ->allow_extra_args(false)  // what follows is a matrix
          ->capture_default_str());
  add_backend_options(command, o.run);
  add_strict_option(command, o.run);
  add_precision_option(command, o.run, precisions);
  a.precision.push_back(command.get_option("--precision"));
  add_count(command, "--warmup", o.warmup, 0, 1000, "Runs before the timed ones");
  a.repeat.push_back(
      add_count(command, "--repeat", o.repeat, 1, 1000, "Timed runs; 200 with --latency unless said otherwise"));
  command.add_flag("!--no-bandwidth", o.bandwidth, "Leave out what the memory reaches, some seconds, and shares of it");
  add_json_option(command, o.run);
  add_file(command, "-o,--output", o.output,
           "Write the records to a .json file: a new one, or that of an earlier run, which is replaced; - is stdout");
  add_file(command, "--compare", o.compare, "Records of an earlier run, as -o wrote them");
  command.add_option("--allow", o.allow, "Per cent slower that --compare lets pass")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  add_pictures(command, o);
}

void add_multiplication(CLI::App& command, asked& a) {
  bench_options& o = a.o;
  add_workload_options(command, o.work);
  a.rhs.push_back(command.get_option("--rhs"));
  add_plan_options(command, o.run);
  add_promise_options(command, o.run);
  add_rule_options(command, o.run);
  command.add_flag("--cold", o.cold, "Only with the cache overwritten before every run");
  command.add_flag("--warm", o.warm, "Only with runs back to back");
  command.add_flag("!--no-diagnosis", o.diagnose, "Leave out the runs on altered matrices that tell the bottleneck");
  only(command.add_option("--sweep", o.sweep, "Each kernel at each usual value of a parameter"),
       bench::sweep_parameters());
  command.add_flag("--passes", o.passes, "Also apply_dots and jacobi, beside apply")->excludes("--sweep");
  command.add_flag("--latency", o.latency, "Also times from the host, of the call alone, and in a CUDA graph; warm")
      ->excludes("--cold", "--sweep");
}

void add_studies(CLI::App& command, bench_options& o) {
  command.add_flag("--errors", o.errors, "Rounding error against row length, in i32, f64 and f32")
      ->excludes("--passes", "--latency", "--plot");
  command
      .add_flag("--precision-study", o.precision_study,
                "The ways to store values side by side, and what --precision mixed asks for besides")
      ->excludes("--sweep", "--errors", "--transpose", "--rhs", "--kernels", "--effort", "--policy", "--reorder",
                 "--passes", "--latency", "--plot");
}

void add_solving(CLI::App& command, bench_options& o) {
  command.get_option("--precision")
      ->description(
          "Type of the numbers, which are real: complex files are refused; mixed iterates in f32 and corrects "
          "in f64");
  add_plan_options(command, o.run);
  const std::vector<std::string> words(std::begin(bench::preconditioner_names), std::end(bench::preconditioner_names));
  only(command.add_option("--preconditioner", o.preconditioners, "One, or several between commas"), words)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command.add_option("--rtol", o.rtol, "The residual to reach, of ||b||")->capture_default_str();
}

/// What is not its own an operation leaves to `bench`, and refuse_foreign refuses it by name.
CLI::App& add_operation(CLI::App& command, const char* name, const char* summary, const char* footer) {
  CLI::App& operation = *command.add_subcommand(name, summary);
  operation.footer(fmt::format("{}{}", legend, footer))->fallthrough();
  return operation;
}

/// The options of `bench` that were given and the operation does not have.
void refuse_foreign(const CLI::App& command, const CLI::App& operation) {
  std::vector<std::string> foreign;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && operation.get_option_no_throw(name) == nullptr) foreign.push_back(name);
  }
  if (foreign.empty()) return;
  throw error(status::invalid_argument,
              fmt::format("bench {} does not have {}", operation.get_name(), fmt::join(foreign, ", ")));
}

/// `bench spmw a.mtx`: the first word is meant as an operation.
void suggest_operation(const asked& a) {
  if (a.before.empty()) return;
  const std::string& word = a.before.front();
  std::error_code unknown;
  if (word.find_first_of("./:") != word.npos || std::filesystem::exists(word, unknown)) return;
  constexpr std::array<std::string_view, 4> operations{"spmv", "spmm", "spgemm", "solve"};
  const std::string_view nearest = nearest_name(word, operations);
  if (nearest.empty()) return;
  throw error(status::file_io, fmt::format("{}: no such file; did you mean 'bench {}'?", word, nearest));
}

int run(asked& a, std::string_view operation) {
  bench_options& o = a.o;
  o.matrices = a.before;
  o.matrices.insert(o.matrices.end(), a.after.begin(), a.after.end());
  if (operation == "spgemm" || operation == "solve") o.operation = operation;
  if (operation == "spmm" && !asked::any(a.rhs)) o.work.rhs = 8;
  if (o.latency && !asked::any(a.kernels)) o.kernels = {"chosen", "vendor"};
  if (o.latency && !asked::any(a.repeat)) o.repeat = 200;
  if (asked::any(a.precision) && o.run.precision != "both") o.plot_precisions = {o.run.precision};
  check(o);
  if (!o.from.empty()) return bench::run_plot(o);
  if (o.operation == "spgemm") return bench::run_spgemm_bench(o);
  if (o.operation == "solve") return bench::run_solve_bench(o);
  return o.precision_study ? bench::run_precision_study(o) : bench::run_spmv_bench(o);
}

}  // namespace

void add_bench(CLI::App& app, int& result) {
  const auto a = std::make_shared<asked>();
  CLI::App& command = *app.add_subcommand("bench", "Measure every kernel: of spmv, spmm, spgemm or solve");
  command.footer(fmt::format("{}{}", legend, of_all));
  command.require_subcommand(0, 1);
  const std::vector<std::string> of_products{"f32", "f64", "both", "mixed", "c64", "c128", "i64", "bool"};
  add_common(command, *a, a->before, of_products);
  add_multiplication(command, *a);
  add_studies(command, a->o);

  CLI::App& spmv = add_operation(command, "spmv", "y = A x, which is also meant without a word", of_spmv);
  add_common(spmv, *a, a->after, of_products);
  add_multiplication(spmv, *a);
  add_studies(spmv, a->o);
  CLI::App& spmm =
      add_operation(command, "spmm", "Y = A X, 8 right-hand sides where --rhs does not say how many", of_spmm);
  add_common(spmm, *a, a->after, of_products);
  add_multiplication(spmm, *a);
  spmm.get_option("--rhs")->default_str("8");
  CLI::App& spgemm = add_operation(command, "spgemm", "C = A A, or A A^T where A is not square", of_spgemm);
  add_common(spgemm, *a, a->after, {"f32", "f64", "both", "c64", "c128", "i64", "bool"});
  CLI::App& solve = add_operation(command, "solve", "A x = b by conjugate gradients", of_solve);
  add_common(solve, *a, a->after, {"f32", "f64", "both", "mixed"});
  add_solving(solve, a->o);

  command.callback([a, &command, &result] {
    const auto operations = command.get_subcommands();
    if (operations.empty()) {
      suggest_operation(*a);
    } else {
      refuse_foreign(command, *operations.front());
    }
    result = run(*a, operations.empty() ? "spmv" : operations.front()->get_name());
  });
}

}  // namespace tulle::cli
