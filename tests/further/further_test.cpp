// c64, c128, i64 and bool on every backend that is built: y = A x, C = A B, and matrices made of matrices, held to the
// bounds of ops/verify.hpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <tulle/tulle.hpp>
#include <vector>

#include "kernels/backends.hpp"
#include "support/battery.hpp"

namespace tulle::test {
namespace {

template <scalar T>
T number(std::mt19937_64& random) {
  std::uniform_real_distribution<double> of(-1, 1);
  if constexpr (complex_scalar<T>) {
    const double re = of(random), im = of(random);
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
  } else if constexpr (std::same_as<T, bool>) {
    return of(random) > 0;
  } else {
    return static_cast<T>(random());
  }
}

/// std::vector<bool> has no array.
template <scalar T>
struct numbers {
  std::unique_ptr<T[]> data;
  std::size_t size;

  numbers(std::size_t n, std::uint64_t seed) : data(new T[n]), size(n) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < n; ++i) data[i] = number<T>(random);
  }
  [[nodiscard]] host_span<const T> span() const { return {data.get(), size}; }
};

template <scalar T>
buffer<T> on(const context& ctx, host_span<const T> from) {
  buffer<T> to(ctx, from.size());
  copy_bytes(ctx, to.data(), ctx.space(), from.data(), memory_space::host, to.bytes());
  return to;
}

/// A pattern of the battery with values of T, on the host and where the context works.
template <scalar T>
struct matrix {
  numbers<T> values;
  csr<T> host, here;

  matrix(const context& ctx, const battery_matrix& m, std::uint64_t seed = 7) : values(m.values.size(), seed) {
    const context cpu = context::cpu(1);
    const std::vector<std::int64_t> rowptr(m.rowptr.begin(), m.rowptr.end());
    const auto made = [&](const context& where) {
      return csr<T>{m.rows, m.cols, to_buffer(where, rowptr), to_buffer(where, m.colind), on<T>(where, values.span())};
    };
    host = made(cpu);
    here = made(ctx);
  }
};

template <scalar T>
class further : public testing::Test {
 public:
  template <class F>
  void everywhere(const F& f) {
    f(context::cpu(3));
    if (cuda_device_count() > 0) f(context::cuda());
  }
};
using types = testing::Types<std::complex<float>, std::complex<double>, std::int64_t, bool>;
TYPED_TEST_SUITE(further, types);

template <scalar T>
std::vector<std::pair<double, double>> factors() {
  if (std::same_as<T, bool>) return {{1, 0}, {1, 1}, {0, 1}};
  return {{1, 0}, {3, -1}, {0, 1}};
}

template <scalar T>
T as(double factor) {
  return static_cast<T>(factor);
}

/// alpha A x + beta y0, by one kernel or, where it is empty, as a plan chooses.
template <scalar T>
double error_of(const context& ctx, const matrix<T>& a, const std::string& kernel, double alpha, double beta) {
  const numbers<T> x(static_cast<std::size_t>(a.host.cols), 1), y0(static_cast<std::size_t>(a.host.rows), 2);
  any_spmv_plan plan(ctx, matrix_ref(a.here), {.kernel = kernel});
  const buffer<T> from = on<T>(ctx, x.span());
  buffer<T> y = on<T>(ctx, y0.span());
  plan.apply(alpha, from, beta, y);
  buffer<T> back = clone(context::cpu(1), y);
  const auto reference = reference_spmv(context::cpu(1), as<T>(alpha), a.host.view(), x.span(), as<T>(beta),
                                        beta == 0 ? host_span<const T>() : y0.span());
  return error_ratio(reference, host_span<const T>(back.data(), back.size()));
}

TYPED_TEST(further, every_kernel_that_has_them_keeps_the_bound) {
  this->everywhere([](const context& ctx) {
    int kernels = 0;
    for (const spmv_kernel& k : spmv_kernels(ctx.backend())) {
      if (!contains(k.types, {{scalar_type_of<TypeParam>, offset_type::i64}})) continue;
      ++kernels;
      for (const battery_matrix& m : battery()) {
        if (!m.x_special.empty()) continue;
        const matrix<TypeParam> a(ctx, m);
        for (const auto& [alpha, beta] : factors<TypeParam>()) {
          EXPECT_LE(error_of(ctx, a, std::string(k.name), alpha, beta), 1) << k.name << " " << m.name << " " << alpha;
        }
      }
    }
    EXPECT_GE(kernels, 1);
  });
}

