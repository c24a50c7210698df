// What parts of the fused passes cost: every variant on one matrix after another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

using namespace tulle;

namespace {

template <class F>
double microseconds(const context& ctx, const F& f) {
  constexpr int runs = 40;
  std::vector<event> begin, end;
  for (int i = 0; i < runs; ++i) begin.emplace_back(ctx), end.emplace_back(ctx);
  for (int i = 0; i < 3; ++i) f();
  for (int i = 0; i < runs; ++i) {
    begin[static_cast<std::size_t>(i)].record(ctx.stream());
    f();
    end[static_cast<std::size_t>(i)].record(ctx.stream());
  }
  std::vector<double> times;
  for (std::size_t i = 0; i < runs; ++i) {
    end[i].synchronize();
    times.push_back(end[i].microseconds_since(begin[i]));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

struct mode {
  const char* name;
  int dots, threads, blocks, csr5, jacobi;
};

void set(const mode& m) {
  setenv("TULLE_TRIAL_DOTS", std::to_string(m.dots).c_str(), 1);
  setenv("TULLE_TRIAL_THREADS", std::to_string(m.threads).c_str(), 1);
  setenv("TULLE_TRIAL_BLOCKS", std::to_string(m.blocks).c_str(), 1);
  setenv("TULLE_TRIAL_CSR5", std::to_string(m.csr5).c_str(), 1);
  setenv("TULLE_TRIAL_JACOBI", std::to_string(m.jacobi).c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const context ctx = context::best();
  const std::vector<mode> dots = {{"base", 0, 1024, 1, 0, 0},       {"np", 16, 1024, 1, 0, 0},
                                  {"none", 10, 1024, 1, 0, 0},      {"none,np", 26, 1024, 1, 0, 0},
                                  {"left", 6, 1024, 1, 0, 0},       {"p1024", 2, 1024, 1, 0, 0},
                                  {"p512", 2, 512, 1, 0, 0},        {"p256", 2, 256, 1, 0, 0},
                                  {"p128", 2, 128, 1, 0, 0},        {"e1024", 3, 1024, 1, 0, 0},
                                  {"e512", 3, 512, 1, 0, 0},        {"e256", 3, 256, 1, 0, 0},
                                  {"e128", 3, 128, 1, 0, 0},        {"p256x8", 2, 256, 8, 0, 0},
                                  {"e256x8", 3, 256, 8, 0, 0},      {"e1024x8", 3, 1024, 8, 0, 0},
                                  {"e256np", 19, 256, 1, 0, 0},     {"e256np,c1", 19, 256, 1, 1, 0},
                                  {"e256np,c2", 19, 256, 1, 2, 0},  {"e256np,c3", 19, 256, 1, 3, 0},
                                  {"e256,c2", 3, 256, 1, 2, 0},     {"e256np,early", 19, 256, 1, 2, 2}};
  const std::vector<mode> sweeps = {{"base", 0, 1, 1, 0, 0},  {"np", 0, 1, 1, 0, 1},    {"c1", 0, 1, 1, 1, 0},
                                    {"c1np", 0, 1, 1, 1, 1},  {"c2", 0, 1, 1, 2, 0},    {"c2np", 0, 1, 1, 2, 1},
                                    {"c3np", 0, 1, 1, 3, 1},  {"early", 0, 1, 1, 2, 2}};
  for (int i = 1; i < argc; ++i) {
    const std::string spec = argv[i];
    const csr<double> a = [&] { return generate<double>(context::cpu(), spec); }();
    const matrix_ref on = clone(ctx, matrix_ref(a));
    const auto n = static_cast<std::size_t>(a.rows);
    buffer<double> x(ctx, n), y(ctx, n), b(ctx, n), d(ctx, n), two(ctx, 2);
    vector_ops(ctx).random(1, x);
    vector_ops(ctx).random(2, b);
    vector_ops(ctx).random(3, d);
    const auto ref = [&](buffer<double>& v) {
      return vector_ref(scalar_type::f64, v.data(), static_cast<std::int64_t>(v.size()), v.space());
    };
    const auto bound = [&](int reads) { return 1.2 * 8e-6 * reads * static_cast<double>(n) / 4.51 + 2; };
    std::string line;
    double expected[2] = {};
    for (const mode& m : dots) {
      set(m);
      const any_spmv_plan plan(ctx, on);
      const double alone = microseconds(ctx, [&] { plan.apply(1, ref(x), 0, ref(y)); });
      const double with = microseconds(ctx, [&] { plan.apply_dots(1, ref(x), 0, ref(y), ref(x), ref(two)); });
      double got[2];
      copy_bytes(ctx, got, memory_space::host, two.data(), two.space(), sizeof(got));
      ctx.synchronize();
      if (m.dots == 0) std::copy(got, got + 2, expected);
      const double wrong = std::max(std::abs(got[0] - expected[0]) / std::abs(expected[0]), std::abs(got[1] / expected[1] - 1));
      if (line.empty()) line = fmt::format("{} {} {:.1f} dots ({:.1f}):", spec.substr(4), plan.kernel(), alone, bound(1));
      line += fmt::format(" {} {:.1f}{}", m.name, with - alone, (m.dots & 12) == 0 && !(wrong < 1e-9) ? "!WRONG" : "");
    }
    fmt::print("{}\n", line);
    line.clear();
    for (const mode& m : sweeps) {
      set(m);
      const any_spmv_plan plan(ctx, on);
      const double alone = microseconds(ctx, [&] { plan.apply(1, ref(x), 0, ref(y)); });
      const double with = microseconds(ctx, [&] { plan.jacobi(0.5, ref(x), ref(b), ref(d), ref(y)); });
      if (line.empty()) line = fmt::format("  jacobi {:.1f} ({:.1f}):", alone, bound(3));
      line += fmt::format(" {} {:.1f}", m.name, with - alone);
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
}
