// An electrical wave through the left ventricle of a heart: tulle_example_cardiac --help; README.md beside this file.
//
// The monodomain model, du/dt = div D grad u + f(u, h): fibres turn through the wall, and the wave is two to three
// times as fast along them. Prints what a step takes and when the last cell is activated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>

#include "loop.hpp"
#include "matrix.hpp"
#include "output.hpp"

namespace {

using namespace cardiac;
using clock_type = std::chrono::steady_clock;

struct settings {
  double cells = 2e5, scale = 1, dt = 0, end = 100, f32_rows = 0;
  bool implicit = false, compare = false;
  std::string backend = "cpu";
  hand_over vectors = hand_over::fused;
  std::string png, vti;
  int frames = 0;
};

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

std::vector<double> first_potential(const ventricle& heart, const domain& body) {
  std::vector<double> u(static_cast<std::size_t>(body.cells));
  body.for_each_cell([&](int x, int y, int z, index_t i) {
    if (heart.is_excited_first(body.centre(x, y, z))) u[static_cast<std::size_t>(i)] = 1;
  });
  return u;
}

struct result {
  std::vector<double> activation, potential;
  double seconds = 0;
  int steps = 0;
};

std::vector<float> floats(const std::vector<double>& v) { return {v.begin(), v.end()}; }

/// A picture of u at even distances in time.
class film {
 public:
  film(const settings& s, const domain& body, int steps)
      : settings_(s), body_(body), every_(s.frames > 0 ? std::max(1, steps / s.frames) : 0) {}
  void look(const loop& wave, int step) {
    if (every_ == 0 || (step + 1) % every_ != 0 || shot_ == settings_.frames) return;
    const std::string stem = settings_.png.substr(0, settings_.png.rfind(".png"));
    write_png(fmt::format("{}-{:03}.png", stem, shot_++), body_, floats(wave.potential()), 0, 1, 0);
  }

 private:
  const settings& settings_;
  const domain& body_;
  int every_, shot_ = 0;
};

result simulate(const tulle::context& ctx, loop& wave, const settings& s, const domain& body,
                const std::vector<double>& u) {
  result out;
  out.steps = static_cast<int>(std::ceil(s.end / s.dt));
  wave.start(u, {s.dt, true, true, s.vectors});
  ctx.synchronize();
  film shots(s, body, out.steps);
  for (int i = 0; i < out.steps; ++i) {
    const auto begin = clock_type::now();
    wave.step(i * s.dt);
    if (s.frames > 0 || i + 1 == out.steps) ctx.synchronize();  // a GPU runs behind
    out.seconds += seconds_since(begin);
    shots.look(wave, i);
  }
  out.activation = wave.activation();
  out.potential = wave.potential();
  return out;
}

/// Returns how many cells were activated.
std::size_t report(const result& r, const domain& body) {
  std::size_t count = 0;
  double last = 0, least = 0, most = 0;
  for (std::size_t i = 0; i < r.activation.size(); ++i) {
    if (!std::isnan(r.activation[i])) ++count, last = std::max(last, r.activation[i]);
    least = std::min(least, r.potential[i]), most = std::max(most, r.potential[i]);
  }
  fmt::print("{} steps in {:.3f} s: {:.1f} a second, {:.3g} cells a second\n", r.steps, r.seconds, r.steps / r.seconds,
             r.steps / r.seconds * body.cells);
  fmt::print("{} of {} cells activated, the last after {:.3f} ms; u in [{:.4f}, {:.4f}]\n", count, body.cells, last,
             least, most);
  return count;
}

void compare(const result& r, const result& exact) {
  double time = 0, potential = 0;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < r.activation.size(); ++i) {
    const double t = r.activation[i], e = exact.activation[i];
    if (std::isnan(t) != std::isnan(e)) ++differ;
    if (!std::isnan(t - e)) time = std::max(time, std::abs(t - e));
    potential = std::max(potential, std::abs(r.potential[i] - exact.potential[i]));
  }
  fmt::print("beside f64: activation differs by at most {:.2e} ms, u at the end by {:.2e}", time, potential);
  fmt::print("{}\n", differ == 0 ? "" : fmt::format("; {} cells are activated in one alone", differ));
}

