// Every operation against a reference in higher precision, within its error bound.
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/types.hpp"
#include "vector_fixture.hpp"

namespace tulle::test {
namespace {

constexpr std::array<std::size_t, 9> sizes = {0, 1, 7, 256, 1000, 4097, 33333, 540675, 3000001};

class vector_test : public vector_fixture {
 protected:
  /// Calls f.operator()<T>(n) for the types that are computed with and every size.
  template <class F>
  static void for_sizes(F f) {
    for_types<float, double>([&]<class T>() {
      for (const std::size_t n : sizes) f.template operator()<T>(n);
    });
  }
};
TULLE_ON_VECTORS(vector_test);

constexpr long double unit_f64 = 0x1p-53L;

template <class T>
constexpr long double unit = std::numeric_limits<T>::epsilon() / 2;

/// |computed - x.y| <= gamma(n) |x|.|y| + u |x.y|, the reference's own rounding included.
template <class T>
void expect_dot(T computed, const std::vector<T>& x, const std::vector<T>& y) {
  long double exact = 0, absolute = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double product = static_cast<long double>(x[i]) * y[i];
    exact += product;
    absolute += std::fabs(product);
  }
  const long double n = static_cast<long double>(x.size());
  const long double gamma = n * unit_f64 / (1 - n * unit_f64) + n * std::numeric_limits<long double>::epsilon();
  const long double stored = std::is_same_v<T, float> ? unit<T> * std::fabs(exact) * (1 + gamma) : 0;
  EXPECT_LE(std::fabs(computed - exact), gamma * absolute + stored) << "n = " << x.size();
}

TEST_P(vector_test, dot_products_keep_their_bound) {
  for_sizes([&]<class T>(std::size_t n) {
    const auto x = random<T>(1, n), y = random<T>(2, n);
    buffer<T> result = on<T>({T{77}});
    ops_.dot(x, y, result);
    expect_dot(host(result)[0], host(x), host(y));
  });
}

TEST_P(vector_test, several_dot_products_at_once_are_those_of_one_each) {
  for_types<float, double>([&]<class T>() {
    constexpr std::size_t n = 20011;
    std::vector<buffer<T>> v;
    for (std::uint64_t s = 0; s < 17; ++s) v.push_back(random<T>(s, n));
    for (const std::size_t count : {2, 3, 4, 5, 8, 9, 17}) {
      std::vector<dot_pair> pairs;
      for (std::size_t k = 0; k < count; ++k) pairs.push_back({v[k], v[0]});
      buffer<T> results(ctx(), count);
      ops_.dots(pairs, results);
      for (std::size_t k = 0; k < count; ++k) expect_dot(host(results)[k], host(v[k]), host(v[0]));
    }
  });
}

TEST_P(vector_test, sums_of_f32_vectors_may_be_f64) {
  for (const std::size_t n : sizes) {
    const auto x = random<float>(1, n), y = random<float>(2, n);
    std::vector<double> hx, hy;
    for (const float v : host(x)) hx.push_back(v);
    for (const float v : host(y)) hy.push_back(v);
    buffer<double> dot(ctx(), 1), norm(ctx(), 1), both(ctx(), 2);
    ops_.dot(x, y, dot);
    expect_dot(host(dot)[0], hx, hy);
    ops_.norm2(x, norm);
    auto z = clone(ctx(), y);
    ops_.axpby_dots(0, x, 1, z, x, both);  // z = y
    expect_dot(host(both)[0], hx, hy);
    expect_dot(host(both)[1], hy, hy);
    ops_.multiply_dots(1, x, y, 0, z, y, both);
    std::vector<double> hz;
    for (const float v : host(z)) hz.push_back(v);
    expect_dot(host(both)[0], hy, hz);
    expect_dot(host(both)[1], hz, hz);
  }
}

TEST_P(vector_test, a_diagonal_matrix_multiplies) {
  for_sizes([&]<class T>(std::size_t n) {
    const auto d = random<T>(1, n), x = random<T>(2, n), before = random<T>(3, n);
    for (const double b : {0.0, -0.5}) {
      auto y = b == 0 ? on<T>(std::vector<T>(n, std::numeric_limits<T>::quiet_NaN())) : clone(ctx(), before);
      ops_.multiply(1.5, d, x, b, y);
      const auto got = host(y), hd = host(d), hx = host(x), hy = host(before);
      for (std::size_t i = 0; i < n; ++i) {
        const long double product = 1.5L * hd[i] * hx[i], rest = static_cast<long double>(b) * hy[i];
        ASSERT_LE(std::fabs(got[i] - (product + rest)), 5 * unit<T> * (std::fabs(product) + std::fabs(rest))) << i;
      }
    }
  });
}

TEST_P(vector_test, no_dot_products_and_empty_vectors) {
  const auto x = random<double>(1, 0);
  buffer<double> result = on<double>({5});
  ops_.dots({}, const_cast<buffer<double>&>(x));
  ops_.norm2(x, result);
  EXPECT_EQ(host(result)[0], 0);
}

TEST_P(vector_test, the_norm_is_the_root_of_the_dot_product) {
  for_sizes([&]<class T>(std::size_t n) {
    const auto x = random<T>(3, n);
    buffer<T> result(ctx(), 1);
    ops_.norm2(x, result);
    long double sum = 0;
    for (const T v : host(x)) sum += static_cast<long double>(v) * v;
    const long double exact = std::sqrt(sum), gamma = (static_cast<long double>(n) + 2) * 1.01L * unit_f64;
    EXPECT_LE(std::fabs(host(result)[0] - exact), (gamma + unit<T>)*exact);
  });
}

TEST_P(vector_test, sums_are_the_same_bit_for_bit) {
  constexpr std::size_t n = 1000003;
  const auto x = random<double>(1, n), y = random<double>(2, n);
  std::vector<double> found;
  const auto add = [&](const vector_ops& ops) {
    buffer<double> result(ctx(), 1);
    ops.dot(x, y, result);
    found.push_back(host(result)[0]);
  };
  for (int run = 0; run < 5; ++run) add(ops_);
  if (ctx().backend() == backend_kind::cpu) {
    for (const int threads : {1, 2, 3, 7}) add(vector_ops(context::cpu(threads)));
  }
  for (const double d : found) EXPECT_EQ(d, found[0]);
}

/// y = a x + b y within gamma(4), for coefficients that are rounded to T too.
template <class T>
void expect_axpby(const std::vector<T>& computed, double a, const std::vector<T>& x, double b,
                  const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double ax = static_cast<long double>(a) * x[i], by = static_cast<long double>(b) * y[i];
    ASSERT_LE(std::fabs(computed[i] - (ax + by)), 4.01L * unit<T> * (std::fabs(ax) + std::fabs(by))) << "element " << i;
  }
}

