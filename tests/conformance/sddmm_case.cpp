#include "conformance/sddmm_case.hpp"

#include <fmt/format.h>

#include "conformance/checks.hpp"
#include "conformance/layout.hpp"
#include "plan/find_kernel.hpp"

namespace tulle::test {
namespace {

using enum vector_order;

struct factors {
  double alpha, beta;
};

/// U and V, feature by feature, and what the dot products of their rows must be at the entries of a pattern.
template <scalar T, offset O>
struct problem {
  std::vector<std::vector<T>> u, v;
  std::vector<long double> dot, size;  // of each entry: u_i . v_j and |u_i| . |v_j|

  problem(const csr_view<T, O>& a, index_t k) : dot(static_cast<std::size_t>(a.nnz)), size(dot.size()) {
    for (index_t f = 0; f < k; ++f) {
      u.push_back(random_vector<T>(a.rows, 7 + 2 * static_cast<std::uint64_t>(f)));
      v.push_back(random_vector<T>(a.cols, 8 + 2 * static_cast<std::uint64_t>(f)));
    }
    for (index_t i = 0; i < a.rows; ++i) {
      for (O e = a.rowptr[i]; e < a.rowptr[i + 1]; ++e) add(static_cast<std::size_t>(e), i, a.colind[e]);
    }
  }

  void add(std::size_t e, index_t i, index_t j) {
    for (std::size_t f = 0; f < u.size(); ++f) {
      const long double term =
          static_cast<long double>(u[f][static_cast<std::size_t>(i)]) * v[f][static_cast<std::size_t>(j)];
      dot[e] += term;
      size[e] += std::fabs(term);
    }
  }

  /// Held to gamma(k + 4), and to what the smallest numbers lose in four roundings.
  [[nodiscard]] spmv_reference expected(const factors& by, const T* values, const std::vector<T>& c0) const {
    const long double unit = std::numeric_limits<T>::epsilon() / 2, n = static_cast<long double>(u.size() + 4) * unit;
    const long double gamma = n / (1 - n), least = 4 * std::numeric_limits<T>::denorm_min();
    spmv_reference out{std::vector<double>(dot.size()), std::vector<double>(dot.size()),
                       std::vector<double>(dot.size())};
    for (std::size_t e = 0; e < dot.size(); ++e) {
      const long double p =
          static_cast<long double>(by.alpha) * (values == nullptr ? 1 : static_cast<long double>(values[e]));
      const long double added = by.beta == 0 ? 0 : static_cast<long double>(by.beta) * c0[e];
      const long double whole = p * dot[e] + added;
      out.value[e] = static_cast<double>(whole);
      out.value_low[e] = std::isfinite(out.value[e]) ? static_cast<double>(whole - out.value[e]) : 0;
      out.bound[e] = static_cast<double>(gamma * (std::fabs(p) * size[e] + std::fabs(added)) + least);
    }
    return out;
  }
};

/// Where U and V lie.
struct places {
  layout u, v;
};

template <scalar T, offset O>
class checker {
 public:
  checker(const context& ctx, const sddmm_case& c, const typed_matrix<T, O>& a) : ctx_(ctx), c_(c), a_(a) {}

  void check(sddmm_operator& op, bool times_values, const problem<T, O>& p, const places& at, const factors& by) const {
    SCOPED_TRACE(fmt::format("{} features, U by {} (ld {}), V by {}, {}alpha={} beta={}", at.u.count, name(at.u.order),
                             at.u.ld(), name(at.v.order), times_values ? "times values, " : "", by.alpha, by.beta));
    const bool vendor = c_.kernel->role == kernel_role::vendor;
    guarded_vector<T> u(ctx_, stored(at.u, p.u), c_.matrix->misaligned), v(ctx_, stored(at.v, p.v), false);
    const std::vector<T> c0 = initial_y<T>(static_cast<index_t>(p.dot.size()), by.beta);
    const std::vector<T> c = written_twice(ctx_, c0, c_.matrix->misaligned, !vendor, [&](T* to) {
      op.apply(by.alpha, at.u.ref(u.data()), at.v.ref(v.data()), by.beta, to, ctx_.stream());
    });
    EXPECT_TRUE(u.unchanged() && v.unchanged()) << "wrote to U or V or around them";
    const spmv_reference expected = p.expected(by, times_values ? a_.host().values : nullptr, c0);
    const double ratio = error_ratio(expected, host_span<const T>(c));
    if (vendor && !(ratio <= 1)) GTEST_SKIP() << "the vendor's answer is " << ratio << " times its bound";
    EXPECT_LE(ratio, 1) << worst_of(expected, c);
  }

