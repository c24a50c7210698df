#include <fmt/format.h>

#include <cmath>
#include <tulle/core/nearest_name.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/solvers/cg.hpp>

#include "kernels/backends.hpp"
#include "ops/hidden_order.hpp"
#include "ops/operand.hpp"
#include "ops/vector_checks.hpp"
#include "plan/find_kernel.hpp"
#include "solvers/cg_mixed.hpp"
#include "solvers/cg_operations.hpp"
#include "solvers/cg_options.hpp"
#include "solvers/preconditioner.hpp"
#include "solvers/reordered_systems.hpp"

namespace tulle {
namespace {

const cg_kernel& choose(const context& ctx, const cg_problem& problem, std::string& reason) {
  const std::span<const cg_kernel> table = cg_kernels(ctx.backend());
  const operation_types types = problem.types();
  const bool mixed = problem.options.precision == solver_precision::mixed;
  const std::string wanted = requested_kernel(kernel_operation::cg, ctx.backend(), problem.options.kernel);
  for (const cg_kernel& k : table) {
    if (wanted.empty() ? k.role != kernel_role::production : k.name != wanted) continue;
    if (!contains(k.types, types)) {
      if (wanted.empty()) continue;
      throw error(status::unsupported, fmt::format("{} is not built for {}", wanted, describe(types)));
    }
    if (wanted.empty() && problem.options.rhs > 1 && !k.many) continue;
    if (wanted.empty() && problem.options.once && problem.csr.nnz > k.most_nonzeros_once) continue;
    const support s = mixed && !k.mixed ? support{false, "it has no mixed precision"} : k.supports(problem, ctx.info());
    if (!s.ok && wanted.empty()) continue;
    if (!s.ok) throw error(status::unsupported, fmt::format("{} cannot take this matrix: {}", wanted, s.reason));
    reason = !wanted.empty() ? "asked for by name" : s.reason.empty() ? std::string(k.summary) : s.reason;
    return k;
  }
  std::vector<std::string_view> names;
  for (const cg_kernel& k : table) names.push_back(k.name);
  if (mixed && wanted.empty()) {
    throw error(status::unsupported, fmt::format("precision = mixed: no solver on backend {} has it with {}",
                                                 name(ctx.backend()), name(problem.options.preconditioner)));
  }
  throw error(wanted.empty() ? status::unsupported : status::invalid_argument,
              fmt::format("no solver '{}' on backend {} for {}{}", wanted, name(ctx.backend()), describe(types),
                          alternatives(wanted, names)));
}

/// The matrix and all that is known of it.
class problem_source {
 public:
  problem_source(const context& ctx, const matrix_ref& a, const cg_options& options) : given_(ctx, "A", a) {
    if (a.rows != a.cols) {
      throw error(status::invalid_dimensions,
                  fmt::format("A is {} x {}: a solver needs a square matrix", a.rows, a.cols));
    }
    if (!is_floating(a.types.value))
      throw error(status::unsupported, fmt::format("cg takes values of f32 and f64, not of {}", name(a.types.value)));
    if (options.spmv.transpose) throw error(status::invalid_argument, "spmv.transpose = true: must be false");
    problem.options = detail::filled_in(options, ctx, a);
    const spmv_reorder asked = std::exchange(problem.options.spmv.reorder, spmv_reorder::never);
    const order_choice how = std::exchange(problem.options.spmv.reorder_method, {});
    detail::check_order(a, how, asked);
    scalar_type& vectors = problem.options.spmv.vector_type.emplace(options.spmv.vector_type.value_or(a.types.value));
    if (vectors != a.types.value && vectors != scalar_type::f64) {
      throw error(status::unsupported,
                  fmt::format("spmv.vector_type = {}: cg takes vectors of the values' type or f64", name(vectors)));
    }
    if (options.spmv.effort != spmv_effort::none) given_.validate();
    const bool by_blocks =
        options.precision == solver_precision::uniform || options.preconditioner == preconditioner_kind::block_jacobi;
    if (by_blocks && a.format == matrix_format::bsr && a.cols % a.block == 0) problem.blocks = given_.source();
    given_.to_csr();
    if (reorders(ctx, asked)) reorder(ctx, how, detail::given_block(a));
    const pattern_counts found = counts(ctx);
    if (!found.increasing()) given_.sort();
    given_.refresh();
    given_.fit_offsets(offsets_for(given_.ref().nnz));
    problem.stats = given_.inspect();
    problem.csr = given_.ref();
    if (order) choose_kernel_in_order(ctx);
    detail::choose_plan_kernel(ctx, problem);
  }

