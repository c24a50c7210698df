#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <tulle/solvers/cg.hpp>

#include "kernels/backends.hpp"
#include "ops/operand.hpp"
#include "ops/vector_checks.hpp"
#include "plan/find_kernel.hpp"
#include "solvers/cg_operations.hpp"

namespace tulle {
namespace {

template <class Value>
[[noreturn]] void refuse(std::string_view what, const Value& value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

/// No 0 stands for "chosen" any more. `a` is the matrix as it came; of an operator it has no block.
cg_options filled_in(cg_options o, const context& ctx, const matrix_ref& a) {
  if (!(o.rtol >= 0) || !std::isfinite(o.rtol)) refuse("rtol", o.rtol, "a number, 0 or above");
  if (!(o.atol >= 0) || !std::isfinite(o.atol)) refuse("atol", o.atol, "a number, 0 or above");
  if (o.max_iterations < 0) refuse("max_iterations", o.max_iterations, "0 or above");
  if (o.check_interval < 0) refuse("check_interval", o.check_interval, "0 or above");
  if (o.replace_interval < -1) refuse("replace_interval", o.replace_interval, "-1 or above");
  if (o.preconditioner > preconditioner_kind::chebyshev) {
    refuse("preconditioner", static_cast<int>(o.preconditioner),
           "none (0), jacobi (1), block_jacobi (2) or chebyshev (3)");
  }
  if (o.block < 0 || o.block > 8) refuse("block", o.block, "0 to 8");
  if (o.degree < 1 || o.degree > 100) refuse("degree", o.degree, "1 to 100");
  if (o.rhs < 1 || o.rhs > 4096) refuse("rhs", o.rhs, "1 to 4096");
  if (o.check_interval == 0) o.check_interval = ctx.backend() == backend_kind::cpu ? 1 : 16;
  // Periodic replacement costs iterations, and all accuracy once rounding is what is left: docs/notes/0010. What has
  // arrived by the recursive residual alone goes on from the true one in any case, where the host looks.
  if (o.replace_interval == 0) o.replace_interval = -1;
  if (o.block == 0) o.block = a.block > 0 && a.block <= 8 ? a.block : a.rows % 6 == 0 ? 6 : a.rows % 3 == 0 ? 3 : 4;
  return o;
}

const cg_kernel& choose(const context& ctx, const cg_problem& problem, std::string& reason) {
  const std::span<const cg_kernel> table = cg_kernels(ctx.backend());
  const operation_types types{problem.csr.types, problem.csr.types.value};
  const std::string wanted = requested_kernel(kernel_operation::cg, ctx.backend(), problem.options.kernel);
  for (const cg_kernel& k : table) {
    if (wanted.empty() ? k.role != kernel_role::production : k.name != wanted) continue;
    if (!contains(k.types, types)) continue;
    if (wanted.empty() && problem.options.rhs > 1 && !k.many) continue;
    const support s = k.supports(problem, ctx.info());
    if (!s.ok && wanted.empty()) continue;
    if (!s.ok) throw error(status::unsupported, fmt::format("{} cannot take this matrix: {}", wanted, s.reason));
    reason = !wanted.empty() ? "asked for by name" : s.reason.empty() ? std::string(k.summary) : s.reason;
    return k;
  }
  std::vector<std::string_view> names;
  for (const cg_kernel& k : table) names.push_back(k.name);
  throw error(wanted.empty() ? status::unsupported : status::invalid_argument,
              fmt::format("no solver '{}' on backend {} for {}; there are: {}", wanted, name(ctx.backend()),
                          describe(types), fmt::join(names, ", ")));
}

/// The matrix and all that is known of it.
class problem_source {
 public:
  problem_source(const context& ctx, const matrix_ref& a, const cg_options& options) : given_(ctx, "A", a) {
    if (a.rows != a.cols) {
      throw error(status::invalid_dimensions,
                  fmt::format("A is {} x {}: a solver needs a square matrix", a.rows, a.cols));
    }
    if (a.types.value == scalar_type::i32)
      throw error(status::unsupported, "cg takes values of f32 and f64, not of i32");
    if (options.spmv.transpose) refuse("spmv.transpose", true, "false");
    if (options.spmv.vector_type.value_or(a.types.value) != a.types.value) {
      throw error(status::unsupported, "spmv.vector_type: cg takes vectors of the values' type");
    }
    problem.options = filled_in(options, ctx, a);
    if (options.spmv.effort != spmv_effort::none) given_.validate();
    if (a.format == matrix_format::bsr && a.cols % a.block == 0) problem.blocks = given_.source();
    given_.to_csr();
    const pattern_counts found = counts(ctx);
    if (!found.increasing()) given_.sort();
    given_.refresh();
    given_.fit_offsets(offsets_for(given_.ref().nnz));
    problem.stats = given_.inspect();
    problem.csr = given_.ref();
  }

  /// `blocks_alone`: the CSR of a BSR keeps the values that it had.
  void update_values(const const_vector_ref& values, bool blocks_alone) {
    if (values.size > 0 && values.space == memory_space::device && problem.csr.space == memory_space::host) {
      throw error(status::invalid_argument, "values is in device memory, the solver runs on cpu");
    }
    const detail::vector_rules rules{values.space, problem.csr.device, problem.csr.types.value};
    rules.check_size("values", values, given_.value_count());
    detail::require_no_stride("update_values", {{"values", values}});
    if (blocks_alone) {
      given_.lend(values.data, values.space);
    } else {
      given_.update_values(values.data, values.space);
      given_.refresh();
      problem.csr = given_.ref();
    }
    if (problem.blocks.block > 0) problem.blocks.values = given_.on_backend().values;
  }

  cg_problem problem;

 private:
  [[nodiscard]] pattern_counts counts(const context& ctx) const {
    const buffer<pattern_counts> found = matrices_of(ctx.backend()).inspect(ctx, {&given_.ref(), 1});
    return to_vector(ctx, found).front();
  }

  detail::operand given_;
};

}  // namespace

std::string_view name(preconditioner_kind kind) noexcept {
  switch (kind) {
    case preconditioner_kind::none:
      return "none";
    case preconditioner_kind::jacobi:
      return "jacobi";
    case preconditioner_kind::block_jacobi:
      return "block_jacobi";
    case preconditioner_kind::chebyshev:
      return "chebyshev";
  }
  return "unknown preconditioner";
}

struct cg_solver::impl {
  impl(const context& c, const matrix_ref& a, const cg_options& o) : ctx(c), source(std::in_place, c, a, o) {
    options = source->problem.options;
    n = a.rows;
    type = a.types.value;
    const cg_kernel& k = choose(ctx, source->problem, reason);
    kernel = k.name;
    reads_blocks = k.blocks;
    op = k.make(ctx, source->problem);
    take_memory();
  }
  impl(const linear_operator& a, const linear_operator* m, const cg_options& o)
      : ctx(a.ctx()), options(filled_in(o, ctx, {})), n(a.dimensions().rows), type(a.vector_type()) {
    const auto check = [&](const linear_operator& given, std::string_view what) {
      const shape s = given.dimensions();
      if (s.rows != n || s.cols != n) {
        throw error(status::invalid_dimensions,
                    fmt::format("{} is {} x {}, {} x {} is needed", what, s.rows, s.cols, n, n));
      }
      if (given.vector_type() != type || given.ctx().space() != ctx.space()) {
        throw error(status::invalid_argument, fmt::format("{} has vectors of another type or memory than A", what));
      }
    };
    check(a, "A");
    if (m != nullptr) check(*m, "M");
    if (type == scalar_type::i32) throw error(status::unsupported, "cg takes vectors of f32 and f64, not of i32");
    kernel = detail::cg_operations_entry(ctx.backend()).name;
    reason = "A was given as an operator";
    op = detail::cg_of_operators(a, m, options);
    take_memory();
  }

