// Values as two words: the bits of before by both, and the bound with what the high ones alone lose.
#include "conformance/checks.hpp"
#include "conformance/spmv_case.hpp"

namespace tulle::test {
namespace {

template <offset O>
void expect_words(const context& ctx, const spmv_case& c, const typed_matrix<double, O>& a, spmv_operator& op,
                  spmv_operator& whole) {
  const battery_matrix& m = *c.matrix;
  const std::vector<double> x = random_vector<double>(m.cols, 42, m.x_special);
  guarded_vector<double> device_x(ctx, x, m.misaligned);
  ASSERT_NE(op.high_words(), nullptr);
  for (const double beta : {0.0, -1.0}) {
    const std::vector<double> y0 = initial_y<double>(m.rows, beta);
    const auto product = [&](spmv_operator& by) {
      return written_twice(ctx, y0, m.misaligned, true,
                           [&](double* to) { by.apply(2.5, device_x.data(), beta, to, ctx.stream()); });
    };
    EXPECT_TRUE(same_numbers(product(op), product(whole))) << "two words are not what the values are";
    spmv_reference reference = reference_of(2.5, a.host(), x, beta, y0);
    add_promise(reference, 2.5, a.host(), host_span<const double>(x), {0x1p-21, error_bound::componentwise});
    EXPECT_LE(error_ratio(reference, host_span<const double>(product(*op.high_words()))), 1);
  }
}

}  // namespace

void run_high_words_case(const context& ctx, const spmv_case& c) {
  dispatch_operation<type_set::floating>(c.types, [&]<class S, class T, class O>() {
    if constexpr (std::same_as<S, double>) {
      typed_matrix<double, O> a(ctx, *c.matrix);
      const csr_stats stats = statistics(ctx, a.device());
      if (const support s = c.kernel->supports(stats, c.types.matrix(), ctx.info()); !s.ok) GTEST_SKIP() << s.reason;
      spmv_options words = c.options;
      words.high_words = true;
      const auto op = c.kernel->make(ctx, matrix_ref(a.device()), stats, words);
      const auto whole = c.kernel->make(ctx, matrix_ref(a.device()), stats, c.options);
      if (op->high_words() == nullptr) GTEST_SKIP() << "fewer bytes hold the values";
      expect_words(ctx, c, a, *op, *whole);
      a.replace_values(random_numbers(c.matrix->values.size(), 1234));
      op->update_values(matrix_ref(a.device()));
      whole->update_values(matrix_ref(a.device()));
      SCOPED_TRACE("after update_values");
      expect_words(ctx, c, a, *op, *whole);
    }
  });
}

}  // namespace tulle::test
