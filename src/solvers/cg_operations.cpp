#include "solvers/cg_operations.hpp"

#include <array>
#include <tulle/ops/spmv.hpp>

#include "kernels/backends.hpp"
#include "plan/choose_spmv.hpp"
#include "plan/find_kernel.hpp"
#include "solvers/cg_loop.hpp"
#include "solvers/preconditioner.hpp"

namespace tulle {
namespace detail {
namespace {

const matrix_ref& matrix_of(const cg_problem& problem) {
  return problem.blocks.block > 0 ? problem.blocks : problem.csr;
}

class cg_operations final : public cg_operator {
 public:
  cg_operations(const context& ctx, const cg_problem& problem)
      : a_(ctx, matrix_of(problem), problem.options.spmv),
        m_(make_preconditioner(ctx, problem, a_.high_words())),
        loop_(a_, m_.get(), problem.options) {
    explain_kernel(a_, problem.kernel_reason);
  }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    loop_.enqueue({b, x, record, history}, stream);
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    loop_.solve({b, x, record, history}, stream);
  }
  void solve_many(const cg_systems& systems, std::size_t, stream_view stream) override { loop_.solve(systems, stream); }
  void update_values(const cg_problem& problem) override {
    const matrix_ref& a = matrix_of(problem);
    const std::int64_t count = a.block > 0 ? a.stored * a.block * a.block : a.nnz;
    a_.update_values(const_vector_ref(a.types.value, a.values, count, a.space, a.device));
    if (m_ != nullptr) m_->update(problem);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return a_.workspace_bytes() + loop_.workspace_bytes() + (m_ == nullptr ? 0 : m_->workspace_bytes());
  }
  [[nodiscard]] std::string parameters() const override {
    const std::string of_m = m_ == nullptr ? "" : m_->parameters();
    return of_m.empty() ? a_.explain() : of_m + "; " + a_.explain();
  }

 private:
  any_spmv_plan a_;
  std::unique_ptr<preconditioner> m_;
  cg_loop loop_;
};

class loop_of_operators final : public cg_operator {
 public:
  loop_of_operators(const linear_operator& a, const linear_operator* m, const cg_options& options)
      : loop_(a, m, options) {}
  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    loop_.enqueue({b, x, record, history}, stream);
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    loop_.solve({b, x, record, history}, stream);
  }
  void solve_many(const cg_systems& systems, std::size_t, stream_view stream) override { loop_.solve(systems, stream); }
  void update_values(const cg_problem&) override {
    throw error(status::unsupported, "update_values: the solver was made of operators, which keep their own values");
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return loop_.workspace_bytes(); }

 private:
  cg_loop loop_;
};

/// Below this many entries slices are not worth making.
constexpr std::int64_t least_packed = 20'000;
/// From this many, which no cache holds, a preconditioner that multiplies by A is faster by high words of their values:
/// docs/notes/0019-narrow-values.md.
constexpr std::int64_t least_high_words = 1 << 20, least_high_words_on_a_gpu = 1 << 23;

/// On a GPU they pay in rows of at least this many entries (7 points lose, 27 gain), by a kernel that is predicted to
/// take at most so much longer than the fastest one in f64: same note.
constexpr double least_mean_on_a_gpu = 16, most_time_over_least = 1.05;

/// Where `packed`, which has them, reads A anyway or nearly as fast.
void choose_high_words_on_a_gpu(const context& ctx, cg_problem& problem) {
  spmv_options& plan = problem.options.spmv;
  const bool is_named = !plan.kernel.empty() && problem.kernel_reason.empty();
  if (problem.options.preconditioner != preconditioner_kind::chebyshev || is_named || may_lose_bits(plan) ||
      plan.effort == spmv_effort::none) {
    return;
  }
  const csr_stats& stats = problem.stats;
  const type_key types = problem.csr.types;
  if (types.value != scalar_type::f64 || problem.blocks.block > 0 || stats.nnz < least_high_words_on_a_gpu ||
      stats.mean < least_mean_on_a_gpu) {
    return;
  }
  if (!requested_kernel(kernel_operation::spmv, ctx.backend(), "").empty()) return;
  const spmv_kernel* packed = spmv_kernel_for(ctx.backend(), "packed", problem.types());
  if (packed == nullptr || !packed->supports(stats, types, ctx.info()).ok) return;
  const bool is_chosen = plan.kernel == packed->name;
  if (!is_chosen && (!plan.kernel.empty() || plan.policy != spmv_policy::standard ||
                     time_over_least_cuda(packed->name, stats, types, ctx.info()) > most_time_over_least)) {
    return;
  }
  if (!is_chosen) problem.kernel_reason = "has high words, by which the preconditioner multiplies";
  plan.kernel = packed->name;
  plan.high_words = true;
}

}  // namespace

void choose_plan_kernel(const context& ctx, cg_problem& problem) {
  if (problem.options.spmv.high_words) return;  // on a CPU, what has them cuts no row either
  if (ctx.backend() != backend_kind::cpu) return choose_high_words_on_a_gpu(ctx, problem);
  std::string& kernel = problem.options.spmv.kernel;
  if (!kernel.empty()) return;
  if (!requested_kernel(kernel_operation::spmv, ctx.backend(), "").empty()) return;
  const auto take = [&](const char* name) {
    kernel = name;
    problem.kernel_reason = "cuts no row between threads, so that their number shows in no bit";
  };
  if (problem.blocks.block > 0 && spmv_kernel_for(ctx.backend(), "bsr", problem.types()) != nullptr) {
    return take("bsr");
  }
  const type_key types = problem.csr.types;
  const spmv_kernel* packed = spmv_kernel_for(ctx.backend(), "packed", problem.types());
  const bool slices =
      packed != nullptr && problem.csr.nnz >= least_packed && packed->supports(problem.stats, types, ctx.info()).ok;
  take(slices ? "packed" : "csr.rows");
  spmv_options& plan = problem.options.spmv;
  plan.high_words = slices && packed->listens_to.high_words && !may_lose_bits(plan) &&
                    problem.options.preconditioner == preconditioner_kind::chebyshev &&
                    problem.csr.nnz >= least_high_words;
}

cg_kernel cg_operations_entry(backend_kind backend) {
  return {
      .name = "cg.operations",
      .summary = "a loop of matrix and vector operations",
      .backend = backend,
      .types = type_set::floating | type_set::narrow,
      .many = true,
      .supports = [](const cg_problem&, const device_info&) { return support{}; },
      .make = [](const context& ctx, const cg_problem& problem) -> std::unique_ptr<cg_operator> {
        return std::make_unique<cg_operations>(ctx, problem);
      },
  };
}

std::unique_ptr<cg_operator> cg_of_operators(const linear_operator& a, const linear_operator* m,
                                             const cg_options& options) {
  return std::make_unique<loop_of_operators>(a, m, options);
}

}  // namespace detail

std::span<const cg_kernel> cg_kernels(backend_kind backend) {
  const auto joined = [](backend_kind of) {
    const std::span<const cg_kernel> own = cg_kernels_of(of);
    std::vector<cg_kernel> all(own.begin(), own.end());
    all.push_back(detail::cg_operations_entry(of));
    return all;
  };
  static const std::vector<cg_kernel> cpu = joined(backend_kind::cpu);
  static const std::vector<cg_kernel> cuda =
      cuda_runtime() == nullptr ? std::vector<cg_kernel>{} : joined(backend_kind::cuda);
  return backend == backend_kind::cpu ? cpu : cuda;
}

}  // namespace tulle
