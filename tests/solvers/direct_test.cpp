// The positive definite matrices of the collection against a direct solve (Eigen's Cholesky factors), within what the
// condition number allows: ||x - y|| <= ||A^-1|| (||b - A x|| + ||b - A y||).
#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>
#include <tulle/io/matrix_market.hpp>

#include "solver_fixture.hpp"
#include "support/files.hpp"

namespace tulle::test {
namespace {

struct definite_matrix {
  std::string name;
  std::filesystem::path file;
};

/// name, rows, cols, stored_entries, expanded_nnz, field, symmetry, avg_row, max_row, empty_rows, spd, class, file.
std::vector<definite_matrix> definite_matrices() {
  std::vector<definite_matrix> out;
  const std::filesystem::path directory = shared_directory() / "matrices";
  if (!std::filesystem::exists(directory / "CATALOGUE.tsv")) return out;
  for (const std::vector<std::string>& row : read_table(directory / "CATALOGUE.tsv")) {
    if (row.size() >= 13 && row[10] == "yes") out.push_back({row[0], directory / row[12]});
  }
  return out;
}

class direct_solve {
 public:
  explicit direct_solve(const plain_csr<double>& a) {
    using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>;
    const std::vector<std::int64_t> colind(a.colind.begin(), a.colind.end());
    const Eigen::Map<const matrix> mapped(a.rows, a.cols, a.nnz(), a.rowptr.data(), colind.data(), a.values.data());
    factors_.compute(Eigen::SparseMatrix<double>(mapped));
    Eigen::VectorXd v = Eigen::VectorXd::Ones(a.rows).normalized();
    for (int i = 0; i < 30; ++i) {
      v = factors_.solve(v);
      inverse_norm_ = v.norm();
      v /= inverse_norm_;
    }
  }
  [[nodiscard]] bool ok() const { return factors_.info() == Eigen::Success; }
  [[nodiscard]] std::vector<double> operator()(const std::vector<double>& b) const {
    const Eigen::VectorXd x =
        factors_.solve(Eigen::Map<const Eigen::VectorXd>(b.data(), static_cast<Eigen::Index>(b.size())));
    return {x.data(), x.data() + x.size()};
  }
  /// ||A^-1||, from below by the power method, which is close after 30 steps.
  [[nodiscard]] double inverse_norm() const { return inverse_norm_; }

 private:
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> factors_;
  double inverse_norm_ = 0;
};

class cg_direct_test : public solver_fixture {};
TULLE_ON_BACKENDS(cg_direct_test, "cpu", "cuda");

TEST_P(cg_direct_test, is_as_close_as_the_condition_number_allows) {
  const std::vector<definite_matrix> all = definite_matrices();
  if (all.empty()) GTEST_SKIP() << "no collection of matrices";
  const temporary_directory directory;
  int converged = 0, solves = 0;
  for (const definite_matrix& m : all) {
    SCOPED_TRACE(m.name);
    const auto a = plain(read_matrix_market<double>(decompressed(m.file, directory)));
    const direct_solve direct(a);
    ASSERT_TRUE(direct.ok());
    const std::vector<double> b = random_rhs<double>(a.rows), want = direct(b);
    const residual_norm of_direct = residual_of(a, b, want);
    // A condition number that rounding makes little more of than that it is large.
    const bool hopeless = norm_of(a.values) * direct.inverse_norm() * std::numeric_limits<double>::epsilon() > 1e-5L;
    for (const preconditioner_kind kind : preconditioners()) {
      cg_options options;
      options.preconditioner = kind;
      options.max_iterations = 10 * a.rows;
      for_kernels(a, options, [&](const cg_solver& solver) {
        const auto s = solve(solver, b);
        expect_true_report(a, b, s, options);
        ++solves;
        converged += s.result.converged() ? 1 : 0;
        EXPECT_TRUE(s.result.converged() || kind == preconditioner_kind::none || hopeless)
            << status_of(s.result) << " after " << s.result.iterations << ": " << s.result.residual / s.result.rhs;
        std::vector<double> difference(want.size());
        std::ranges::transform(s.x, want, difference.begin(), std::minus<>());
        const residual_norm truth = residual_of(a, b, s.x);
        const long double residuals = truth.value + of_direct.value + truth.rounding + of_direct.rounding;
        EXPECT_LE(norm_of(difference), 1.1L * direct.inverse_norm() * residuals);
      });
    }
  }
  RecordProperty("converged", converged);
  RecordProperty("solves", solves);
}

TEST_P(cg_direct_test, so_is_each_system_of_a_batch) {
  std::vector<plain_csr<double>> all;
  for (const char* spec :
       {"gen:stencil:points=5,n=6,values=spd", "gen:fem:dof=3,n=4,values=spd", "gen:banded:n=200,width=7,values=spd",
        "gen:diagonal:n=9,values=spd", "gen:stencil:points=7,n=9,values=spd", "gen:fem:dof=6,n=4,values=spd"})
    all.push_back(generated<double>(spec));
  std::vector<matrix_ref> refs;
  std::vector<double> b;
  for (const auto& a : all) {
    refs.emplace_back(a.view());
    const std::vector<double> next = random_rhs<double>(a.rows, refs.size());
    b.insert(b.end(), next.begin(), next.end());
  }
  using enum preconditioner_kind;
  for (const preconditioner_kind kind : {none, jacobi, block_jacobi}) {
    cg_options options;
    options.preconditioner = kind;
    const buffer<double> rhs = to_buffer(ctx(), b);
    buffer<double> out = to_buffer(ctx(), std::vector<double>(b.size()));
    const auto results = cg_batch(ctx(), refs, options).solve(rhs, out);
    const std::vector<double> x = to_vector(ctx(), out);
    std::size_t at = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(fmt::format("system {} with {}", i, name(kind)));
      const auto n = static_cast<std::size_t>(all[i].rows);
      const auto part = [&](const std::vector<double>& v) { return std::vector<double>(&v[at], &v[at] + n); };
      const direct_solve direct(all[i]);
      const std::vector<double> want = direct(part(b)), got = part(x);
      EXPECT_TRUE(results[i].converged());
      std::vector<double> difference(n);
      std::ranges::transform(got, want, difference.begin(), std::minus<>());
      const residual_norm of_direct = residual_of(all[i], part(b), want), truth = residual_of(all[i], part(b), got);
      const long double residuals = truth.value + of_direct.value + truth.rounding + of_direct.rounding;
      EXPECT_LE(norm_of(difference), 1.1L * direct.inverse_norm() * residuals);
      at += n;
    }
  }
}

}  // namespace
}  // namespace tulle::test
