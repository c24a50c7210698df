// What storing values in fewer bytes gains in y = A x, and the error measured over the one promised:
// `tulle_precision [cpu|cuda] [-o FILE] [--small]`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;

struct mesh {
  const char* name;
  const char* spec;
};
constexpr mesh large_meshes[] = {{"7-point 256^3", "gen:stencil:points=7,n=256,values="},
                                 {"27-point 200^3", "gen:stencil:points=27,n=200,values="},
                                 {"27-point 128^3", "gen:stencil:points=27,n=128,values="},
                                 {"FEM 3x63^3", "gen:fem:n=63,dof=3,values="}};
constexpr mesh small_meshes[] = {{"7-point 40^3", "gen:stencil:points=7,n=40,values="},
                                 {"27-point 30^3", "gen:stencil:points=27,n=30,values="}};

/// Values that 80% of the rows can store in f32 under a norm-wise promise of 2^-30: they are 2^-12 of the others.
csr<double> graded(csr<double> a, int region) {
  std::mt19937_64 random(3);
  std::vector<bool> large(static_cast<std::size_t>(a.rows / region + 1));
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = random() % 5 == 0;
  for (index_t row = 0; row < a.rows; ++row) {
    if (large[static_cast<std::size_t>(row / region)]) continue;
    for (std::int64_t k = a.rowptr.data()[row]; k < a.rowptr.data()[row + 1]; ++k) a.values.data()[k] *= 0x1p-12;
  }
  return a;
}

struct way {
  std::string name;
  csr<double> a;
  value_tolerance values = {};
  bool f32 = false;  // values of f32, vectors of f64
};

using bench::row;
const row header = {"f64 vectors", "values", "stored", "bytes a nonzero", "A x, µs", "over f64", "error / promise"};

std::string stored_as(const any_spmv_plan& plan) {
  const std::string all = plan.parameters();
  const auto at = all.find("values=");
  return std::string(plan.kernel()) + (at == std::string::npos ? "" : ", " + all.substr(at + 7));
}

row measure(const context& ctx, const std::string& name, const way& w, double& whole) {
  const context host = context::cpu();
  csr<float> narrow;
  matrix_ref a(w.a.view());
  if (w.f32) {
    narrow = generate<float>(host, name);
    a = matrix_ref(narrow.view());
  }
  spmv_options options;
  options.vector_type = scalar_type::f64;
  options.values = w.values;
  const any_spmv_plan plan(ctx, clone(ctx, a), options);
  std::vector<double> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows));
  std::mt19937_64 random(1);
  for (double& v : x) v = std::uniform_real_distribution<double>(-1, 1)(random);
  buffer<double> device_x = to_buffer(ctx, x), device_y(ctx, y.size());
  std::vector<double> times;
  for (int i = 0; i < 13; ++i) {
    const double t = bench::sample(ctx, 10, [&] { plan.apply(1, device_x, 0, device_y); });
    if (i >= 2) times.push_back(t);
  }
  const double time = bench::median(times);
  if (whole == 0) whole = time;
  y = to_vector(ctx, device_y);
  std::string error = "-";
  if (!w.f32) {
    spmv_reference reference = reference_spmv<double>(host, 1, w.a.view(), x, 0, {});
    add_promise(reference, 1, w.a.view(), host_span<const double>(x), w.values);
    error = fmt::format("{:.2g}", error_ratio(reference, host_span<const double>(y)));
  }
  const double bytes = static_cast<double>(plan.matrix_bytes()) / static_cast<double>(a.nnz);
  fmt::print("{} {}: {} {:.2f} bytes a nonzero {:.1f} us, {:.2f} times f64's speed, error {}\n", name, w.name,
             stored_as(plan), bytes, time, whole / time, error);
  std::fflush(stdout);
  return {w.name,
          stored_as(plan),
          fmt::format("{:.2f}", bytes),
          fmt::format("{:.1f}", time),
          fmt::format("{:.2f}", whole / time),
          error};
}

std::vector<row> measure_all(const context& ctx, const mesh& m) {
  const context host = context::cpu();
  const std::string spec = m.spec;
  const auto random = [&] { return generate<double>(host, spec + "random"); };
  csr<double> few = random();
  std::ranges::for_each(std::span<double>(few.values.data(), few.values.size()),
                        [](double& v) { v = v < 0 ? -1.0 / 3 : 2.0 / 3; });
  csr<double> floats = random();
  std::ranges::for_each(std::span<double>(floats.values.data(), floats.values.size()),
                        [](double& v) { v = static_cast<float>(v); });
  std::vector<way> ways;
  ways.push_back({"random", random()});
  ways.push_back({"random, 1e-12 promised", random(), {1e-12, error_bound::componentwise}});
  ways.push_back({"random, 1e-7 promised", random(), {1e-7, error_bound::componentwise}});
  ways.push_back({"80% of regions small, norm", graded(random(), 4096), {0x1p-30, error_bound::norm}});
  ways.push_back({"80% of rows small, norm", graded(random(), 1), {0x1p-30, error_bound::norm}});
  ways.push_back({"all floats", std::move(floats)});
  ways.push_back({"two values", std::move(few)});
  ways.push_back({"f32 under f64 vectors", {}, {}, true});
  double whole = 0;
  std::vector<row> rows;
  for (const way& w : ways) {
    row cells = measure(ctx, w.f32 ? spec + "random" : m.name, w, whole);
    cells.insert(cells.begin(), m.name);
    rows.push_back(std::move(cells));
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  bool on_cpu = false, small = false;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    on_cpu = on_cpu || argument == "cpu";
    small = small || argument == "--small";
    if (argument == "-o" && i + 1 < argc) file = argv[++i];
  }
  const context ctx = on_cpu ? context::cpu() : context::cuda();
  std::vector<row> rows;
  for (const mesh& m : small ? std::span<const mesh>(small_meshes) : std::span<const mesh>(large_meshes)) {
    for (row& r : measure_all(ctx, m)) rows.push_back(std::move(r));
  }
  return file.empty() ? 0 : bench::write_record(file, ctx, header, rows);
}
