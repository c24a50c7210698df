// Conjugate gradients on a GPU: microseconds per iteration of every solver of the table and of the naive loop of three
// kernels, with the bytes that the solver's form moves. Every solve is checked by its true residual.
// Usage: tulle_cg_cuda large [rows.json [matrix]] | tiny [solvers|all [rows.json]]
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "cg_block_graph.hpp"
#include "cg_naive.hpp"

namespace {

using namespace tulle;

void require(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  fmt::print(stderr, "{}: {}\n", what, cudaGetErrorString(code));
  std::exit(1);
}

double microseconds_of(cudaStream_t s, const std::function<void()>& work) {
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "event");
  require(cudaEventCreate(&end), "event");
  require(cudaEventRecord(begin, s), "record");
  work();
  require(cudaEventRecord(end, s), "record");
  require(cudaEventSynchronize(end), "synchronize");
  float ms = 0;
  require(cudaEventElapsedTime(&ms, begin, end), "elapsed");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1e3 * ms;
}
/// The least and the median of so many.
struct spread {
  double least, median;
};
spread spread_of(int times, const std::function<double()>& f) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.push_back(f());
  std::sort(all.begin(), all.end());
  return {all.front(), all[all.size() / 2]};
}
double best_of(int times, const std::function<double()>& f) { return spread_of(times, f).least; }

/// Per iteration, by a graph of 20 of them.
double naive(const context& ctx, const matrix_ref& a) {
  const cudaStream_t s = static_cast<cudaStream_t>(ctx.stream().native);
  const auto n = static_cast<std::size_t>(a.rows);
  any_spmv_plan plan(ctx, a);
  const std::vector<double> ones(n, 1.0), seventh(n, 1.0 / 7);
  buffer<double> x = to_buffer(ctx, ones), r = to_buffer(ctx, ones), z = to_buffer(ctx, ones), p = to_buffer(ctx, ones),
                 q = to_buffer(ctx, ones), dinv = to_buffer(ctx, seventh);
  buffer<double> pq(ctx, 2), rz = to_buffer(ctx, std::vector<double>{1, 0});
  buffer<unsigned> count = to_buffer(ctx, std::vector<unsigned>{0});
  const int blocks = ctx.info().multiprocessors * 8;
  const auto step = [&] {
    plan.apply_dots(1, p, 0, q, p, pq);
    naive_step(
        {rz.data(), pq.data(), p.data(), q.data(), dinv.data(), x.data(), r.data(), z.data(), a.rows, count.data()},
        blocks, s);
  };
  const graph g(ctx, [&] {
    for (int i = 0; i < 20; ++i) step();
  });
  g.launch();
  return best_of(5, [&] { return microseconds_of(s, [&] { g.launch(); }); }) / 20;
}

/// y = A x alone and with its dot products, by graphs of 20.
std::pair<double, double> product(const context& ctx, const any_spmv_plan& plan, std::size_t n) {
  const cudaStream_t s = static_cast<cudaStream_t>(ctx.stream().native);
  const buffer<double> x = to_buffer(ctx, std::vector<double>(n, 1.0));
  buffer<double> y(ctx, n), dots(ctx, 2);
  const auto time = [&](const std::function<void()>& work) {
    const graph g(ctx, [&] {
      for (int i = 0; i < 20; ++i) work();
    });
    g.launch();
    return best_of(5, [&] { return microseconds_of(s, [&] { g.launch(); }); }) / 20;
  };
  return {time([&] { plan.apply(1, x, 0, y); }), time([&] { plan.apply_dots(1, x, 0, y, x, dots); })};
}

