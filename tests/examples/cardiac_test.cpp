// examples/cardiac: its diffusion is symmetric, loses nothing and is of second order; rows of floats are as near f64 as
// their values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "loop.hpp"
#include "matrix.hpp"

namespace cardiac {
namespace {

using tulle::context;
using tulle::csr;

constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double float_roundoff = std::numeric_limits<float>::epsilon() / 2;

/// Of a sum of n terms.
double gamma_of(double n) { return n * unit_roundoff / (1 - n * unit_roundoff); }

const ventricle& heart() {
  static const ventricle of_a_mouse(0.5);
  return of_a_mouse;
}
tensor tissue(const vec3& p) { return diffusivity(heart().fibre(p)); }
const domain& body() {
  static const domain cells = heart().cells(1e4);
  return cells;
}
const diffusion& operators() {
  static const diffusion of_body(body(), tissue);
  return of_body;
}
std::vector<double> excited() {
  std::vector<double> u(static_cast<std::size_t>(body().cells));
  body().for_each_cell([&](int x, int y, int z, index_t i) {
    if (heart().is_excited_first(body().centre(x, y, z))) u[static_cast<std::size_t>(i)] = 1;
  });
  return u;
}
/// The CPU, and a GPU where there is one.
std::vector<context> contexts() {
  std::vector<context> all{context::cpu()};
  if (tulle::cuda_device_count() > 0) all.push_back(context::cuda());
  return all;
}
std::vector<hand_over> ways_of(const context& ctx) {
  if (ctx.backend() == tulle::backend_kind::cpu) return {hand_over::fused};
  return {std::begin(all_hand_overs), std::end(all_hand_overs)};
}
tensor random_tensor(std::mt19937_64& engine, double across) {
  std::normal_distribution<double> normal;
  return transversely_isotropic(1, across, unit({normal(engine), normal(engine), normal(engine)}));
}

/// f(row, column, value) for all entries.
template <class F>
void for_each_entry(const csr<double>& a, const F& f) {
  for (index_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = a.rowptr.data()[i]; k < a.rowptr.data()[i + 1]; ++k)
      f(i, a.colind.data()[k], a.values.data()[k]);
  }
}

void expect_sum(const exchanges& e, const tensor& d) {
  tensor sum;
  for (std::size_t k = 0; k < 6; ++k) {
    const double w = e.weight[k], x = e.to[k].x, y = e.to[k].y, z = e.to[k].z;
    EXPECT_GE(w, 0);
    EXPECT_GT(e.to[k], shift{});
    sum = {sum.xx + w * x * x, sum.xy + w * x * y, sum.xz + w * x * z,
           sum.yy + w * y * y, sum.yz + w * y * z, sum.zz + w * z * z};
  }
  // Products of an obtuse superbase are sums of 9 terms, below 7 * 7 * 2 each; weights below 3e-12 count as 0.
  const double bound = 6 * 49 * (9 * 98 * unit_roundoff + 3e-12);
  for (const double error :
       {sum.xx - d.xx, sum.xy - d.xy, sum.xz - d.xz, sum.yy - d.yy, sum.yz - d.yz, sum.zz - d.zz}) {
    EXPECT_LE(std::abs(error), bound);
  }
}

TEST(cardiac_tensor, is_the_sum_of_its_exchanges) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 1000; ++i) {
    const tensor strong = random_tensor(engine, 0.13), weak = random_tensor(engine, 0.28);
    expect_sum(by_selling(strong), strong);
    expect_sum(by_selling(weak), weak);
    expect_sum(by_faces(weak), weak);
  }
}

TEST(cardiac_tensor, that_is_not_definite_is_refused) {
  EXPECT_THROW((void)by_selling(transversely_isotropic(1, -0.5, {1, 0, 0})), std::invalid_argument);
}

TEST(cardiac_ventricle, has_cells_as_asked_and_fibres_in_its_wall) {
  EXPECT_NEAR(body().cells, 1e4, 500);
  body().for_each_cell([&](int x, int y, int z, index_t) {
    const vec3 f = heart().fibre(body().centre(x, y, z));
    EXPECT_NEAR(dot(f, f), 1, 8 * std::numeric_limits<double>::epsilon());
  });
  EXPECT_LT(heart().depth({0, 0, -0.5 * 17.01}), 0.01);
  EXPECT_GT(heart().depth({0.5 * 9.99, 0, 0}), 0.99);
  const vec3 inside = heart().fibre({0.5 * 7, 0, 0}), outside = heart().fibre({0.5 * 10, 0, 0});
  EXPECT_NEAR(std::abs(inside.y), 0.5, 1e-6);
  EXPECT_NEAR(inside.y, outside.y, 1e-6);
  EXPECT_NEAR(inside.z, -outside.z, 1e-6);
}