  /// `blocks_alone`: the CSR of a BSR keeps the values that it had.
  void update_values(const const_vector_ref& values, bool blocks_alone) {
    given_.check_values(values);
    if (blocks_alone) {
      given_.lend(values.data, values.space);
    } else {
      given_.update_values(values.data, values.space);
      given_.refresh();
      problem.csr = given_.ref();
    }
    if (problem.blocks.block > 0) problem.blocks.values = given_.on_backend().values;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return given_.bytes(); }

  cg_problem problem;
  std::optional<permutation> order;  // of the problem's unknowns; none: as they are in A
  std::string order_name;            // where there is one
  std::string order_reason;          // why, or why not; empty: it was not to be decided

 private:
  /// Whether an order of its own pays for the problem.
  [[nodiscard]] bool reorders(const context& ctx, spmv_reorder asked) {
    if (asked != spmv_reorder::automatic) return asked == spmv_reorder::always;
    return detail::order_pays(ctx, given_.ref(), problem.options.max_iterations, order_reason);
  }
  /// Blocks stay together.
  void reorder(const context& ctx, const order_choice& how, index_t block) {
    const cg_options& o = problem.options;
    if (block == 0 && o.preconditioner == preconditioner_kind::block_jacobi) block = o.block;
    order = detail::find_orders(ctx, given_.ref(), how, block).rows;
    order_name = detail::describe(how);
    given_.permute(*order, *order);
    problem.blocks = {};
  }
  /// Where the choice is the plan's.
  void choose_kernel_in_order(const context& ctx) {
    std::string& kernel = problem.options.spmv.kernel;
    if (ctx.backend() == backend_kind::cpu || problem.types().vector != problem.csr.types.value) return;
    if (!requested_kernel(kernel_operation::spmv, ctx.backend(), kernel).empty()) return;
    const std::string chosen = detail::kernel_in_order(ctx, problem.stats, problem.csr.types);
    const spmv_kernel* k = spmv_kernel_for(ctx.backend(), chosen, problem.types());
    if (k == nullptr || !k->supports(problem.stats, problem.csr.types, ctx.info()).ok) return;
    kernel = chosen;
    problem.kernel_reason = "what suits the order that the solver keeps its unknowns in";
  }
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

std::string_view name(solver_precision precision) noexcept {
  return precision == solver_precision::uniform ? "uniform" : "mixed";
}

struct cg_solver::impl {
  impl(const context& c, const matrix_ref& a, const cg_options& o) : ctx(c), source(std::in_place, c, a, o) {
    options = source->problem.options;
    n = a.rows;
    type = source->problem.types().vector;
    if (options.precision == solver_precision::mixed) detail::check_mixed(source->problem);
    const cg_kernel& k = choose(ctx, source->problem, reason);
    kernel = k.name;
    reads_blocks = k.blocks;
    if (source->order) {
      detour.emplace(ctx, std::move(*source->order), type, options.rhs);
      reason += "; in " + source->order_name;
    }
    if (!source->order_reason.empty()) reason += (source->order ? ": " : "; ") + source->order_reason;
    in_own_rows([&] { op = make(k); });
    take_memory();
  }
  impl(const linear_operator& a, const linear_operator* m, const cg_options& o)
      : ctx(a.ctx()), options(detail::filled_in(o, ctx, {})), n(a.dimensions().rows), type(a.vector_type()) {
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
    if (!is_floating(type))
      throw error(status::unsupported, fmt::format("cg takes vectors of f32 and f64, not of {}", name(type)));
    if (options.precision == solver_precision::mixed) {
      throw error(status::unsupported, "precision = mixed takes a matrix: an operator has one precision");
    }
    kernel = detail::cg_operations_entry(ctx.backend()).name;
    reason = "A was given as an operator";
    op = detail::cg_of_operators(a, m, options);
    take_memory();
  }