TYPED_TEST(further, plans_choose_a_kernel_that_has_the_type) {
  this->everywhere([](const context& ctx) {
    for (const char* name : {"rmat", "stencil27", "lengths_mixed", "1x1"}) {
      const matrix<TypeParam> a(ctx, battery_matrix_named(name));
      for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard, spmv_effort::max}) {
        EXPECT_NO_THROW(any_spmv_plan(ctx, matrix_ref(a.here), {.effort = effort})) << name;
      }
      EXPECT_LE(error_of(ctx, a, "", 1, 0), 1) << name;
    }
  });
}

TYPED_TEST(further, a_wrong_element_is_seen) {
  using T = TypeParam;
  const matrix<T> a(context::cpu(1), battery_matrix_named("lengths_mixed"));
  const numbers<T> x(static_cast<std::size_t>(a.host.cols), 1);
  const auto reference = reference_spmv(context::cpu(1), T{1}, a.host.view(), x.span(), T{0}, {});
  buffer<T> y(context::cpu(1), static_cast<std::size_t>(a.host.rows));
  any_spmv_plan(context::cpu(1), matrix_ref(a.host)).apply(1, on<T>(context::cpu(1), x.span()), 0, y);
  EXPECT_LE(error_ratio(reference, host_span<const T>(y.data(), y.size())), 1);
  T& changed = y.data()[y.size() / 2];
  if constexpr (std::same_as<T, bool>)
    changed = !changed;
  else if constexpr (complex_scalar<T>)
    changed += T(0, static_cast<typename T::value_type>(1));
  else
    ++changed;
  EXPECT_GT(error_ratio(reference, host_span<const T>(y.data(), y.size())), 1);
}

TYPED_TEST(further, several_right_hand_sides_are_as_one_each) {
  using T = TypeParam;
  this->everywhere([](const context& ctx) {
    const matrix<T> a(ctx, battery_matrix_named("lengths_mixed"));
    constexpr index_t count = 11;
    const index_t rows = a.host.rows, cols = a.host.cols;
    const numbers<T> all(static_cast<std::size_t>(cols) * count, 3);
    any_spmv_plan plan(ctx, matrix_ref(a.here));
    const buffer<T> from = on<T>(ctx, all.span());
    for (const vector_order order : {vector_order::row_major, vector_order::column_major}) {
      const bool by_row = order == vector_order::row_major;
      buffer<T> y(ctx, static_cast<std::size_t>(rows) * count);
      plan.apply_many(1, {scalar_type_of<T>, cols, count, by_row ? count : cols, order, from.data(), ctx.space()}, 0,
                      {scalar_type_of<T>, rows, count, by_row ? count : rows, order, y.data(), ctx.space()});
      const buffer<T> back = clone(context::cpu(1), y);
      for (index_t j = 0; j < count; ++j) {
        numbers<T> x(static_cast<std::size_t>(cols), 0), got(static_cast<std::size_t>(rows), 0);
        for (index_t i = 0; i < cols; ++i) x.data[i] = all.data[by_row ? i * count + j : i + j * cols];
        for (index_t i = 0; i < rows; ++i) got.data[i] = back.data()[by_row ? i * count + j : i + j * rows];
        const auto reference = reference_spmv(context::cpu(1), T{1}, a.host.view(), x.span(), T{0}, {});
        EXPECT_LE(error_ratio(reference, got.span()), 1) << j << name(order);
      }
    }
  });
}