 private:
  const context& ctx_;
  const sddmm_case& c_;
  const typed_matrix<T, O>& a_;
};

template <scalar T, offset O>
void run(const context& ctx, const sddmm_case& c) {
  const battery_matrix& m = *c.matrix;
  const bool vendor = c.kernel->role == kernel_role::vendor;
  if (vendor && (m.misaligned || m.values.empty() || m.rows == 0))
    GTEST_SKIP() << "the vendor's routines are not asked for this";
  typed_matrix<T, O> a(ctx, m);
  const checker<T, O> checks(ctx, c, a);
  const auto operator_of = [&](const sddmm_options& options) {
    return c.kernel->make(ctx, matrix_ref(a.device()), options);
  };
  if (const support s = c.kernel->supports(matrix_ref(a.device()), {}); !s.ok) GTEST_SKIP() << s.reason;
  const auto plain = operator_of({}), in_panels = operator_of({.column_major = true});
  const auto layouts = [&](index_t k, vector_order u, vector_order v, index_t gap) {
    return places{{m.rows, k, u, gap}, {m.cols, k, v, gap == 0 ? 0 : gap + 1}};
  };
  const std::size_t size = m.values.size() + static_cast<std::size_t>(m.rows) + static_cast<std::size_t>(m.cols);
  std::vector<index_t> feature_counts{0, 1, 3, 4, 8, 16, 17, 32, 33, 100};
  if (size > 5'000) feature_counts = {8, 33};
  if (size > 100'000) feature_counts = {4};
  for (const index_t k : feature_counts) {
    if (vendor && k == 0) continue;
    const problem<T, O> p(a.host(), k);
    checks.check(*plain, false, p, layouts(k, row_major, row_major, 0), {1, 0});
    checks.check(*plain, false, p, layouts(k, row_major, row_major, 3), {3, -1});
    for (const vector_order order : {row_major, column_major}) {
      checks.check(*in_panels, false, p, layouts(k, column_major, order, 0), {-1, 2.5});
      if (k <= 33) checks.check(*plain, false, p, layouts(k, order, column_major, 3), {1, 0});
    }
    checks.check(*in_panels, false, p, layouts(k, row_major, column_major, 3), {2.5, 0});
  }
  const sddmm_options with_values{.times_values = true};
  if (!c.kernel->supports(matrix_ref(a.device()), with_values).ok) return;
  const auto scaled = operator_of(with_values),
             scaled_panels = operator_of({.times_values = true, .column_major = true});
  for (const index_t k : size > 5'000 ? std::vector<index_t>{3} : std::vector<index_t>{3, 33}) {
    const problem<T, O> p(a.host(), k);
    checks.check(*scaled, true, p, layouts(k, row_major, row_major, 0), {1, 0});
    checks.check(*scaled_panels, true, p, layouts(k, column_major, column_major, 3), {3, -1});
  }
  a.replace_values(random_numbers(m.values.size(), 1234));
  scaled->update_values(matrix_ref(a.device()));
  SCOPED_TRACE("after update_values");
  checks.check(*scaled, true, problem<T, O>(a.host(), 4), layouts(4, row_major, row_major, 0), {2, 1});
}

}  // namespace

std::string sddmm_case::name() const {
  return fmt::format("{}/{}/{}/{}", tulle::name(kernel->backend), kernel->name, types_label(types), matrix->name);
}

void run_sddmm_case(const context& ctx, const sddmm_case& c) {
  dispatch<type_set::floating>(c.types, [&]<class T, class O>() { run<T, O>(ctx, c); });
}

}  // namespace tulle::test
