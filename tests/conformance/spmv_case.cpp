#include "conformance/spmv_case.hpp"

#include <fmt/format.h>

#include "conformance/checks.hpp"
#include "plan/find_kernel.hpp"
#include "support/registered.hpp"

namespace tulle::test {
namespace {

template <scalar S, scalar T, offset O>
void apply_and_check(const context& ctx, spmv_operator& op, const typed_matrix<S, O, T>& a, const battery_matrix& m,
                     double alpha, double beta, bool vendor) {
  // The vendor's routines promise neither the same bits nor that alpha = 0 keeps a NaN: only their numbers are held.
  if (vendor && alpha == 0 && m.floating_only) return;
  SCOPED_TRACE(fmt::format("alpha={} beta={} {}", alpha, beta, op.parameters()));
  const std::vector<T> x = random_vector<T>(m.cols, 42, m.x_special), y0 = initial_y<T>(m.rows, beta);
  guarded_vector<T> guarded_x(ctx, x, m.misaligned);
  const std::vector<T> y = written_twice(ctx, y0, m.misaligned, !vendor,
                                         [&](T* to) { op.apply(alpha, guarded_x.data(), beta, to, ctx.stream()); });
  EXPECT_TRUE(guarded_x.unchanged()) << "wrote to x or around it";
  const double ratio = error_ratio(reference_of(alpha, a.host(), x, beta, y0), host_span<const T>(y));
  // cuSPARSE 12.6.3, CSR algorithm 1, f64: the first answer for this matrix is wrong, the second right.
  if (vendor && m.name == "rows_32" && !(ratio <= 1)) GTEST_SKIP() << "the vendor's answer is " << ratio << " times its bound";
  EXPECT_LE(ratio, 1);
}

/// alpha and beta, in {0, 1, -1, 2.5}; 3 for integers in place of 2.5.
std::vector<std::pair<double, double>> factors(const operation_types& types) {
  const double other = types.value == scalar_type::i32 ? 3 : 2.5;
  if (quick()) return {{1, 0}, {other, -1}};
  std::vector<std::pair<double, double>> out;
  for (const double alpha : {0.0, 1.0, -1.0, other}) {
    for (const double beta : {0.0, 1.0, -1.0, other}) out.emplace_back(alpha, beta);
  }
  return out;
}

}  // namespace

std::string spmv_case::name() const {
  std::string out = fmt::format("{}/{}/{}/{}", tulle::name(kernel->backend), kernel->name, types_label(types), matrix->name);
  if (reordered) out += "/reordered";
  return options_text.empty() ? out : out + "/" + options_text;
}

void run_spmv_case(const context& ctx, const spmv_case& c) {
  const bool vendor = c.kernel->role == kernel_role::vendor;
  if (vendor && c.kernel->takes_bsr && c.matrix->floating_only) {
    GTEST_SKIP() << "the vendor multiplies x by what fills a block";
  }
  with_operator(ctx, c, [&](auto& a, spmv_operator& op) {
    for (const auto& [alpha, beta] : factors(c.types)) apply_and_check(ctx, op, a, *c.matrix, alpha, beta, vendor);

    a.replace_values(random_numbers(c.matrix->values.size(), 1234));
    op.update_values(matrix_ref(a.device()));
    SCOPED_TRACE("after update_values");
    apply_and_check(ctx, op, a, *c.matrix, 1, 0, vendor);
  });
}

}  // namespace tulle::test