template <scalar T>
csr<T> host_csr(const matrix_ref& m) {
  const context cpu = context::cpu(1);
  const matrix_ref here = clone(cpu, m);
  std::vector<std::int64_t> rowptr;
  for (index_t r = 0; r <= m.rows; ++r) {
    rowptr.push_back(m.types.offset == offset_type::i64 ? static_cast<const std::int64_t*>(here.rowptr)[r]
                                                        : static_cast<const std::int32_t*>(here.rowptr)[r]);
  }
  const auto nnz = static_cast<std::size_t>(m.nnz);
  return {m.rows, m.cols, to_buffer(cpu, rowptr), to_buffer(cpu, std::vector<index_t>(here.colind, here.colind + nnz)),
          on<T>(cpu, {static_cast<const T*>(here.values), nnz})};
}

TYPED_TEST(further, products_keep_the_bound) {
  using T = TypeParam;
  this->everywhere([](const context& ctx) {
    for (const char* name : {"rmat", "lengths_mixed", "stencil27", "short_rows", "1x1"}) {
      const battery_matrix& m = battery_matrix_named(name);
      if (m.rows != m.cols) continue;
      const matrix<T> a(ctx, m);
      const matrix_ref c = spgemm(ctx, a.here, a.here);
      const csr<T> sorted = host_csr<T>(sum_duplicates(ctx, a.here));
      const auto verdict =
          check_spgemm(context::cpu(1), spgemm_expectation<T>{sorted.view(), sorted.view()}, host_csr<T>(c).view());
      EXPECT_TRUE(verdict.ok()) << name << " " << verdict.error_ratio << verdict.wrong;
      EXPECT_EQ(verdict.checked_rows, m.rows);
    }
  });
}

TYPED_TEST(further, transposes_twice_give_the_matrix_back) {
  using T = TypeParam;
  this->everywhere([](const context& ctx) {
    const matrix<T> a(ctx, battery_matrix_named("short_rows"));
    const csr<T> sorted = host_csr<T>(sort(ctx, a.here));
    const csr<T> twice = host_csr<T>(transpose(ctx, transpose(ctx, a.here).matrix).matrix);
    ASSERT_EQ(sorted.nnz(), twice.nnz());
    EXPECT_EQ(std::memcmp(sorted.values.data(), twice.values.data(), sorted.values.bytes()), 0);
    EXPECT_EQ(std::memcmp(sorted.colind.data(), twice.colind.data(), sorted.colind.bytes()), 0);
  });
}

/// -2 to 2; complex ones with another imaginary part.
template <scalar T>
T small_number(std::int64_t k) {
  const std::int64_t n = k * 7 % 5 - 2;
  if constexpr (complex_scalar<T>) {
    using part = typename T::value_type;
    return {static_cast<part>(n), static_cast<part>(k % 3)};
  } else {
    return static_cast<T>(n);
  }
}

