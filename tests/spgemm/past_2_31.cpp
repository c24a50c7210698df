#include <gtest/gtest.h>

#include <cmath>

#include "kernels/backends.hpp"
#include "ops/owned_csr.hpp"
#include "spgemm/spgemm_case.hpp"
#include "support/spgemm.hpp"
#include "support/typed_matrix.hpp"

namespace tulle::test {
namespace {

constexpr std::int64_t two_31 = std::int64_t{1} << 31;

template <scalar T>
class big_product {
 public:
  big_product(const context& ctx, const battery_matrix& a, const battery_matrix& b)
      : ctx_(ctx), a_(ctx, a), b_(ctx, b), same_(typed<T, std::int32_t>(a)) {}
  /// Another A whose exact product is the same, with fewer entries, to hold C to.
  void same_as(const battery_matrix& a) { same_ = typed<T, std::int32_t>(a); }

  /// Multiplies, with 64-bit offsets, and checks nnz(C), its offsets and the sampled rows. Skips what a vendor's
  /// routine declines and what does not fit the device.
  void run(const spgemm_kernel& kernel, std::int64_t nnz, const std::vector<index_t>& sample) {
    try {
      const spgemm_problem p{matrix_ref(a_.device()), matrix_ref(b_.device())};
      if (const support s = kernel.supports(p, ctx_.info()); !s.ok) GTEST_SKIP() << s.reason;
      EXPECT_GE(count_products(ctx_, p).products, two_31);
      const auto op = kernel.make(ctx_, p);
      ASSERT_EQ(op->symbolic(), nnz);
      const matrix_ref c = detail::new_csr(ctx_, {p.a.rows, p.b.cols}, nnz, type_key_of<T, std::int64_t>);
      const csr_sink sink = detail::sink_of(c);
      fill_bytes(ctx_, sink.values, ctx_.space(), 0xff, static_cast<std::size_t>(nnz) * sizeof(T));  // NaN
      op->fill(p.values(2.5), sink);
      check(c, nnz, sample, 2.5);
      op->numeric(p.values(-1), sink);
      check(c, nnz, sample, -1);
    } catch (const error& e) {
      const bool memory = e.code() == status::device_out_of_memory;
      if (!memory && !(kernel.role == kernel_role::vendor && e.code() == status::unsupported)) throw;
      GTEST_SKIP() << e.what();
    }
  }

  /// By a plan with 32-bit offsets in A and B.
  void run_plan(std::int64_t nnz, const std::vector<index_t>& sample) {
    spgemm_plan<T> plan(ctx_, a_.device(), b_.device());
    const matrix_ref c = plan.multiply(2.5);
    ASSERT_EQ(plan.nnz(), nnz);
    check(c, nnz, sample, 2.5);
    plan.numeric(c, -1);
    check(c, nnz, sample, -1);
  }

 private:
  void check(const matrix_ref& c, std::int64_t nnz, const std::vector<index_t>& sample, double alpha) {
    ASSERT_EQ(c.types.offset, offset_type::i64) << "32-bit offsets";
    offsets_ = read_array<std::int64_t>(ctx_, c.rowptr, c.rows + std::int64_t{1});
    check_offsets(nnz);
    for (const index_t row : sample) check_row(row, alpha, c.colind, static_cast<const T*>(c.values));
  }
  void check_offsets(std::int64_t nnz) const {
    ASSERT_EQ(offsets_.front(), 0);
    ASSERT_EQ(offsets_.back(), nnz);
    for (index_t i = 0; i < same_.rows; ++i) {
      const auto length = offsets_[static_cast<std::size_t>(i) + 1] - offsets_[static_cast<std::size_t>(i)];
      ASSERT_EQ(length == 0, a_.host().rowptr[i] == a_.host().rowptr[i + 1]) << "row " << i;
      ASSERT_GE(length, 0) << "row " << i;
    }
  }
  void check_row(index_t row, double alpha, const index_t* colind, const T* values) const {
    const auto begin = offsets_[static_cast<std::size_t>(row)], end = offsets_[static_cast<std::size_t>(row) + 1];
    const plain_csr<T> c{1,
                         b_.host().cols,
                         {0, end - begin},
                         read_array<index_t>(ctx_, colind + begin, end - begin),
                         read_array<T>(ctx_, values + begin, end - begin)};
    csr_view<T, std::int32_t> a = same_.view();
    a.rows = 1;
    a.rowptr += row;
    SCOPED_TRACE(row);
    expect_product<T, std::int32_t>({.a = a, .b = b_.host(), .alpha = static_cast<T>(alpha)}, c);
  }

  context ctx_;
  typed_matrix<T, std::int32_t> a_, b_;
  plain_csr<T, std::int32_t> same_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

void run_products_past_2_31(const context& ctx, const spgemm_kernel& kernel) {
  constexpr index_t rows = 4096, n = 1024;
  big_product<float>(ctx, full(rows, n), full(n, n)).run(kernel, std::int64_t{rows} * n, {0, 1, 2047, 2048, rows - 1});
}

void run_row_past_2_31(const context& ctx, const spgemm_kernel& kernel) {
  if (kernel.role == kernel_role::study) GTEST_SKIP() << "one thread would take minutes";
  constexpr index_t n = 1024, times = 2'200'000;
  battery_matrix a = matrix_of(3, 4, [](index_t row) { return row == 1 ? columns(times, 2) : columns{row}; });
  battery_matrix b = full(4, n), once = matrix_of(3, 4, [](index_t row) { return columns{row == 1 ? 2 : row}; });
  a.values.assign(a.values.size(), 1);
  once.values = {1, times, 1};
  for (double& v : b.values) v = std::round(v * 0x1p20) * 0x1p-20;  // so that all sums are exact
  big_product<double> product(ctx, a, b);
  product.same_as(once);
  product.run(kernel, std::int64_t{3} * n, {0, 1, 2});
}

namespace {

/// 65 536 rows of 40 000 entries each, from one or two rows of B.
struct many_entries {
  static constexpr index_t rows = 65536, cols = 40000;
  static constexpr std::int64_t nnz = std::int64_t{rows} * cols;
  static constexpr auto boundary = static_cast<index_t>(two_31 / cols);  // the row in which offsets pass 2^31
  battery_matrix a = matrix_of(rows, 2, [](index_t row) { return row % 3 == 0 ? columns{row % 2} : columns{0, 1}; });
  battery_matrix b = full(2, cols);
  std::vector<index_t> sample = {0, 1, 2, boundary - 1, boundary, boundary + 1, rows - 2, rows - 1};
};

}  // namespace

void run_nnz_past_2_31(const context& ctx, const spgemm_kernel& kernel) {
  const many_entries m;
  big_product<float>(ctx, m.a, m.b).run(kernel, many_entries::nnz, m.sample);
}

void run_plan_past_2_31(const context& ctx) {
  const many_entries m;
  big_product<float>(ctx, m.a, m.b).run_plan(many_entries::nnz, m.sample);
}

}  // namespace tulle::test