TEST_P(vector_test, axpby_with_coefficients_of_the_host_and_of_the_device) {
  for_sizes([&]<class T>(std::size_t n) {
    const auto x = random<T>(1, n);
    const auto before = host(random<T>(2, n));
    auto y = on(before);
    ops_.axpby(-1.25, x, 0.3, y);
    expect_axpby(host(y), -1.25, host(x), 0.3, before);

    const auto scalars = on<T>({T{3}, T{8}});
    const auto exact = on<double>({0.5});
    const scalar_ref three(const_vector_ref{scalars});
    const scalar_ref eight(scalar_type_of<T>, scalars.data() + 1, scalars.space());
    y = on(before);
    ops_.axpby(-coefficient(2, three, eight), x, scalar_ref(const_vector_ref{exact}), y);
    expect_axpby(host(y), -0.75, host(x), 0.5, before);
  });
}

TEST_P(vector_test, a_zero_coefficient_overwrites_y_and_keeps_x) {
  for_types<float, double>([&]<class T>() {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const auto x = on<T>({1, nan, 3});
    auto y = on<T>({nan, nan, nan});
    const auto zero = on<T>({0});
    for (const coefficient& b : {coefficient(0), coefficient(scalar_ref(const_vector_ref{zero}))}) {
      ops_.fill(nan, y);
      ops_.axpby(2, x, b, y);
      EXPECT_EQ(host(y)[0], 2);
      EXPECT_TRUE(std::isnan(host(y)[1]));
      EXPECT_EQ(host(y)[2], 6);
      ops_.axpby(b, x, 0, y);
      EXPECT_TRUE(std::isnan(host(y)[1])) << "a = 0 is no exception";
      ops_.scale(b, y);
      EXPECT_EQ(host(y), std::vector<T>(3, 0));
    }
  });
}

TEST_P(vector_test, scale) {
  for_types<float, double>([&]<class T>() {
    const auto x = host(random<T>(4, 5000));
    auto y = on(x);
    ops_.scale(-0.125, y);
    const auto scaled = host(y);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(scaled[i], T{-0.125} * x[i]);
  });
}

