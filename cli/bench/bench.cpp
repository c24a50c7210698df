// The options of `tulle bench`.
#include <memory>

#include "run.hpp"
#include "spgemm.hpp"
#include "suite.hpp"
#include "sweep.hpp"

namespace tulle::cli {
namespace {

using bench::bench_options;

/// `tulle bench spmv MATRIX` says the operation; without it, it is the same one. `tulle bench spmm MATRIX` is 8
/// right-hand sides where --rhs does not say how many; `tulle bench spgemm MATRIX` is C = A A.
void take_operation(bench_options& o) {
  if (o.matrices.empty()) return;
  const std::string word = o.matrices.front();
  if (word != "spmv" && word != "spmm" && word != "spgemm") return;
  o.matrices.erase(o.matrices.begin());
  if (word == "spgemm") o.operation = word;
  if (word == "spmm" && o.work.rhs == 1) o.work.rhs = 8;
}

void check(const bench_options& o) {
  if (o.matrices.empty() && o.suite.empty() && !o.errors) {
    throw error(status::invalid_argument, "nothing to measure: name a matrix, --suite peers or --errors");
  }
  const bool spmv_only = o.errors || o.latency || o.cold || !o.sweep.empty() || o.work.transpose || o.work.rhs > 1;
  if (o.operation == "spgemm" && spmv_only) {
    throw error(status::invalid_argument,
                "bench spgemm goes with none of --errors, --latency, --cold, --sweep, --transpose and --rhs");
  }
}

constexpr const char* footer =
    R"(* marks what a plan of the --effort asked for chooses by itself. Times are medians. GB/s counts the fewest bytes that must move (values, 32-bit
columns, offsets, x and y once); % bw is of the read bandwidth measured in this run; 'plan us' goes from the CSR on the
backend to a ready operator, analysis included; 'pays after' is the number of applications after which that has caught
up with the kernel without set-up (csr.balanced, csr.stream); 'error' is the largest error over its bound, at most 1.
Bottleneck, the first that holds: bandwidth: the bytes moved reach 75% of the measured bandwidth; latency: shorter than
10 launches; gather: at least 1.25 times faster with all column indices 0; imbalance: at least 1.25 times faster with
the same nonzeros spread evenly over the rows; else latency.
--latency is for small matrices: 'event' is the time between two events, 'host' from the call until the host sees the
device done, 'submit' the call alone; '64 queued' is a 64th of 64 calls in a row, seen from the host, '64 graph' a 64th
of a CUDA graph of 64, between events; 'graph host' is a graph of one, from its launch until the host sees it done.
Unless told otherwise it measures what a plan chooses, the kernel without set-up and the vendor's two CSR algorithms.
spgemm is C = A A, or A A^T where A is not square: 'whole' from A and B to a new, sorted C, seen from the host;
'numeric' the values alone in a pattern that is known; 2 operations a product a_ik b_kj; % bw counts A and C once, of
the copy bandwidth; % L2 an entry of B a product, of what the L2 of a GPU gives; 'x' is whole over numeric; 'peak' is
memory beyond A, B and C. A vendor's kernel that fails is reported, and no failure.
Exit codes: 1 slower than --compare, 4 a kernel failed or its answer was outside its bound.

Examples: tulle bench gen:stencil:points=27,n=100 --json new.json --compare old.json
          tulle bench --suite peers --precision both --kernels all
          tulle bench spmm cant.mtx --rhs 16 --order row
          tulle bench cant.mtx --latency --precision both
          tulle bench spgemm cant.mtx --kernels default
          tulle bench cant.mtx --sweep block_size --kernels csr.warp,csr.merge)";

}  // namespace

void add_bench(CLI::App& app, int& result) {
  auto o = std::make_shared<bench_options>();
  CLI::App& command = *app.add_subcommand("bench", "Measure every kernel on matrices");
  command.footer(footer);
  command.add_option("MATRIX", o->matrices, "Files or gen:NAME:key=value,...");
  command.add_option("--suite", o->suite, "A set of matrices")->check(CLI::IsMember(bench::suite_names()));
  const auto* kernels = command.add_option("--kernels,--kernel", o->kernels, "all, default, or names")
                            ->delimiter(',')
                            ->capture_default_str();
  add_workload_options(command, o->work);
  add_plan_options(command, o->run);
  add_backend_options(command, o->run);
  add_strict_option(command, o->run);
  command.add_option("--precision", o->precision, "Type of the values")
      ->check(CLI::IsMember({"f32", "f64", "both"}))
      ->capture_default_str();
  command.add_option("--warmup", o->warmup, "Runs before the timed ones")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  const auto* repeat = command.add_option("--repeat", o->repeat, "Timed runs; 200 with --latency")
                           ->check(CLI::Range(1, 1000))
                           ->capture_default_str();
  command.add_flag("--cold", o->cold, "Only with the cache overwritten before every run");
  command.add_flag("--warm", o->warm, "Only with runs back to back");
  command.add_flag("!--no-diagnosis", o->diagnose, "Leave out the runs on altered matrices behind the bottleneck");
  command.add_option("--json", o->json, "Write the records to a file; - is stdout, the tables then go to stderr");
  command.add_option("--compare", o->compare, "An earlier --json file")->check(CLI::ExistingFile);
  command.add_option("--tolerance", o->tolerance, "Per cent slower that --compare lets pass")
      ->check(CLI::Range(0.0, 1000.0))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--sweep", o->sweep, "Each kernel at each usual value of a parameter")
      ->check(CLI::IsMember(bench::sweep_parameters()));
  command.add_flag("--errors", o->errors, "Rounding error against row length, in i32, f64 and f32");
  command.add_flag("--latency", o->latency, "Also times from the host, of the call alone, and in a CUDA graph; warm")
      ->excludes("--cold", "--sweep", "--errors");
  command.callback([o, kernels, repeat, &result] {
    take_operation(*o);
    if (o->latency && kernels->count() == 0) o->kernels.clear();
    if (o->latency && repeat->count() == 0) o->repeat = 200;
    check(*o);
    result = o->operation == "spgemm" ? bench::run_spgemm_bench(*o) : bench::run_bench(*o);
  });
}

}  // namespace tulle::cli
