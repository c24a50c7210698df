// A batch of small systems beside a solver for each and beside one solver of the block diagonal matrix of all: time of
// a solve of 20 iterations and of an iteration, with what the iteration moves.
// Usage: tulle_cg_batch cpu|cuda [-o FILE.json] [--threads N,N,...] [--lanes N,N,...] [--each KERNEL|none]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace {

using namespace tulle;
using clock_type = std::chrono::steady_clock;

constexpr int iterations = 20;

/// The least of five, once it has been done before.
double microseconds_of(const context& ctx, const std::function<void()>& work) {
  double best = 1e300;
  for (int i = 0; i < 6; ++i) {
    ctx.synchronize();
    const auto begin = clock_type::now();
    work();
    ctx.synchronize();
    const double time = std::chrono::duration<double>(clock_type::now() - begin).count();
    if (i > 0) best = std::min(best, 1e6 * time);
  }
  return best;
}

struct pattern {
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<double> values;
  [[nodiscard]] index_t rows() const { return static_cast<index_t>(rowptr.size()) - 1; }
  [[nodiscard]] csr_view<double, std::int64_t> view() const {
    return {rows(), rows(), rowptr.back(), rowptr.data(), colind.data(), values.data(), memory_space::host};
  }
};

pattern tridiagonal(index_t n) {
  pattern a;
  for (index_t r = 0; r < n; ++r) {
    for (index_t c = std::max(0, r - 1); c <= std::min(n - 1, r + 1); ++c) {
      a.colind.push_back(c);
      a.values.push_back(c == r ? 2.001 : -1);
    }
    a.rowptr.push_back(static_cast<std::int64_t>(a.colind.size()));
  }
  return a;
}
pattern generated(const std::string& spec) {
  const context host = context::cpu();
  const csr<double> a = generate<double>(host, spec);
  pattern out;
  out.rowptr = to_vector(host, a.rowptr);
  out.colind = to_vector(host, a.colind);
  out.values = to_vector(host, a.values);
  return out;
}

struct workload {
  std::string name;
  std::vector<pattern> patterns;  // one, or as many as systems
  index_t count;
  index_t block = 1;
  index_t loop = 100;  // systems that are solved one by one
};

/// Values of all systems: those of the pattern, each system's times another number.
std::vector<double> all_values(const workload& w) {
  std::vector<double> all;
  for (index_t i = 0; i < w.count; ++i) {
    const pattern& a = w.patterns[w.patterns.size() > 1 ? i : 0];
    const double factor = 1 + 1e-3 * (i % 1000);
    for (const double v : a.values) all.push_back(factor * v);
  }
  return all;
}
pattern block_diagonal(const workload& w) {
  pattern all;
  for (index_t i = 0; i < w.count; ++i) {
    const pattern& a = w.patterns[w.patterns.size() > 1 ? i : 0];
    const index_t first = all.rows();
    const std::int64_t entries = all.rowptr.back();
    for (const index_t c : a.colind) all.colind.push_back(first + c);
    for (std::size_t r = 1; r < a.rowptr.size(); ++r) all.rowptr.push_back(entries + a.rowptr[r]);
  }
  all.values = all_values(w);
  return all;
}

cg_options fixed(int most) {
  cg_options o;
  o.rtol = 0;
  o.zero_guess = true;
  o.max_iterations = most;
  return o;
}

/// Of a solve of 20 iterations, and of an iteration.
struct times {
  double solve, iteration;
};
std::string text(const times& t) { return fmt::format("{:.0f} ({:.2f})", t.solve, t.iteration); }

bool failed = false;

void check(const cg_record& r, int most, const char* what) {
  if (r.iterations == most || r.code == 0) return;  // a few unknowns are solved to the last bit sooner
  fmt::print("  {}: {} of {} iterations, code {}\n", what, r.iterations, most, r.code);
  failed = true;
}