TYPED_TEST(further, sums_scaled_rows_and_diagonals_are_exact) {
  using T = TypeParam;
  constexpr index_t n = 70;
  const bool any = std::same_as<T, bool>;
  const double alpha = any ? 1 : 3, beta = any ? 1 : -2;
  this->everywhere([&](const context& ctx) {
    // A has the columns of a row below it, B every third; both have some diagonal entries, A some of them twice.
    std::vector<T> dense(n * n), diagonal_of_a(n), by_row(n * n);
    numbers<T> factors(n, 0);
    for (index_t i = 0; i < n; ++i) factors.data[i] = small_number<T>(i + 1);
    const auto make = [&](bool first) {
      std::vector<std::int64_t> rowptr{0};
      std::vector<index_t> colind;
      for (index_t r = 0; r < n; ++r) {
        for (index_t c = 0; c < n; ++c) {
          if (first ? c <= r && r % 4 != 1 : (r + c) % 3 == 0) colind.push_back(c);
          if (first && c == r && r % 4 == 2) colind.push_back(c);
        }
        rowptr.push_back(static_cast<std::int64_t>(colind.size()));
      }
      numbers<T> values(colind.size(), 0);
      for (std::size_t k = 0; k < colind.size(); ++k) values.data[k] = small_number<T>(static_cast<std::int64_t>(k));
      for (index_t r = 0; r < n; ++r) {
        for (auto k = rowptr[r]; k < rowptr[r + 1]; ++k) {
          const auto at = static_cast<std::size_t>(r * n + colind[k]);
          const T v = values.data[k];
          if constexpr (std::same_as<T, bool>) {
            dense[at] = dense[at] || v;
            if (first) by_row[at] = by_row[at] || (v && factors.data[r]);
            if (first && colind[k] == r) diagonal_of_a[r] = diagonal_of_a[r] || v;
          } else {
            dense[at] += static_cast<T>(first ? alpha : beta) * v;
            if (first) by_row[at] += v * factors.data[r];
            if (first && colind[k] == r) diagonal_of_a[r] += v;
          }
        }
      }
      return csr<T>{n, n, to_buffer(ctx, rowptr), to_buffer(ctx, colind), on<T>(ctx, values.span())};
    };
    const csr<T> a = make(true), b = make(false);
    const auto expect_equal = [&](const matrix_ref& got, const std::vector<T>& expected) {
      const csr<T> m = host_csr<T>(sum_duplicates(ctx, got));
      std::vector<T> full(n * n);
      for (index_t r = 0; r < n; ++r) {
        for (auto k = m.rowptr.data()[r]; k < m.rowptr.data()[r + 1]; ++k)
          full[static_cast<std::size_t>(r * n + m.colind.data()[k])] = m.values.data()[k];
      }
      EXPECT_TRUE(full == expected);
    };
    expect_equal(add(ctx, alpha, a, beta, b), dense);
    expect_equal(scale_rows(ctx, a, on<T>(ctx, factors.span())), by_row);
    const csr<T> turned =
        host_csr<T>(transpose(ctx, scale_columns(ctx, transpose(ctx, a).matrix, on<T>(ctx, factors.span()))).matrix);
    expect_equal(clone(ctx, matrix_ref(turned)), by_row);
    buffer<T> out(ctx, n);
    diagonal(ctx, a, out);
    const buffer<T> back = clone(context::cpu(1), out);
    EXPECT_TRUE(std::equal(diagonal_of_a.begin(), diagonal_of_a.end(), back.data()));
  });
}

TYPED_TEST(further, coo_and_csc_become_csr) {
  using T = TypeParam;
  this->everywhere([](const context& ctx) {
    const index_t rows[] = {2, 0, 1, 0}, cols[] = {0, 1, 2, 0};
    const numbers<T> v(4, 5);
    const buffer<index_t> r = to_buffer(ctx, rows), c = to_buffer(ctx, cols);
    const buffer<T> values = on<T>(ctx, v.span());
    const coo_view<T> a{3, 3, 4, r.data(), c.data(), values.data(), ctx.space()};
    const csr<T> made = host_csr<T>(to_csr(ctx, matrix_ref(a)));
    const std::size_t order[] = {1, 3, 2, 0};  // rows in order, entries of a row as they came
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(made.values.data()[k], v.data[order[k]]) << k;
    const csr<T> sorted = host_csr<T>(sort(ctx, to_csr(ctx, matrix_ref(a))));
    EXPECT_EQ(sorted.values.data()[0], v.data[3]);
    const csr<T> back = host_csr<T>(to_csr(ctx, transposed(transpose(ctx, matrix_ref(a)).matrix)));
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(back.values.data()[k], sorted.values.data()[k]) << k;
  });
}