  void take_memory() {
    record = buffer<cg_record>(ctx, static_cast<std::size_t>(options.rhs));
    if (options.keep_history) history = buffer<double>(ctx, static_cast<std::size_t>(options.max_iterations) + 1);
    ctx.synchronize();  // solves may come on another stream
  }

  void check(const const_vector_ref& b, const vector_ref& x) const {
    const detail::vector_rules rules{ctx.space(), ctx.device(), type};
    rules.check_size("b", b, n);
    rules.check_size("x", x, n);
    detail::require_no_stride("cg", {{"b", b}, {"x", x}});
    detail::check_apart("x", x, {{"b", b}});
  }

  context ctx;
  std::optional<problem_source> source;  // none: made of operators
  cg_options options;
  std::int64_t n = 0;
  scalar_type type = scalar_type::f64;
  std::string_view kernel;
  bool reads_blocks = false;
  std::string reason;
  std::unique_ptr<cg_operator> op;
  buffer<cg_record> record;
  buffer<double> history;
};

cg_solver::cg_solver(const context& ctx, const matrix_ref& a, const cg_options& options)
    : impl_(std::make_unique<impl>(ctx, a, options)) {}
cg_solver::cg_solver(const linear_operator& a, const linear_operator* m, const cg_options& options)
    : impl_(std::make_unique<impl>(a, m, options)) {}
cg_solver::cg_solver(cg_solver&&) noexcept = default;
cg_solver& cg_solver::operator=(cg_solver&&) noexcept = default;
cg_solver::~cg_solver() = default;

cg_result cg_solver::solve(const const_vector_ref& b, const vector_ref& x) const {
  impl& s = *impl_;
  s.check(b, x);
  cg_result result;
  const context& ctx = s.ctx;
  s.op->solve(b.data, x.data, s.record.data(), s.history.data(), ctx.stream());
  copy_bytes(ctx, static_cast<cg_record*>(&result), memory_space::host, s.record.data(), ctx.space(),
             sizeof(cg_record));
  if (s.history.empty()) return result;
  result.history.resize(static_cast<std::size_t>(result.iterations) + 1);
  copy_bytes(ctx, result.history.data(), memory_space::host, s.history.data(), ctx.space(),
             result.history.size() * sizeof(double));
  return result;
}

std::vector<cg_result> cg_solver::solve_many(const const_multivector_ref& b, const multivector_ref& x) const {
  impl& s = *impl_;
  const context& ctx = s.ctx;
  detail::vector_rules rules{ctx.space(), ctx.device(), s.type};
  rules.a = {static_cast<index_t>(s.n), static_cast<index_t>(s.n)};
  rules.check_multivectors(b, x);
  if (b.count > s.options.rhs) {
    throw error(
        status::invalid_argument,
        fmt::format("b has {} vectors, and the solver was made for {} (cg_options::rhs)", b.count, s.options.rhs));
  }
  if (b.count > 1 && (b.order != vector_order::column_major || x.order != vector_order::column_major)) {
    throw error(status::unsupported, "solve_many takes vectors in column-major order");
  }
  std::vector<cg_result> results(static_cast<std::size_t>(b.count));
  if (b.count == 0) return results;
  s.op->solve_many({b.data, x.data, s.record.data(), nullptr, b.count, b.ld, x.ld}, size_of(s.type), ctx.stream());
  for (std::size_t j = 0; j < results.size(); ++j) {
    copy_bytes(ctx, static_cast<cg_record*>(&results[j]), memory_space::host, s.record.data() + j, ctx.space(),
               sizeof(cg_record));
  }
  return results;
}

void cg_solver::enqueue(const const_vector_ref& b, const vector_ref& x, cg_record* record,
                        std::optional<stream_view> stream) const {
  impl& s = *impl_;
  s.check(b, x);
  if (record == nullptr) throw error(status::null_pointer, "record is null");
  s.op->enqueue(b.data, x.data, record, s.history.data(), stream.value_or(s.ctx.stream()));
}

void cg_solver::update_values(const const_vector_ref& values) {
  impl& s = *impl_;
  if (!s.source) {
    throw error(status::unsupported, "update_values: the solver was made of operators, which keep their own values");
  }
  s.source->update_values(values, s.reads_blocks && s.source->problem.blocks.block > 0);
  s.op->update_values(s.source->problem);
}

const context& cg_solver::ctx() const noexcept { return impl_->ctx; }
std::string_view cg_solver::kernel() const noexcept { return impl_->kernel; }

std::string cg_solver::explain() const {
  const std::string in_force = impl_->op->parameters();
  const std::string m = impl_->source ? fmt::format("; preconditioner {}", name(impl_->options.preconditioner)) : "";
  return fmt::format("{}: {}{}{}{}", kernel(), impl_->reason, m, in_force.empty() ? "" : "; ", in_force);
}

std::size_t cg_solver::workspace_bytes() const noexcept {
  return impl_->op->workspace_bytes() + impl_->record.bytes() + impl_->history.bytes();
}

}  // namespace tulle