TEST(cardiac_matrix, is_symmetric_and_keeps_a_constant) {
  const csr<double> a = operators().matrix(0.02);
  std::vector<double> sum(static_cast<std::size_t>(a.rows));
  for_each_entry(a, [&](index_t i, index_t j, double v) {
    EXPECT_GE(v, 0);
    sum[static_cast<std::size_t>(i)] += v;
    const index_t* const begin = a.colind.data() + a.rowptr.data()[j];
    const index_t* const end = a.colind.data() + a.rowptr.data()[j + 1];
    const index_t* const at = std::lower_bound(begin, end, i);
    ASSERT_TRUE(at != end && *at == i) << i << " " << j;
    EXPECT_EQ(a.values.data()[at - a.colind.data()], v);
  });
  for (const double s : sum) EXPECT_LE(std::abs(s - 1), gamma_of(60));
}

TEST(cardiac_matrix, conserves_what_diffuses) {
  const double dt = 0.02;
  const csr<double> a = operators().matrix(dt);
  const std::vector<double> u = excited();
  constexpr int steps = 100;
  const double mass = std::accumulate(u.begin(), u.end(), 0.0);
  EXPECT_GT(mass, 100);
  for (const context& ctx : contexts()) {
    for (const hand_over way : ways_of(ctx)) {
      const auto wave = make_loop(ctx, a);
      wave->start(u, {.dt = dt, .membrane = false, .times = false, .vectors = way});
      for (int i = 0; i < steps; ++i) wave->step(i * dt);
      const std::vector<double> after = wave->potential();
      const double now = std::accumulate(after.begin(), after.end(), 0.0);
      EXPECT_LT(*std::max_element(after.begin(), after.end()), 1);  // it has diffused
      EXPECT_LE(std::abs(now - mass), mass * (steps * gamma_of(60) + 2 * gamma_of(static_cast<double>(u.size()))))
          << ctx.info().name << " " << name_of(way);
    }
  }
}

TEST(cardiac_matrix, conserves_by_implicit_steps_too) {
  const double dt = 0.5;
  const csr<double> a = operators().matrix(-dt);
  const std::vector<double> u = excited();
  const double mass = std::accumulate(u.begin(), u.end(), 0.0);
  for (const context& ctx : contexts()) {
    const auto wave = make_implicit_loop(ctx, a);
    wave->start(u, {.dt = dt, .membrane = false, .times = false});
    for (int i = 0; i < 4; ++i) wave->step(i * dt);
    const std::vector<double> after = wave->potential();
    const double now = std::accumulate(after.begin(), after.end(), 0.0);
    // 1^T x = 1^T b - 1^T r, and residuals are 1e-9 of the right-hand sides, whose norms do not grow.
    const double norm = std::sqrt(std::inner_product(u.begin(), u.end(), u.begin(), 0.0));
    EXPECT_LE(std::abs(now - mass), 4 * 1.001e-9 * norm * std::sqrt(static_cast<double>(u.size()))) << ctx.info().name;
  }
}

/// The error, in the largest norm over the largest value, of a Gaussian that has spread in a box of n^3 cells.
double gaussian_error(int n, double across) {
  constexpr double width = 0.07, end = 0.0015;
  const vec3 f = unit({1, 2, 3});
  domain box = make_box(n, n, n, 1.0 / n);
  box.corner = {-0.5, -0.5, -0.5};
  constexpr double along = 1;
  const diffusion d(box, [&](const vec3&) { return transversely_isotropic(along, across, f); });
  // Steps as the cells' area.
  const int steps = n * n / 144;
  const csr<double> a = d.matrix(end / steps);
  EXPECT_LE(end / steps, 1 / d.rate());
  const auto exact = [&](const vec3& p, double t) {
    const double s0 = width * width, sl = s0 + 2 * along * t, st = s0 + 2 * across * t;
    const double l = dot(p, f), rest = dot(p, p) - l * l;
    return s0 * std::sqrt(s0) / (st * std::sqrt(sl)) * std::exp(-0.5 * (l * l / sl + rest / st));
  };
  std::vector<double> u(static_cast<std::size_t>(box.cells));
  box.for_each_cell(
      [&](int x, int y, int z, index_t i) { u[static_cast<std::size_t>(i)] = exact(box.centre(x, y, z), 0); });
  const auto wave = make_loop(context::cpu(), a);
  wave->start(u, {.dt = end / steps, .membrane = false, .times = false});
  for (int i = 0; i < steps; ++i) wave->step(0);
  const std::vector<double> after = wave->potential();
  double error = 0;
  for (int x = 0; x < n; ++x) {
    for (int y = 0; y < n; ++y) {
      for (int z = 0; z < n; ++z) {
        error = std::max(
            error, std::abs(after[static_cast<std::size_t>(box.number(x, y, z))] - exact(box.centre(x, y, z), end)));
      }
    }
  }
  return error;
}