class measurement {
 public:
  measurement(const context& ctx, const workload& w) : ctx_(ctx), w_(w), host_(all_values(w)) {
    const pattern& first = w.patterns.front();
    values_ = to_buffer(ctx, host_);
    blocks_ = w.block > 1 ? matrix_ref(to_bsr(context::cpu(), first.view(), w.block)) : matrix_ref(first.view());
    if (w.block > 1) {  // in another order, the same in all systems
      std::vector<double> all;
      const auto* const of_one = static_cast<const double*>(blocks_.values);
      const std::int64_t size = blocks_.stored * w.block * w.block;
      for (index_t i = 0; i < w.count; ++i) all.insert(all.end(), of_one, of_one + size);
      of_blocks_ = to_buffer(ctx, all);
    }
    for (index_t i = 0; i < w.count; ++i) rows_ += w.patterns[w.patterns.size() > 1 ? i : 0].rows();
    std::vector<double> rhs(static_cast<std::size_t>(rows_));
    vector_ops(context::cpu()).random(1, rhs);
    b_ = to_buffer(ctx, rhs);
    x_ = buffer<double>(ctx, rhs.size());
  }

  times batch(int threads, int lanes, std::string& how) {
    double time[2];
    for (const int i : {0, 1}) {
      cg_options o = fixed((i + 1) * iterations);
      o.spmv.block_size = threads;
      o.spmv.lanes = lanes;
      const cg_batch all = make(o);
      how = all.explain();
      for (const cg_result& r : all.solve(b_, x_)) check(r, o.max_iterations, "batch");
      buffer<cg_record> records(ctx_, static_cast<std::size_t>(w_.count));
      time[i] = microseconds_of(ctx_, [&] { all.enqueue(b_, x_, records.data()); });
    }
    return {time[0], (time[1] - time[0]) / iterations};
  }

  times one_matrix() {
    const pattern all = block_diagonal(w_);
    const matrix_ref a = clone(ctx_, matrix_ref(all.view()));
    double time[2];
    for (const int i : {0, 1}) {
      const cg_solver solver(ctx_, a, fixed((i + 1) * iterations));
      check(solver.solve(b_, x_), (i + 1) * iterations, "block diagonal");
      buffer<cg_record> record(ctx_, 1);
      time[i] = microseconds_of(ctx_, [&] { solver.enqueue(b_, x_, record.data()); });
    }
    return {time[0], (time[1] - time[0]) / iterations};
  }

  /// Of all, from some of them: new values, then a solve.
  double one_by_one(const std::string& kernel) {
    if (w_.patterns.size() > 1 || kernel == "none") return 0;
    const pattern& a = w_.patterns.front();
    const auto n = static_cast<std::int64_t>(a.rows()), nnz = a.rowptr.back();
    cg_options o = fixed(iterations);
    o.kernel = kernel;
    cg_solver solver(ctx_, matrix_ref(a.view()), o);
    buffer<cg_record> record(ctx_, 1);
    const double time = microseconds_of(ctx_, [&] {
      for (index_t i = 0; i < w_.loop; ++i) {
        const auto part = [&](auto* data, std::int64_t size) {
          using ref =
              std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(data)>>, const_vector_ref, vector_ref>;
          return ref(scalar_type::f64, data + i * size, size, ctx_.space(), ctx_.device());
        };
        solver.update_values(part(std::as_const(values_).data(), nnz));
        solver.enqueue(part(std::as_const(b_).data(), n), part(x_.data(), n), record.data());
      }
    });
    return time / w_.loop * w_.count;
  }

 private:
  [[nodiscard]] cg_batch make(const cg_options& o) const {
    if (w_.patterns.size() > 1) {
      std::vector<matrix_ref> refs;
      for (const pattern& p : w_.patterns) refs.emplace_back(p.view());
      return {ctx_, refs, o};
    }
    matrix_ref a = clone(ctx_, blocks_);
    a.values = of_blocks_.empty() ? values_.data() : of_blocks_.data();
    return {ctx_, a, w_.count, o};
  }

  context ctx_;
  const workload& w_;
  std::vector<double> host_;
  buffer<double> values_, of_blocks_, b_, x_;
  matrix_ref blocks_;
  std::int64_t rows_ = 0;
};

/// Microseconds an iteration at the bandwidth of shared memory (128 bytes a clock and multiprocessor), were the matrix
/// there: value, column and x of an entry, and 13 values a row.
double shared_model(const context& ctx, const workload& w) {
  double bytes = 0;
  for (index_t i = 0; i < w.count; ++i) {
    const pattern& a = w.patterns[w.patterns.size() > 1 ? i : 0];
    const double entries = static_cast<double>(a.rowptr.back()), blocks = entries / (w.block * w.block);
    bytes += entries * 16 + blocks * 2 + a.rows() * (13 * 8.0 + 8.0 / w.block);
  }
  return bytes / (128 * 1.755e3 * std::max(1, ctx.info().multiprocessors));
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> out;
  for (std::size_t at = 0; at < text.size();) {
    out.push_back(std::stoi(text.substr(at)));
    at = std::min(text.find(',', at), text.size() - 1) + 1;
  }
  return out;
}