void write(const settings& s, const domain& body, const result& r, const ventricle& heart) {
  if (!s.png.empty()) {
    double last = 0;
    for (const double t : r.activation) last = std::isnan(t) ? last : std::max(last, t);
    write_png(s.png, body, floats(r.activation), 0, last, last / 12);
  }
  if (s.vti.empty()) return;
  std::vector<float> angle(static_cast<std::size_t>(body.cells));
  body.for_each_cell([&](int x, int y, int z, index_t i) {
    angle[static_cast<std::size_t>(i)] = static_cast<float>(60 - 120 * heart.depth(body.centre(x, y, z)));
  });
  write_vti(s.vti, body,
            {{"activation", floats(r.activation)}, {"u", floats(r.potential)}, {"helix_angle", std::move(angle)}});
}

int run_example(settings s) {
  const tulle::context ctx = s.backend == "cuda" ? tulle::context::cuda() : tulle::context::cpu();
  auto begin = clock_type::now();
  const ventricle heart(s.scale);
  const domain body = heart.cells(s.cells);
  const conductivity tissue = [&](const vec3& p) { return diffusivity(heart.fibre(p)); };
  const diffusion operators(body, tissue);

  const double limit = 1 / operators.rate();
  if (s.dt == 0) s.dt = s.implicit ? 0.05 : std::min(0.02, 0.9 * limit);
  if (!s.implicit && s.dt > limit) {
    fmt::print(stderr, "--dt {}: explicit steps of these cells are stable up to {:.5f} ms\n", s.dt, limit);
    return 2;
  }
  tulle::csr<double> a = operators.matrix(s.implicit ? -s.dt : s.dt);
  fmt::print("{} cells of {:.4f} mm, {} entries ({:.2f} a row), steps of {:.4f} ms; made in {:.2f} s\n", body.cells,
             body.h, a.nnz(), static_cast<double>(a.nnz()) / body.cells, s.dt, seconds_since(begin));
  const std::vector<double> u = first_potential(heart, body);
  const auto start = [&] { return s.implicit ? make_implicit_loop(ctx, a) : make_loop(ctx, a); };
  result exact;
  if (s.compare) exact = simulate(ctx, *start(), s, body, u);
  if (s.f32_rows > 0) fmt::print("{:.1f}% of the rows are of floats\n", 100 * round_rows(a, s.f32_rows));
  const auto wave = start();
  fmt::print("{}: {}, {}\n", ctx.info().name, wave->stored_as(), s.implicit ? "implicit" : "explicit");
  const result r = simulate(ctx, *wave, s, body, u);
  const std::size_t count = report(r, body);
  if (s.compare) compare(r, exact);
  write(s, body, r, heart);
  return count > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app("An electrical wave through the left ventricle: monodomain model, fibres that turn through the wall.");
  app.add_option("--cells", s.cells, "about so many")->check(CLI::Range(100.0, 1.5e8))->capture_default_str();
  app.add_option("--scale", s.scale, "of a ventricle of 25 mm; 3.5 is human")
      ->check(CLI::Range(0.01, 10.0))
      ->capture_default_str();
  app.add_option("--end", s.end, "ms to simulate")->check(CLI::Range(1e-3, 1e5))->capture_default_str();
  app.add_option("--dt", s.dt, "ms a step; 0: 0.02 or what is stable, 0.05 implicit")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* const implicit =
      app.add_flag("--implicit", s.implicit, "diffusion by conjugate gradients, not by x <- A x");
  app.add_option("--f32-rows", s.f32_rows, "share of rows, those of the smallest entries, stored as floats")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--backend", s.backend)->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  std::map<std::string, hand_over> ways;
  for (const hand_over way : all_hand_overs) ways[name_of(way)] = way;
  app.add_option("--hand-over", s.vectors, "on a GPU, how a step's result becomes the next one's x (README.md)")
      ->transform(CLI::CheckedTransformer(ways))
      ->excludes(implicit);
  app.add_flag("--compare", s.compare, "run in f64 first, and print the difference");
  CLI::Option* png = app.add_option("--png", s.png, "picture of the activation times: FILE.png");
  app.add_option("--frames", s.frames, "so many pictures of u besides: FILE-000.png ...")
      ->check(CLI::Range(0, 1000))
      ->needs(png);
  app.add_option("--vti", s.vti, "activation times, potential and fibre angle for ParaView: FILE.vti");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (app.count("--hand-over") > 0 && s.backend != "cuda") {
    fmt::print(stderr, "--hand-over is of a GPU: --backend cuda\n");
    return 2;
  }
  try {
    return run_example(s);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