template <class T>
double true_residual(const context& ctx, const matrix_ref& a, const buffer<T>& b, const buffer<T>& x) {
  any_spmv_plan plan(ctx, a);
  buffer<T> r = clone(ctx, b);
  plan.apply(-1, x, 1, r);
  double sum = 0;
  for (const T v : to_vector(ctx, r)) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

bool failed = false;
std::string wanted;  // of the solvers, or a part of a matrix's name: all where it is empty

constexpr const char* tiny_kernels[] = {"cg.cluster", "cg.persistent", "cg.graph", "cg.operations"};

struct measured {
  double microseconds = 0;  // an iteration
  double median = 0;        // of the repeats
  int iterations = 0;       // to the tolerance
  std::string how;
};

/// A kernel's time per iteration, from two solves that are cut off.
template <class T>
measured per_iteration(const context& ctx, const matrix_ref& a, cg_options o, int few, int many, int times = 3) {
  const cudaStream_t s = static_cast<cudaStream_t>(ctx.stream().native);
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<T> rhs(n);
  std::mt19937 random(3);
  for (T& v : rhs) v = static_cast<T>(random() / 4294967296.0 - 0.5);
  const buffer<T> b = to_buffer(ctx, rhs);
  buffer<T> x = to_buffer(ctx, std::vector<T>(n));
  measured m;
  spread time[2];
  int iterations[2];
  for (const int i : {0, 1}) {
    o.rtol = 0;
    o.zero_guess = true;
    o.max_iterations = i == 0 ? few : many;
    const cg_solver solver(ctx, a, o);
    cg_result result = solver.solve(b, x);
    iterations[i] = result.iterations;  // fewer where nothing was left to reduce
    time[i] = spread_of(times, [&] { return microseconds_of(s, [&] { result = solver.solve(b, x); }); });
  }
  if (iterations[1] <= iterations[0]) fmt::print("    only {} of {} iterations\n", iterations[1], many);
  o.rtol = sizeof(T) == 8 ? 1e-8 : 1e-4;
  o.max_iterations = 5000;
  const cg_solver solver(ctx, a, o);
  m.how = solver.explain();
  const cg_result result = solver.solve(b, x);
  const double truth = true_residual(ctx, a, b, x);
  if (!result.converged() || truth > 1.01 * o.rtol * result.rhs + 1e-5 * (sizeof(T) == 4)) {
    fmt::print("    WRONG: code {} after {}, residual {} (true {}) of {}\n", result.code, result.iterations,
               result.residual, truth, result.rhs);
    failed = true;
  }
  m.iterations = result.iterations;
  m.microseconds = (time[1].least - time[0].least) / (iterations[1] - iterations[0]);
  m.median = (time[1].median - time[0].median) / (iterations[1] - iterations[0]);
  return m;
}

std::string short_of(const std::string& how) { return how.size() > 150 ? how.substr(0, 150) : how; }

/// On the device. A pattern that is not symmetric becomes A + A^T + shift.
matrix_ref made(const context& ctx, const std::string& spec, double shift) {
  const matrix_ref a = clone(ctx, matrix_ref(generate<double>(context::cpu(), spec)));
  if (shift == 0) return a;
  const std::string unit = fmt::format("gen:diagonal:n={},values=spd", a.rows);
  return add(ctx, 1, add(ctx, 1, a, 1, transpose(ctx, a).matrix), shift,
             clone(ctx, matrix_ref(generate<double>(context::cpu(), unit))));
}

/// For `rows_table` of tools/bench_table.py.
class table_file {
 public:
  explicit table_file(std::vector<std::string> header) { add("header", header); }
  void row(const std::vector<std::string>& cells) { rows_.push_back(list(cells)); }
  void write(const char* path) const {
    std::FILE* const f = std::fopen(path, "w");
    if (f == nullptr) return;
    fmt::print(f, "{{\n {},\n \"rows\": [\n  {}\n ]\n}}\n", head_, fmt::join(rows_, ",\n  "));
    std::fclose(f);
  }

 private:
  void add(const char* name, const std::vector<std::string>& cells) {
    head_ = fmt::format("\"{}\": {}", name, list(cells));
  }
  static std::string list(const std::vector<std::string>& cells) {
    return fmt::format("[\"{}\"]", fmt::join(cells, "\", \""));
  }
  std::string head_;
  std::vector<std::string> rows_;
};

constexpr double bandwidth = 4.3e6;    // bytes a microsecond, as read
constexpr double values_moved = 8.25;  // of each unknown, by cg.graph in two kernels

void large(const context& ctx, const char* json) {
  struct {
    const char* spec;
    double shift, bar;
    int few, many;
  } const cases[] = {{"gen:stencil:points=7,n=128,values=spd", 0, 85, 60, 180},
                     {"gen:stencil:points=7,n=200,values=spd", 0, 300, 40, 120},
                     {"gen:fem:n=40,dof=3,values=spd", 0, 45, 40, 160},
                     {"gen:stencil:points=27,n=128,values=spd", 0, 175, 40, 120},
                     {"gen:fem:n=40,dof=6,values=spd", 0, 0, 40, 120},
                     {"gen:stencil:points=5,n=3000,values=spd", 0, 0, 40, 120},
                     {"gen:fem:n=16,dof=6,values=spd", 0, 10, 40, 120},
                     {"gen:uniform:n=1000000,degree=16", 10, 0, 20, 60},
                     {"gen:rmat:scale=20,degree=16", 1000, 0, 20, 60}};
  table_file table({"f64, Jacobi, µs an iteration", "bytes at 4.3 TB/s", "naive, three kernels", "`cg.operations`",
                    "`cg.graph`", "of the model", "with block Jacobi"});
  for (const auto& c : cases) {
    if (std::string(c.spec).find(wanted) == std::string::npos) continue;
    const matrix_ref a = made(ctx, c.spec, c.shift);
    const any_spmv_plan plan(ctx, a);
    const double matrix_bytes = static_cast<double>(plan.matrix_bytes()), base = naive(ctx, a);
    const double model = (matrix_bytes + 8 * values_moved * a.rows) / bandwidth;
    const auto [alone, with_dots] = product(ctx, plan, static_cast<std::size_t>(a.rows));
    fmt::print("{}: bar {}, naive {:.2f}, product {:.2f}, with dots {:.2f}, {:.1f} MB of matrix by {}, model {:.1f}\n",
               c.spec, c.bar, base, alone, with_dots, matrix_bytes / 1e6, plan.kernel(), model);
    const auto time = [&](const char* kernel, preconditioner_kind m) {
      try {
        cg_options o;
        o.preconditioner = m;
        o.kernel = kernel;
        const measured it = per_iteration<double>(ctx, a, o, c.few, c.many);
        fmt::print("  {:14} {:12} {:8.2f} us {:3.0f}%, {:4} iterations to 1e-8; {}\n", kernel, name(m), it.microseconds,
                   100 * model / it.microseconds, it.iterations, short_of(it.how));
        return it.microseconds;
      } catch (const std::exception& e) {
        fmt::print("  {} {}: {}\n", kernel, name(m), e.what());
        failed = true;
        return 0.0;
      }
    };
    const double operations = time("cg.operations", preconditioner_kind::jacobi);
    const double graph = time("cg.graph", preconditioner_kind::jacobi);
    const double blocks = time("cg.graph", preconditioner_kind::block_jacobi);
    table.row({c.spec, fmt::format("{:.1f}", model), fmt::format("{:.1f}", base), fmt::format("{:.1f}", operations),
               fmt::format("{:.1f}", graph), fmt::format("{:.0f}%", 100 * model / graph),
               fmt::format("{:.1f}", blocks)});
  }
  if (json != nullptr) table.write(json);
}

template <class T>
void tiny_case(const context& ctx, index_t rows, index_t reach, const char* what, table_file& table) {
  const host_bsr<T> h = block_graph<T>(rows, 6, 12, reach);
  const buffer<std::int64_t> rowptr = to_buffer(ctx, h.rowptr);
  const buffer<index_t> colind = to_buffer(ctx, h.colind);
  const buffer<T> values = to_buffer(ctx, h.values);
  const auto blocks = static_cast<std::int64_t>(h.colind.size());
  const bsr_view<T, std::int64_t> view{6 * rows,      6 * rows, 36 * blocks,         6,
                                       rows,          blocks,   rowptr.data(),       colind.data(),
                                       values.data(), nullptr,  memory_space::device};
  const matrix_ref a(view);
  const cudaStream_t s = static_cast<cudaStream_t>(ctx.stream().native);
  const std::string name = fmt::format("{} blocks of 6, {}, {:.1f} a row, {}", rows, what,
                                       static_cast<double>(blocks) / rows, sizeof(T) == 4 ? "f32" : "f64");
  fmt::print("{}\n", name);
  std::vector<std::string> cells{name};
  for (const char* const kernel : tiny_kernels) {
    cells.push_back("-");
    if (!wanted.empty() && wanted.find(kernel) == std::string::npos) continue;
    cg_options o;
    o.preconditioner = preconditioner_kind::block_jacobi;
    o.block = 6;
    o.kernel = kernel;
    try {
      o.replace_interval = -1;
      // Not so many that nothing is left to reduce.
      const measured m = per_iteration<T>(ctx, a, o, 10, sizeof(T) == 8 ? 40 : 30, 15);
      o.rtol = 0;
      o.max_iterations = 10;
      o.zero_guess = true;
      cg_solver solver(ctx, a, o);
      const buffer<T> b = to_buffer(ctx, std::vector<T>(static_cast<std::size_t>(6 * rows), T{1}));
      buffer<T> x = to_buffer(ctx, std::vector<T>(static_cast<std::size_t>(6 * rows)));
      buffer<cg_record> record(ctx, 1);
      const auto queue = [&] { solver.enqueue(b, x, record.data()); };
      const auto refresh = [&] {
        solver.update_values(values);
        queue();
      };
      refresh();
      const graph g(ctx, queue);
      g.launch();
      const spread replayed = spread_of(31, [&] { return microseconds_of(s, [&] { g.launch(); }); });
      const spread refreshed = spread_of(31, [&] { return microseconds_of(s, refresh); });
      fmt::print(
          "  {:14} {:6.2f} (median {:.2f}) us an iteration; 10: graph {:.1f} ({:.1f}), update_values {:.1f} ({:.1f})\n",
          kernel, m.microseconds, m.median, replayed.least, replayed.median, refreshed.least, refreshed.median);
      cells.back() =
          fmt::format("{:.2f}, {:.2f} ({:.1f}, {:.1f})", m.microseconds, m.median, replayed.least, refreshed.least);
    } catch (const std::exception& e) {
      fmt::print("  {}: {}\n", kernel, short_of(e.what()));
    }
  }
  table.row(cells);
}

void tiny(const context& ctx, const char* json) {
  std::vector<std::string> header{"µs an iteration: least, median (10 in a graph, 10 with `update_values`)"};
  for (const char* const kernel : tiny_kernels) header.push_back(fmt::format("`{}`", kernel));
  table_file table(header);
  tiny_case<float>(ctx, 4096, 4096, "random neighbours", table);
  tiny_case<float>(ctx, 4096, 40, "near neighbours", table);
  tiny_case<double>(ctx, 4096, 4096, "random neighbours", table);
  tiny_case<double>(ctx, 4096, 40, "near neighbours", table);
  tiny_case<float>(ctx, 512, 512, "random neighbours", table);
  tiny_case<float>(ctx, 512, 20, "near neighbours", table);
  tiny_case<double>(ctx, 512, 20, "near neighbours", table);
  if (json != nullptr) table.write(json);
}

}  // namespace

int main(int argc, char** argv) {
  const context ctx = context::cuda();
  const std::string what = argc > 1 ? argv[1] : "large";
  if (what == "large") {
    wanted = argc > 3 ? argv[3] : "";
    large(ctx, argc > 2 ? argv[2] : nullptr);
  } else {
    wanted = argc > 2 && std::string(argv[2]) != "all" ? argv[2] : "";
    tiny(ctx, argc > 3 ? argv[3] : nullptr);
  }
  return failed ? 1 : 0;
}
