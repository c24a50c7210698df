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
  int window, csr5;
};

void set(const mode& m) {
  setenv("TULLE_TRIAL_WINDOW", std::to_string(m.window).c_str(), 1);
  setenv("TULLE_TRIAL_CSR5", std::to_string(m.csr5).c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const context ctx = context::best();
  const std::vector<mode> dots = {{"w1", 1, 0},      {"w256", 256, 0},    {"w512", 512, 0},   {"w1024", 1024, 0},
                                  {"c w1", 1, 1},    {"c w256", 256, 1},  {"c w512", 512, 1}, {"c w1024", 1024, 1},
                                  {"d w1", 1, 2},    {"d w256", 256, 2},  {"d w512", 512, 2}, {"d w1024", 1024, 2},
                                  {"w256", 256, 0},  {"c w256", 256, 1},  {"d w256", 256, 2}};
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
      const double sweep = microseconds(ctx, [&] { plan.jacobi(0.5, ref(x), ref(b), ref(d), ref(y)); });
      double got[2];
      copy_bytes(ctx, got, memory_space::host, two.data(), two.space(), sizeof(got));
      ctx.synchronize();
      if (expected[1] == 0) std::copy(got, got + 2, expected);
      const double wrong = std::max(std::abs(got[0] - expected[0]) / std::abs(expected[0]), std::abs(got[1] / expected[1] - 1));
      if (line.empty()) line = fmt::format("{} {} ({:.1f}, {:.1f}):", spec.substr(4), plan.kernel(), bound(1), bound(3));
      line += fmt::format(" [{}] {:.1f} +{:.1f} +{:.1f}{}", m.name, alone, with - alone, sweep - alone, !(wrong < 1e-9) ? "!WRONG" : "");
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
}
