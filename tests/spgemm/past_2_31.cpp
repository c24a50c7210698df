#include "spgemm/past_2_31.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <tulle/core/buffer.hpp>
#include <tulle/ops/spgemm.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "conformance/typed_matrix.hpp"
#include "core/backends.hpp"
#include "spgemm/operands.hpp"
#include "spgemm/reference.hpp"

namespace tulle::test {
namespace {

constexpr std::int64_t two_31 = std::int64_t{1} << 31;

template <scalar T>
class big_product {
 public:
  big_product(const context& ctx, const battery_matrix& a, const battery_matrix& b)
      : ctx_(ctx), a_(ctx, a), b_(ctx, b), rows_(a.rows) {}
  /// What row `row` must be, where multiplying it out on the host takes too long.
  void know(index_t row, product_reference reference) { known_[row] = std::move(reference); }

  /// Multiplies, with 64-bit offsets, and checks nnz(C), its offsets and the sampled rows. Skips what a vendor's
  /// routine declines and what does not fit the device.
  void run(const spgemm_kernel& kernel, std::int64_t nnz, const std::vector<index_t>& sample) {
    try {
      const spgemm_problem p{csr_ref::of(a_.device()), csr_ref::of(b_.device())};
      if (const support s = kernel.supports(p, ctx_.info()); !s.ok) GTEST_SKIP() << s.reason;
      EXPECT_GE(count_products(ctx_, p).products, two_31);
      const auto op = kernel.make(ctx_, p);
      ASSERT_EQ(op->symbolic(), nnz);
      multiply(*op, nnz);
      check_offsets(nnz);
      for (const index_t row : sample) check_row(row, 2.5);
      op->numeric(-1, a_.device().values, b_.device().values, sink());
      for (const index_t row : sample) check_row(row, -1);
    } catch (const error& e) {
      const bool memory = e.code() == status::device_out_of_memory;
      if (!memory && !(kernel.role == kernel_role::vendor && e.code() == status::unsupported)) throw;
      GTEST_SKIP() << e.what();
    }
  }

  /// By a plan with 32-bit offsets in A and B.
  void run_plan(std::int64_t nnz, const std::vector<index_t>& sample) {
    spgemm_plan<T> plan(ctx_, a_.device(), b_.device());
    any_csr<T> c = plan.multiply(2.5);
    ASSERT_EQ(plan.nnz(), nnz);
    check_plan(c, nnz, sample, 2.5);
    plan.numeric(c, -1);
    check_plan(c, nnz, sample, -1);
  }

 private:
  void check_plan(any_csr<T>& c, std::int64_t nnz, const std::vector<index_t>& sample, double alpha) {
    auto* const wide = std::get_if<csr<T, std::int64_t>>(&c);
    ASSERT_NE(wide, nullptr) << "32-bit offsets";
    const auto hand_over = [&] {
      std::swap(rowptr_, wide->rowptr);
      std::swap(colind_, wide->colind);
      std::swap(values_, wide->values);
    };
    hand_over();
    offsets_ = to_vector(ctx_, rowptr_);
    check_offsets(nnz);
    for (const index_t row : sample) check_row(row, alpha);
    hand_over();
  }
  csr_sink sink() { return {offset_type::i64, 0, rowptr_.data(), colind_.data(), values_.data()}; }

