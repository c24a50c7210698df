#include "subject.hpp"

#include <algorithm>
#include <tulle/ops/matrix.hpp>

namespace tulle::cli::bench {
namespace {

/// What a plan makes of the matrix by itself.
void choose(const context& ctx, const run_options& o, subject& s) try {
  spmv_options options = plan_options(o, s.work);
  const double first = any_spmv_plan(ctx, s.a, options).plan_microseconds();  // it also makes the memory pool grow
  const any_spmv_plan plan(ctx, s.a, options);
  s.chosen = plan.kernel();
  s.reason = plan.explain();
  s.effort = plan.effort();
  s.reorder = options.reorder;
  s.reorder_method = options.reorder_method;
  s.chosen_plan_us = std::min(first, plan.plan_microseconds());
  options.effort = spmv_effort::none;
  s.base = any_spmv_plan(ctx, s.a, options).kernel();
} catch (const error& e) {
  s.reason = e.what();
}

}  // namespace

subject make_subject(const context& ctx, const case_name& which, const run_options& options, const workload& work) {
  const spmv_request request{.matrix = which.spec, .work = work, .verify = true};
  subject s{make_problem(ctx, request, options)};
  if (!which.label.empty()) s.matrix.name = which.label;
  s.multiplied = work.transpose ? transpose(ctx, s.a).matrix : s.a;
  choose(ctx, options, s);
  return s;
}

}  // namespace tulle::cli::bench