TEST_P(vector_test, fused_dot_products_are_those_of_the_new_y) {
  for_sizes([&]<class T>(std::size_t n) {
    const auto x = random<T>(1, n), other = random<T>(3, n);
    auto y = random<T>(2, n), alone = random<T>(2, n);
    buffer<T> dots(ctx(), 2);
    ops_.axpby(0.7, x, -0.2, alone);
    for (const const_vector_ref& w : {const_vector_ref(other), const_vector_ref(x), const_vector_ref(y)}) {
      ops_.random(2, y);
      ops_.axpby_dots(0.7, x, -0.2, y, w, dots);
      EXPECT_EQ(host(y), host(alone));
      const auto& same = w.data == x.data() ? x : w.data == y.data() ? y : other;
      expect_dot(host(dots)[0], host(same), host(y));
      expect_dot(host(dots)[1], host(y), host(y));
    }
  });
}

TEST_P(vector_test, a_pair_of_updates_is_one_after_the_other) {
  for_sizes([&]<class T>(std::size_t n) {
    const auto p = random<T>(1, n), q = random<T>(2, n);
    auto x = random<T>(3, n), r = random<T>(4, n), x_alone = random<T>(3, n), r_alone = random<T>(4, n);
    buffer<T> dots(ctx(), 2);
    ops_.axpby(0.3, p, 1, x_alone);
    ops_.axpby(-0.3, q, 1, r_alone);
    ops_.axpby_pair_dots({0.3, p, 1, x}, {-0.3, q, 1, r}, p, dots);
    EXPECT_EQ(host(x), host(x_alone));
    EXPECT_EQ(host(r), host(r_alone));
    expect_dot(host(dots)[0], host(p), host(r));
    expect_dot(host(dots)[1], host(r), host(r));
  });
}

TEST_P(vector_test, fill_copy_gather_and_scatter_move_every_type) {
  const auto check = [&]<class T, class O>() {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{10007}}) {
      std::vector<T> numbers(n);
      std::iota(numbers.begin(), numbers.end(), T{1});
      std::vector<O> places(n);
      for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<O>(i * 17 % n);
      const auto x = on(numbers);
      const auto permutation = on(places);
      buffer<T> y(ctx(), n), back(ctx(), n);
      ops_.copy(x, y);
      EXPECT_EQ(host(y), numbers);
      ops_.fill(-3, y);
      EXPECT_EQ(host(y), std::vector<T>(n, T{-3}));
      ops_.gather(permutation, x, y);
      const auto gathered = host(y);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(gathered[i], numbers[static_cast<std::size_t>(places[i])]);
      ops_.scatter(permutation, y, back);
      EXPECT_EQ(host(back), numbers);
    }
  };
  check.operator()<float, std::int32_t>();
  check.operator()<double, std::int64_t>();
  check.operator()<std::int32_t, std::int64_t>();
  check.operator()<double, std::int32_t>();
}

TEST_P(vector_test, a_part_of_a_vector_is_gathered_and_scattered) {
  const auto x = on<double>({10, 11, 12, 13, 14});
  const auto places = on<std::int32_t>({4, 0});
  auto few = on<double>({0, 0});
  auto y = on<double>({1, 2, 3, 4, 5});
  ops_.gather(places, x, few);
  EXPECT_EQ(host(few), (std::vector<double>{14, 10}));
  ops_.scatter(places, few, y);
  EXPECT_EQ(host(y), (std::vector<double>{10, 2, 3, 4, 14}));
}

TEST_P(vector_test, random_numbers_are_the_same_everywhere) {
  for_types<float, double>([&]<class T>() {
    constexpr std::size_t n = 100000;
    const auto x = host(random<T>(42, n));
    std::vector<T> reference(n);
    vector_ops(context::cpu(1)).random(42, reference);
    EXPECT_EQ(x, reference);
    const auto shorter = host(random<T>(42, 10));
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), x.begin()));
    EXPECT_NE(host(random<T>(43, 10)), shorter);
    double mean = 0;
    for (const T v : x) {
      ASSERT_TRUE(v >= -1 && v < 1);
      mean += static_cast<double>(v) / n;
    }
    EXPECT_LT(std::fabs(mean), 0.02);  // by Hoeffding, passed by chance once in 10^8 seeds
  });
}

TEST_P(vector_test, scalars_of_one_element_are_computed_where_they_are) {
  const auto operands = on<double>({6, 4});
  const scalar_ref six(scalar_type::f64, operands.data(), operands.space());
  const scalar_ref four(scalar_type::f64, operands.data() + 1, operands.space());
  buffer<double> quotient(ctx(), 1);
  ops_.fill({-2, six, four}, quotient);
  EXPECT_EQ(host(quotient)[0], -3);
}

}  // namespace
}  // namespace tulle::test