  void multiply(spgemm_operator& op, std::int64_t nnz) {
    rowptr_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(rows_) + 1);
    colind_ = buffer<index_t>(ctx_, static_cast<std::size_t>(nnz));
    values_ = buffer<T>(ctx_, static_cast<std::size_t>(nnz));
    fill_bytes(ctx_, values_.data(), ctx_.space(), 0xff, values_.bytes());  // NaN
    op.fill(2.5, sink());
    offsets_ = to_vector(ctx_, rowptr_);
  }
  void check_offsets(std::int64_t nnz) const {
    ASSERT_EQ(offsets_.front(), 0);
    ASSERT_EQ(offsets_.back(), nnz);
    for (index_t i = 0; i < rows_; ++i) {
      const auto length = offsets_[static_cast<std::size_t>(i) + 1] - offsets_[static_cast<std::size_t>(i)];
      ASSERT_EQ(length == 0, a_.host().rowptr[i] == a_.host().rowptr[i + 1]) << "row " << i;
      ASSERT_GE(length, 0) << "row " << i;
    }
  }
  template <class V>
  std::vector<V> part(const buffer<V>& all, std::int64_t begin, std::int64_t end) const {
    std::vector<V> out(static_cast<std::size_t>(end - begin));
    copy_bytes(ctx_, out.data(), memory_space::host, all.data() + begin, ctx_.space(), out.size() * sizeof(V));
    return out;
  }
  void check_row(index_t row, double alpha) const {
    const auto known = known_.find(row);
    const product_reference expected =
        known != known_.end() ? known->second : reference_product(a_.host(), b_.host(), row, row + 1);
    const auto begin = offsets_[static_cast<std::size_t>(row)], end = offsets_[static_cast<std::size_t>(row) + 1];
    ASSERT_EQ(end - begin, expected.nnz()) << "row " << row;
    EXPECT_EQ(part(colind_, begin, end), expected.colind) << "row " << row;
    const std::vector<T> values = part(values_, begin, end);
    EXPECT_LE(error_ratio(expected.scaled<T>(alpha), host_span<const T>(values)), 1) << "row " << row;
  }

  context ctx_;
  typed_matrix<T, std::int32_t> a_, b_;
  index_t rows_;
  std::map<index_t, product_reference> known_;
  buffer<std::int64_t> rowptr_;
  buffer<index_t> colind_;
  buffer<T> values_;
  std::vector<std::int64_t> offsets_;
};

battery_matrix full(index_t rows, index_t cols) {
  return matrix_of(rows, cols, [=](index_t) { return range(0, cols); });
}

/// Row `row` of A B where A's row names row `named` of B alone: the sum of A's values times that row.
product_reference repeated_row(const battery_matrix& a, const battery_matrix& b, index_t row, index_t named) {
  entry_sum of_a;
  for (auto k = a.rowptr[static_cast<std::size_t>(row)]; k < a.rowptr[static_cast<std::size_t>(row) + 1]; ++k) {
    of_a.add(a.values[static_cast<std::size_t>(k)], 1);
  }
  product_reference out{{0}, {}, {}};
  for (auto k = b.rowptr[static_cast<std::size_t>(named)]; k < b.rowptr[static_cast<std::size_t>(named) + 1]; ++k) {
    const double value = b.values[static_cast<std::size_t>(k)];
    out.colind.push_back(b.colind[static_cast<std::size_t>(k)]);
    out.entries.push_back({value * of_a.sum, value * of_a.plain, std::abs(value) * of_a.magnitude, of_a.terms, true});
  }
  out.rowptr.push_back(static_cast<std::int64_t>(out.colind.size()));
  return out;
}

}  // namespace

void run_products_past_2_31(const context& ctx, const spgemm_kernel& kernel) {
  constexpr index_t rows = 4096, n = 1024;
  big_product<float>(ctx, full(rows, n), full(n, n)).run(kernel, std::int64_t{rows} * n, {0, 1, 2047, 2048, rows - 1});
}

void run_row_past_2_31(const context& ctx, const spgemm_kernel& kernel) {
  if (kernel.role == kernel_role::study) GTEST_SKIP() << "one thread would take minutes";
  constexpr index_t n = 1024, times = 2'200'000;
  const battery_matrix a = matrix_of(3, 4, [](index_t row) { return row == 1 ? columns(times, 2) : columns{row}; });
  const battery_matrix b = full(4, n);
  big_product<double> product(ctx, a, b);
  product.know(1, repeated_row(a, b, 1, 2));
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