  [[nodiscard]] std::unique_ptr<cg_operator> make(const cg_kernel& k) const {
    if (options.precision == solver_precision::mixed) return detail::make_cg_mixed(ctx, source->problem, k);
    return k.make(ctx, source->problem);
  }
  void take_memory() {
    record = buffer<cg_record>(ctx, static_cast<std::size_t>(options.rhs));
    if (options.keep_history) history = buffer<double>(ctx, static_cast<std::size_t>(options.max_iterations) + 1);
    ctx.synchronize();  // solves may come on another stream
  }

  /// Calls solve(systems) with the vectors in the solver's order.
  template <class F>
  void run(const cg_systems& given, stream_view stream, const F& solve) {
    if (!detour) return solve(given);
    solve(detour->gather(given, options.zero_guess, stream));
    detour->put_back(given, stream);
  }

  /// What is wrong with the diagonal, by the numbers that A has. Returns where nothing is: blocks of A's that were
  /// taken apart are others in the solver's order.
  void refuse_in_rows_of_a() const {
    const matrix_ref a = permute_symmetric(ctx, source->problem.csr, detour->order().inverse());
    const index_t block = options.preconditioner == preconditioner_kind::block_jacobi ? options.block : 1;
    const scalar_type values = a.types.value;
    buffer<std::byte> inverses(ctx, static_cast<std::size_t>((n + block) * block) * size_of(values));
    if (block > 1) return invert_diagonal_blocks(ctx, a, block, inverses.data());
    detail::invert_diagonal(ctx, a, {values, inverses.data(), n, ctx.space(), ctx.device()});
  }
  /// Calls f, whose errors name rows in the solver's order.
  template <class F>
  void in_own_rows(const F& f) const {
    try {
      f();
    } catch (const error& e) {
      if (detour && e.code() == status::indefinite) refuse_in_rows_of_a();
      if (!detour || e.code() != status::indefinite) throw;
      throw error(e.code(), fmt::format("{}, in {}", e.what(), source->order_name));
    }
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
  std::optional<detail::reordered_systems> detour;  // of solves in another order than A's
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
  s.run({b.data, x.data, s.record.data(), s.history.data()}, ctx.stream(),
        [&](const cg_systems& own) { s.op->solve(own.b, own.x, own.record, own.history, ctx.stream()); });
  copy_bytes(ctx, static_cast<cg_record*>(&result), memory_space::host, s.record.data(), ctx.space(),
             sizeof(cg_record));
  result.corrections = s.op->corrections();
  result.wide_iterations = s.op->wide_iterations();
  if (s.history.empty()) return result;
  const bool failed = !result.converged() && result.code != static_cast<std::int32_t>(status::not_converged);
  result.history.resize(static_cast<std::size_t>(result.iterations) + (failed ? 0 : 1));  // none behind what failed
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
  s.run({b.data, x.data, s.record.data(), nullptr, b.count, b.ld, x.ld}, ctx.stream(),
        [&](const cg_systems& own) { s.op->solve_many(own, size_of(s.type), ctx.stream()); });
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
  const stream_view on = stream.value_or(s.ctx.stream());
  s.run({b.data, x.data, record, s.history.data()}, on,
        [&](const cg_systems& own) { s.op->enqueue(own.b, own.x, own.record, own.history, on); });
}

void cg_solver::update_values(const const_vector_ref& values) {
  impl& s = *impl_;
  if (!s.source) {
    throw error(status::unsupported, "update_values: the solver was made of operators, which keep their own values");
  }
  s.source->update_values(values, s.reads_blocks && s.source->problem.blocks.block > 0);
  s.in_own_rows([&] { s.op->update_values(s.source->problem); });
}

const context& cg_solver::ctx() const noexcept { return impl_->ctx; }
std::string_view cg_solver::kernel() const noexcept { return impl_->kernel; }

std::string cg_solver::explain() const {
  const std::string in_force = impl_->op->parameters();
  const std::string m = impl_->source ? fmt::format("; preconditioner {}", name(impl_->options.preconditioner)) : "";
  return fmt::format("{}: {}{}{}{}", kernel(), impl_->reason, m, in_force.empty() ? "" : "; ", in_force);
}

std::size_t cg_solver::workspace_bytes() const noexcept {
  return impl_->op->workspace_bytes() + impl_->record.bytes() + impl_->history.bytes() +
         (impl_->detour ? impl_->detour->bytes() : 0) + (impl_->source ? impl_->source->bytes() : 0);
}

}  // namespace tulle