constexpr double by_faces_across = 0.3, by_selling_across = 0.13;

TEST(cardiac_matrix, is_of_second_order) {
  for (const double across : {by_faces_across, by_selling_across}) {
    const double coarse = gaussian_error(24, across), fine = gaussian_error(48, across);
    EXPECT_GT(std::log2(coarse / fine), 1.9) << coarse << " " << fine;
  }
}

/// The root mean square of what div D grad of a plane wave misses away from the border, where fibres turn along z.
double turning_error(int n, double across) {
  domain box = make_box(n, n, n, 1.0 / n);
  const auto fibre = [](double z) { return vec3{std::cos(2 * z), std::sin(2 * z), 0}; };
  constexpr double along = 1;
  const diffusion d(box, [&](const vec3& p) { return transversely_isotropic(along, across, fibre(p.z)); });
  const double s = 1 / d.rate();
  const csr<double> a = d.matrix(s);
  constexpr vec3 k{2, 3, 1};
  std::vector<double> u(static_cast<std::size_t>(box.cells)), out(u.size());
  box.for_each_cell(
      [&](int x, int y, int z, index_t i) { u[static_cast<std::size_t>(i)] = std::sin(dot(k, box.centre(x, y, z))); });
  const tulle::spmv_plan<double> plan(context::cpu(), a);
  plan.apply(1, u, 0, out);
  double sum = 0;
  int count = 0;
  const int border = n / 4;
  for (int x = border; x < n - border; ++x) {
    for (int y = border; y < n - border; ++y) {
      for (int z = border; z < n - border; ++z, ++count) {
        const vec3 p = box.centre(x, y, z);
        const auto i = static_cast<std::size_t>(box.number(x, y, z));
        const double kf = dot(k, fibre(p.z));
        const double exact = -(across * dot(k, k) + (along - across) * kf * kf) * std::sin(dot(k, p));
        const double error = (out[i] - u[i]) / s - exact;
        sum += error * error;
      }
    }
  }
  return std::sqrt(sum / count);
}

TEST(cardiac_matrix, is_of_second_order_where_fibres_turn) {
  for (const double across : {by_faces_across, by_selling_across}) {
    const double coarse = turning_error(24, across), fine = turning_error(48, across);
    EXPECT_GT(std::log2(coarse / fine), 1.8) << coarse << " " << fine;
  }
}

TEST(cardiac_matrix, rounds_the_rows_of_small_entries) {
  csr<double> a = operators().matrix(0.02);
  EXPECT_EQ(round_rows(a, 0), 0);
  const double share = round_rows(a, 0.7);
  EXPECT_NEAR(share, 0.7, 0.01);
  index_t floats = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    bool all = true;
    for (std::int64_t k = a.rowptr.data()[i]; k < a.rowptr.data()[i + 1]; ++k) {
      all = all && a.values.data()[k] == static_cast<double>(static_cast<float>(a.values.data()[k]));
    }
    floats += all ? 1 : 0;
  }
  EXPECT_EQ(floats, std::lround(share * a.rows));
}

/// How far two loops may be from each other after some steps, whose products differ by `product` of the largest u, 1.
/// The gate's threshold is a jump: no potential of `path` is so near it that both may be on different sides.
struct loop_bound {
  double u = 0, h = 0;
  void step(double product, double dt) {
    const double slope = dt * (1.1 / membrane::tau_in + 1 / membrane::tau_out);
    u = (u + product) * (1 + slope) + dt / membrane::tau_in * h + 32 * unit_roundoff;
    h += 8 * unit_roundoff;
  }
  void expect_clear_of(double threshold, const std::vector<double>& path) const {
    for (const double v : path) ASSERT_GT(std::abs(v - threshold), u);
  }
};

constexpr int steps = 20;
constexpr double dt = 0.02;

std::vector<double> potential_after(loop& wave, const loop_options& options) {
  wave.start(excited(), options);
  for (int i = 0; i < steps; ++i) wave.step(i * dt);
  return wave.potential();
}

/// `wave` beside a loop on the CPU.
void expect_near_cpu(loop& wave, const csr<double>& a, const loop_options& options, double product) {
  const auto reference = make_loop(context::cpu(), a);
  const std::vector<double> u = excited(), one = potential_after(wave, options);
  reference->start(u, options);
  loop_bound bound;
  for (int i = 0; i < steps; ++i) {
    reference->step(i * dt);
    bound.step(product, dt);
    if (options.membrane) bound.expect_clear_of(membrane::gate, reference->potential());
  }
  const std::vector<double> other = reference->potential();
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_LE(std::abs(one[i] - other[i]), bound.u) << i << " " << name_of(options.vectors);
  }
}