std::vector<workload> workloads(bool gpu) {
  const index_t many = gpu ? 10'000 : 1'000;
  std::vector<workload> all;
  for (const index_t n : {64, 256, 1024}) all.push_back({fmt::format("tridiagonal {}", n), {tridiagonal(n)}, many});
  for (const index_t n : {8, 16, 32}) {
    all.push_back(
        {fmt::format("5-point {}", n * n), {generated(fmt::format("gen:stencil:points=5,n={},values=spd", n))}, many});
  }
  all.push_back({"7-point 1000", {generated("gen:stencil:points=7,n=10,values=spd")}, many});
  const pattern small = generated("gen:fem:dof=3,n=4,values=spd"), large = generated("gen:fem:dof=3,n=7,values=spd");
  all.push_back({"FEM 3 unknowns, 192", {small}, many});
  all.push_back({"FEM 3 unknowns, 192, BSR", {small}, many, 3});
  all.push_back({"FEM 3 unknowns, 1029", {large}, many / 10});
  all.push_back({"FEM 3 unknowns, 1029, BSR", {large}, many / 10, 3});
  workload mixed{"5-point 4 to 1024", {}, many};
  for (index_t i = 0; i < many; ++i) {
    const index_t n = 2 + i % 31;
    mixed.patterns.push_back(i < 31 ? generated(fmt::format("gen:stencil:points=5,n={},values=spd", n))
                                    : mixed.patterns[static_cast<std::size_t>(i % 31)]);
  }
  all.push_back(std::move(mixed));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool gpu = !args.empty() && args[0] == "cuda";
  std::string out, each;
  std::vector<int> threads, lanes;
  for (std::size_t i = 1; i + 1 < args.size(); i += 2) {
    if (args[i] == "-o") out = args[i + 1];
    if (args[i] == "--each") each = args[i + 1];
    if (args[i] == "--threads") threads = numbers(args[i + 1]);
    if (args[i] == "--lanes") lanes = numbers(args[i + 1]);
  }
  const context ctx = gpu ? context::cuda() : context::cpu();
  std::string rows;
  for (const workload& w : workloads(gpu)) {
    try {
      measurement m(ctx, w);
      std::string how;
      const times batch = m.batch(0, 0, how);
      const double one_by_one = m.one_by_one(each);
      fmt::print("{} x {}: batch {}", w.count, w.name, text(batch));
      for (const int n : threads) fmt::print(", t{} {:.2f}", n, m.batch(n, 0, how).iteration);
      for (const int n : lanes) fmt::print(", l{} {:.2f}", n, m.batch(0, n, how).iteration);
      const times whole = m.one_matrix();
      fmt::print(", one matrix {}, one by one {:.0f}, model {:.2f}\n", text(whole), one_by_one, shared_model(ctx, w));
      fmt::print("  {}\n", how.substr(0, 170));
      std::fflush(stdout);
      rows += fmt::format("{}\n  [\"{} x {}\", \"{}\", \"{}\", \"{}\", \"{:.2f}\", \"{:.1f}\"]",
                          rows.empty() ? "" : ",", w.count, w.name, text(batch), text(whole),
                          one_by_one > 0 ? fmt::format("{:.0f}", one_by_one) : "-", shared_model(ctx, w),
                          whole.solve / batch.solve);
    } catch (const std::exception& e) {
      fmt::print("{}: {}\n", w.name, e.what());
      failed = true;
    }
  }
  if (!out.empty()) {
    std::FILE* const file = std::fopen(out.c_str(), "w");
    if (file == nullptr) return 1;
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%FT%TZ", std::gmtime(&now));
    fmt::print(file,
               "{{\n \"context\": {{\"commit\": \"{}\", \"date\": \"{}\", \"device\": \"{}\"}},\n \"header\": [\"f64, Jacobi; "
               "microseconds of 20 iterations "
               "(of one)\", \"batch\", \"one block diagonal matrix\", \"a solver for each\", \"shared memory's time\", "
               "\"speed / one matrix\"],\n \"rows\": [{}\n ]\n}}\n",
               built_from().commit, date, ctx.info().name, rows);
    std::fclose(file);
  }
  return failed ? 1 : 0;
}