TYPED_TEST(further, transposed_without_a_copy) {
  using T = TypeParam;
  for (const int threads : {1, 3}) {
    const context ctx = context::cpu(threads);
    for (const char* name : {"rmat", "lengths_mixed", "short_rows", "1x1"}) {
      const matrix<T> a(ctx, battery_matrix_named(name));
      const csr<T> transpose_of_a = host_csr<T>(transpose(ctx, conjugate(ctx, a.here)).matrix);
      const index_t rows = a.host.rows, cols = a.host.cols;
      constexpr index_t count = 5;
      const numbers<T> all(static_cast<std::size_t>(rows) * count, 3), y0(static_cast<std::size_t>(cols) * count, 4);
      for (const index_t told : {0, 5}) {
        any_spmv_plan plan(ctx, matrix_ref(a.here),
                           {.effort = spmv_effort::none, .transpose = true, .conjugate = true, .columns = told});
        EXPECT_EQ(plan.kernel(), "csr.transposed");
        buffer<T> x = on<T>(ctx, all.span()), y = on<T>(ctx, y0.span());
        plan.apply_many(1, {scalar_type_of<T>, rows, count, count, vector_order::row_major, x.data(), ctx.space()}, 1,
                        {scalar_type_of<T>, cols, count, count, vector_order::row_major, y.data(), ctx.space()});
        for (index_t j = 0; j < count; ++j) {
          numbers<T> one(static_cast<std::size_t>(rows), 0), before(static_cast<std::size_t>(cols), 0),
              got(static_cast<std::size_t>(cols), 0);
          for (index_t i = 0; i < rows; ++i) one.data[i] = all.data[i * count + j];
          for (index_t i = 0; i < cols; ++i)
            before.data[i] = y0.data[i * count + j], got.data[i] = y.data()[i * count + j];
          const auto reference = reference_spmv(ctx, T{1}, transpose_of_a.view(), one.span(), T{1}, before.span());
          EXPECT_LE(error_ratio(reference, got.span()), 1) << name << " " << told << " " << j;
          buffer<T> single = on<T>(ctx, before.span());
          plan.apply(1, on<T>(ctx, one.span()), 1, single);
          EXPECT_LE(error_ratio(reference, host_span<const T>(single.data(), single.size())), 1) << name << " " << j;
        }
      }
    }
  }
}

TEST(further_complex, conjugate_options_multiply_by_the_conjugate_transpose) {
  using T = std::complex<double>;
  const context ctx = context::cpu(2);
  const matrix<T> a(ctx, battery_matrix_named("short_rows"));
  const numbers<T> x(static_cast<std::size_t>(a.host.rows), 9);
  const buffer<T> from = on<T>(ctx, x.span());
  buffer<T> y(ctx, static_cast<std::size_t>(a.host.cols));
  any_spmv_plan(ctx, matrix_ref(a.here), {.transpose = true, .conjugate = true}).apply(1, from, 0, y);
  const csr<T> hermitian = host_csr<T>(transpose(ctx, conjugate(ctx, a.here)).matrix);
  const auto reference = reference_spmv(ctx, T{1}, hermitian.view(), x.span(), T{0}, {});
  EXPECT_LE(error_ratio(reference, host_span<const T>(y.data(), y.size())), 1);
}

TEST(further_complex, sums_and_zeros) {
  using T = std::complex<double>;
  const context ctx = context::cpu(1);
  const std::int64_t rowptr[] = {0, 2, 3};
  const index_t colind[] = {0, 0, 1};
  const T values[] = {{1, 2}, {3, -2}, {0, 0}};
  const csr_view<T, std::int64_t> a{2, 2, 3, rowptr, colind, values};
  const csr<T> summed = host_csr<T>(sum_duplicates(ctx, matrix_ref(a)));
  ASSERT_EQ(summed.nnz(), 2);
  EXPECT_EQ(summed.values.data()[0], T(4, 0));
  EXPECT_EQ(host_csr<T>(eliminate_zeros(ctx, matrix_ref(a))).nnz(), 2);
  const csr<T> sum = host_csr<T>(add(ctx, 2, matrix_ref(a), -1, identity(ctx, 2, scalar_type::c128)));
  EXPECT_EQ(sum.values.data()[0], T(7, 0));
  EXPECT_EQ(sum.values.data()[1], T(-1, 0));
}

TEST(further_refusals, name_the_type) {
  const context ctx = context::cpu(1);
  const matrix_ref a = identity(ctx, 3, scalar_type::c128);
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message([&] { any_spmv_plan(ctx, a, {.kernel = "packed"}); }).find("c128"), std::string::npos);
  EXPECT_NE(message([&] { spgemm_masked(ctx, a, a, a); }).find("c128"), std::string::npos);
  EXPECT_NE(message([&] {
              any_spmv_plan(ctx, identity(ctx, 3, scalar_type::boolean))
                  .apply(2, buffer<bool>(ctx, 3), 0, *std::make_unique<buffer<bool>>(ctx, 3));
            }).find("bool"),
            std::string::npos);
}

}  // namespace
}  // namespace tulle::test