csr<double> rounded_matrix() {
  csr<double> a = operators().matrix(dt);
  (void)round_rows(a, 0.7);
  return a;
}

TEST(cardiac_loop, of_float_rows_is_as_near_f64_as_its_values) {
  const csr<double> a = operators().matrix(dt), rounded = rounded_matrix();
  for (const context& ctx : contexts()) {
    const auto wave = make_loop(ctx, rounded);
    expect_near_cpu(*wave, a, {.dt = dt, .membrane = false}, float_roundoff + 2 * gamma_of(60));
  }
}

class cardiac_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (tulle::cuda_device_count() == 0) GTEST_SKIP() << tulle::cuda_unavailable_reason();
  }
};

TEST_F(cardiac_gpu, is_as_the_cpu_in_f64) {
  const csr<double> a = operators().matrix(dt);
  const auto wave = make_loop(context::cuda(), a);
  for (const hand_over way : all_hand_overs) {
    expect_near_cpu(*wave, a, {.dt = dt, .membrane = true, .vectors = way}, 2 * gamma_of(60));
  }
}

/// What multiplies in f32 rounds x, each product and each sum once.
TEST_F(cardiac_gpu, is_as_the_cpu_with_rows_of_floats) {
  const csr<double> a = rounded_matrix();
  const auto wave = make_loop(context::cuda(), a);
  expect_near_cpu(*wave, a, {.dt = dt, .membrane = true}, 2 * gamma_of(60));
  constexpr double terms = 30, in_f32 = terms * float_roundoff / (1 - terms * float_roundoff);
  for (const hand_over way : all_hand_overs) {
    expect_near_cpu(*wave, a, {.dt = dt, .membrane = false, .vectors = way}, in_f32);
  }
}

TEST_F(cardiac_gpu, gives_the_same_bits_however_vectors_are_handed_over) {
  for (const bool membrane : {false, true}) {
    const auto options = [&](hand_over way) { return loop_options{dt, membrane, true, way}; };
    const csr<double> wide = operators().matrix(dt), narrow = rounded_matrix();
    const auto in_f64 = make_loop(context::cuda(), wide), mixed = make_loop(context::cuda(), narrow);
    const std::vector<double> fused = potential_after(*in_f64, options(hand_over::fused));
    const std::vector<double> times = in_f64->activation();
    const std::vector<double> cast = potential_after(*mixed, options(hand_over::cast));
    EXPECT_NE(fused, cast);
    for (const hand_over way : all_hand_overs) {
      EXPECT_EQ(potential_after(*in_f64, options(way)), fused) << name_of(way);
      const std::vector<double> now = in_f64->activation();
      for (std::size_t i = 0; membrane && i < now.size(); ++i) {
        ASSERT_TRUE(now[i] == times[i] || (std::isnan(now[i]) && std::isnan(times[i]))) << name_of(way) << " " << i;
      }
      if (way == hand_over::fused) continue;
      EXPECT_EQ(potential_after(*mixed, options(way)), cast) << name_of(way);
    }
  }
}

/// Between the same two steps, by a line between two potentials: so far apart as errors of those move its crossing.
TEST_F(cardiac_gpu, activates_cells_when_the_cpu_does) {
  const csr<double> a = operators().matrix(dt);
  const auto wave = make_loop(context::cuda(), a), reference = make_loop(context::cpu(), a);
  std::vector<double> u = excited();
  for (double& v : u) v = std::max(v, 0.45);  // all soon pass
  wave->start(u, {.dt = dt});
  reference->start(u, {.dt = dt});
  loop_bound bound;
  std::vector<double> before = reference->potential(), rise(before.size());
  for (int i = 0; i < steps; ++i) {
    wave->step(i * dt);
    reference->step(i * dt);
    const std::vector<double> after = reference->potential();
    bound.step(2 * gamma_of(60), dt);
    bound.expect_clear_of(membrane::gate, after);
    bound.expect_clear_of(activated, after);
    for (std::size_t c = 0; c < after.size(); ++c) {
      if (before[c] < activated && after[c] >= activated) rise[c] = after[c] - before[c];
    }
    before = after;
  }
  const std::vector<double> one = wave->activation(), other = reference->activation();
  std::size_t crossings = 0;
  for (std::size_t c = 0; c < one.size(); ++c) {
    ASSERT_EQ(std::isnan(one[c]), std::isnan(other[c])) << c;
    if (rise[c] == 0) continue;
    ++crossings;
    EXPECT_LE(std::abs(one[c] - other[c]), 4 * dt * bound.u / rise[c] + 8 * unit_roundoff * steps * dt) << c;
  }
  EXPECT_GT(crossings, 0u);
}

}  // namespace
}  // namespace cardiac
