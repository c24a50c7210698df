// Experiments: `packed` with values in fewer bytes, by letters of TULLE_TRY. To be deleted.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

using namespace tulle;

namespace {

std::uint64_t hash(std::int64_t n) {
  std::uint64_t h = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}
double unit(std::int64_t e) { return 0.5 + static_cast<double>(hash(e) >> 11) * 0x1p-54; }

struct kind {
  const char* name;
  double (*make)(std::int64_t e, index_t row, index_t col);
  bool f32_matrix = false;
  double norm = 0;
  std::vector<const char*> tries;
};

const std::vector<kind> kinds{
    {"f64", [](std::int64_t e, index_t, index_t) { return unit(e); }, false, 0, {"", "b"}},
    {"two values", [](std::int64_t, index_t r, index_t c) { return r == c ? 26.1 : -0.9; }, false, 0,
     {"", "b", "r", "1", "2", "3", "4", "5", "6", "7", "8", "9", "s"}},
    {"f32 under f64", [](std::int64_t e, index_t, index_t) -> double { return static_cast<float>(unit(e)); }, true, 0,
     {"", "b", "1", "2", "3", "4", "5", "6", "7", "t", "t1", "t3", "t4", "t6", "t7", "s", "s1", "s2", "s3", "s4", "s5", "s6", "s7"}},
    {"80% regions",
     [](std::int64_t e, index_t r, index_t) { return hash(r / 4096) % 5 == 0 ? unit(e) : unit(e) * 0x1p-12; }, false,
     0x1p-30, {"", "b", "1", "2", "3", "4", "5", "6", "7", "t", "t1", "t3", "t4", "t6", "t7", "s", "s1", "s2", "s3", "s4", "s5", "s6", "s7"}},
    {"256 different", [](std::int64_t e, index_t, index_t) { return (static_cast<double>(hash(e) % 256) - 127.5) / 384; },
     false, 0, {"", "1", "2", "3"}},
    {"16 different", [](std::int64_t e, index_t, index_t) { return (static_cast<double>(hash(e) % 16) - 7.5) / 24; },
     false, 0, {"", "1", "2", "3"}},
    {"diagonals",  // as many values as positions, not repeated along a row
     [](std::int64_t, index_t r, index_t c) { return 1.0 / (3 + hash(std::abs(std::int64_t{r} - c)) % 13); }, false, 0,
     {"", "r"}},
};

std::vector<double> make(const csr<double>& a, const kind& k) {
  std::vector<double> out(static_cast<std::size_t>(a.nnz()));
  const auto v = a.view();
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const auto part = [&](int i) { return static_cast<index_t>(std::int64_t{v.rows} * i / threads); };
      for (index_t r = part(t); r < part(t + 1); ++r) {
        for (std::int64_t e = v.rowptr[r]; e < v.rowptr[r + 1]; ++e) out[static_cast<std::size_t>(e)] = k.make(e, r, v.colind[e]);
      }
    });
  }
  running.clear();
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const context ctx = context::cuda(), host = context::cpu();
  buffer<double> sweep(ctx, std::size_t{32} << 20);
  const int repeat = 9;
  for (int m = 1; m < argc; ++m) {
    const csr<double> a = generate<double>(host, argv[m]);
    const auto v = a.view();
    const auto n = static_cast<std::size_t>(v.rows);
    const auto rowptr = to_buffer(ctx, std::vector<std::int64_t>(v.rowptr, v.rowptr + v.rows + 1));
    const auto colind = to_buffer(ctx, std::vector<index_t>(v.colind, v.colind + v.nnz));
    buffer<double> x(ctx, n), y(ctx, n);
    vector_ops(ctx).random(1, x);
    double base = 0;
    for (const kind& k : kinds) {
      const std::vector<double> values = make(a, k);
      buffer<double> wide;
      buffer<float> narrow;
      matrix_ref ref;
      if (k.f32_matrix) {
        narrow = to_buffer(ctx, std::vector<float>(values.begin(), values.end()));
        ref = csr_view<float, std::int64_t>{v.rows, v.cols, v.nnz, rowptr.data(), colind.data(), narrow.data(), ctx.space()};
      } else {
        wide = to_buffer(ctx, values);
        ref = csr_view<double, std::int64_t>{v.rows, v.cols, v.nnz, rowptr.data(), colind.data(), wide.data(), ctx.space()};
      }
      std::vector<double> expected;
      for (const char* t : k.tries) {
        setenv("TULLE_TRY", t, 1);
        std::string chosen;
        for (const char* kernel : {"", "packed"}) {
          if (*kernel == 0 && *t != 0) continue;
          if (*kernel != 0 && *t == 0 && chosen == "packed") continue;
          spmv_options o;
          o.kernel = kernel;
          if (k.f32_matrix) o.vector_type = scalar_type::f64;
          o.values = {k.norm, error_bound::norm};
          const any_spmv_plan plan(ctx, ref, o);
          chosen = plan.kernel();
          std::vector<double> times;
          std::vector<event> events;
          for (int i = 0; i < 2 * repeat; ++i) events.emplace_back(ctx);
          const auto run = [&] { plan.apply(1, x, 0, y); };
          run(), run();
          for (int i = 0; i < repeat; ++i) {
            fill_bytes(ctx, sweep.data(), ctx.space(), static_cast<unsigned char>(i), sweep.bytes());
            events[2 * i].record(ctx.stream());
            run();
            events[2 * i + 1].record(ctx.stream());
          }
          for (int i = 0; i < repeat; ++i) {
            events[2 * i + 1].synchronize();
            times.push_back(events[2 * i + 1].microseconds_since(events[2 * i]));
          }
          const double time = bench::median(times);
          if (base == 0) base = time;
          const std::vector<double> now = to_vector(ctx, y);
          if (expected.empty() && chosen == "packed") expected = now;
          const bool same = expected.empty() || std::memcmp(now.data(), expected.data(), n * sizeof(double)) == 0;
          fmt::print("{} | {} | '{}' | {} | {:.1f} us | {:.2f} | {:.2f} B/nnz | plan {:.1f} ms | {}{}\n", argv[m], k.name, t,
                     plan.kernel(), time, base / time,
                     static_cast<double>(plan.matrix_bytes()) / static_cast<double>(v.nnz), plan.plan_microseconds() / 1e3,
                     plan.parameters(), same || plan.kernel() != "packed" ? "" : " OTHER BITS");
          std::fflush(stdout);
        }
      }
    }
  }
}
