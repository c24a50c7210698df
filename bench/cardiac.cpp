// Steps of examples/cardiac on a GPU, microseconds each: the hand-overs of the vectors beside each other, in f64 and
// with rows of floats, with the membrane and without: `tulle_cardiac_steps [--cells N] [--scale S] [--f32-rows SHARE]
// [-o FILE]`. docs/notes/0022-cardiac.md.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backends.hpp"
#include "loop.hpp"
#include "matrix.hpp"
#include "record.hpp"

namespace {

using namespace tulle;
using cardiac::hand_over;
using clock_type = std::chrono::steady_clock;

struct settings {
  double cells = 5.1e7, scale = 3.5, share = 0.7;
  std::string file;
};

/// What one step reads and writes of vectors, bytes a cell. `floats`: share of the rows.
double vector_bytes(const cardiac::loop_options& o, double floats) {
  const bool has_pair = o.vectors != hand_over::cast && o.vectors != hand_over::fused;
  double bytes = 8 + (has_pair ? 8 - 4 * floats : 8);  // y and x of the product
  if (o.vectors == hand_over::both) bytes += 4;
  if (o.membrane) bytes += 16;  // the gate
  const double before = o.membrane && o.times ? 8 : 0;
  switch (o.vectors) {
    case hand_over::copy:
      return bytes + before + 8 + 8 + 4;
    case hand_over::swap:
      return bytes + before + 8 + (o.membrane ? 8 : 0) + 4;
    case hand_over::both:
      return bytes + (o.membrane ? before + 8 + 8 + 4 : 0);
    case hand_over::cast:
      return bytes + (o.membrane ? before + 8 + 8 : 0);
    default:
      return bytes;
  }
}

class comparison {
 public:
  comparison(const context& ctx, const std::vector<double>& u, double dt)
      : ctx_(ctx), u_(u), dt_(dt), bandwidth_(cuda_runtime()->measure_bandwidth(ctx.device()).read) {
    fmt::print("{}: read bandwidth {:.0f} GB/s\n", ctx.info().name, 1e-9 * bandwidth_);
  }
  /// All that is to be measured of a matrix whose rows are floats by that share.
  void add(const std::string& values, const csr<double>& a, double floats) {
    const auto wave = cardiac::make_loop(ctx_, a);
    fmt::print("{}: {}\n", values, wave->stored_as());
    for (const bool membrane : {false, true}) {
      for (const hand_over way : cardiac::all_hand_overs) {
        if (floats == 0 && way != hand_over::cast && way != hand_over::fused) continue;  // x in f32 has no use
        step(*wave, values, {dt_, membrane, false, way}, floats);
      }
    }
    step(*wave, values, {dt_, true, true, hand_over::fused}, floats);
  }
  /// y = A x by the library's own plan.
  void add_plan(const std::string& values, const csr<double>& a) {
    spmv_options options;
    options.values = {1e-14, error_bound::row};
    const any_spmv_plan plan(ctx_, matrix_ref(a.view()), options);
    const buffer<double> x = to_buffer(ctx_, u_);
    buffer<double> y(ctx_, u_.size());
    const double us = bench::microseconds(ctx_, [&] { plan.apply(1, x, 0, y); });
    report(values, "product by a plan", "-", us, static_cast<double>(plan.matrix_bytes()) / cells() + 16);
    fmt::print("  {} {}\n", plan.kernel(), plan.parameters());
  }
  [[nodiscard]] const std::vector<bench::row>& rows() const { return rows_; }

 private:
  [[nodiscard]] double cells() const { return static_cast<double>(u_.size()); }
  void step(cardiac::loop& wave, const std::string& values, const cardiac::loop_options& options, double floats) {
    constexpr int warm_up = 2, samples = 7, in_a_row = 10;
    wave.start(u_, options);
    std::vector<double> times;
    double now = 0;
    for (int i = 0; i < warm_up + samples; ++i) {
      const double us = bench::sample(ctx_, in_a_row, [&] { wave.step(std::exchange(now, now + dt_)); });
      if (i >= warm_up) times.push_back(us);
    }
    report(values, cardiac::name_of(options.vectors),
           !options.membrane ? "no"
           : options.times   ? "yes, with times"
                             : "yes",
           bench::median(times), static_cast<double>(wave.matrix_bytes()) / cells() + vector_bytes(options, floats));
  }
  void report(const std::string& values, const std::string& vectors, const std::string& membrane, double us,
              double bytes) {
    const double rate = bytes * cells() / (1e-6 * us);
    rows_.push_back({values, vectors, membrane, fmt::format("{:.0f}", us), fmt::format("{:.1f}", bytes),
                     fmt::format("{:.0f}", 1e-9 * rate), fmt::format("{:.1f}", 100 * rate / bandwidth_)});
    fmt::print("{:14} {:18} membrane {:16} {:8.1f} us, {:6.1f} bytes a cell, {:5.0f} GB/s, {:5.1f}%\n", values, vectors,
               membrane, us, bytes, 1e-9 * rate, 100 * rate / bandwidth_);
    std::fflush(stdout);
  }

  context ctx_;
  const std::vector<double>& u_;
  double dt_, bandwidth_;
  std::vector<bench::row> rows_;
};

int run(const settings& s) {
  const context ctx = context::cuda();
  const auto begin = clock_type::now();
  const cardiac::ventricle heart(s.scale);
  const cardiac::domain body = heart.cells(s.cells);
  const cardiac::diffusion operators(body,
                                     [&](const cardiac::vec3& p) { return cardiac::diffusivity(heart.fibre(p)); });
  const double dt = std::min(0.02, 0.9 / operators.rate());
  csr<double> a = operators.matrix(dt);
  std::vector<double> u(static_cast<std::size_t>(body.cells));
  body.for_each_cell([&](int x, int y, int z, index_t i) {
    if (heart.is_excited_first(body.centre(x, y, z))) u[static_cast<std::size_t>(i)] = 1;
  });
  fmt::print("{} cells of {:.4f} mm, {} entries, steps of {:.4f} ms; made in {:.1f} s\n", body.cells, body.h, a.nnz(),
             dt, std::chrono::duration<double>(clock_type::now() - begin).count());
  comparison all(ctx, u, dt);
  all.add("f64", a, 0);
  all.add_plan("f64", a);
  const double floats = cardiac::round_rows(a, s.share);
  const std::string mixed = fmt::format("{:.0f}% f32 rows", 100 * floats);
  all.add(mixed, a, floats);
  all.add_plan(mixed, a);
  if (s.file.empty()) return 0;
  return bench::write_record(s.file, ctx,
                             {"values", "hand-over", "membrane", "µs a step", "bytes a cell", "GB/s", "% of bandwidth"},
                             all.rows());
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "-o" && more) {
      s.file = argv[++i];
    } else if (word == "--cells" && more) {
      s.cells = std::stod(argv[++i]);
    } else if (word == "--scale" && more) {
      s.scale = std::stod(argv[++i]);
    } else if (word == "--f32-rows" && more) {
      s.share = std::stod(argv[++i]);
    } else {
      fmt::print(stderr, "tulle_cardiac_steps [--cells N] [--scale S] [--f32-rows SHARE] [-o FILE]\n");
      return 2;
    }
  }
  try {
    return run(s);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
