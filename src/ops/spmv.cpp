#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/memory_status.hpp"
#include "core/quantity.hpp"
#include "formats/matrix_arrays.hpp"
#include "kernels/autotune_cache.hpp"
#include "ops/hidden_order.hpp"
#include "ops/spmv_impl.hpp"
#include "plan/autotune.hpp"

namespace tulle {
namespace {

/// Applications of the fastest kernel that effort max may spend on measuring, of several right-hand sides as many again.
constexpr double max_effort_applications = 500;
constexpr double measures_nothing = 0;

[[noreturn]] void refuse(std::string_view what, int value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

void check_values(const spmv_options& o) {
  if (!(o.values.tolerance >= 0 && o.values.tolerance < 1)) {
    throw error(status::invalid_argument, fmt::format("values.tolerance = {}: must be at least 0 and below 1", o.values.tolerance));
  }
  if (o.values.bound > error_bound::norm) {
    refuse("values.bound", static_cast<int>(o.values.bound), "componentwise (0), row (1) or norm (2)");
  }
  if (o.high_words && may_lose_bits(o)) {
    throw error(status::invalid_argument, "high_words = true: values and value_rule must not be set");
  }
  if (!o.value_rule) return;
  const magnitude_rule& rule = *o.value_rule;
  if (o.values.tolerance > 0) {
    throw error(status::invalid_argument, "values.tolerance and value_rule: only one of them can be set");
  }
  const auto is_limit = [](double v) { return v > 0 && std::isfinite(v); };
  if ((rule.below != 0) == (rule.shrink != 0) || !is_limit(rule.below + rule.shrink)) {
    throw error(status::invalid_argument,
                fmt::format("value_rule.below = {} and value_rule.shrink = {}: one must be 0, the other finite and above 0",
                            rule.below, rule.shrink));
  }
  if (!(rule.percent > 0 && rule.percent <= 100)) {
    throw error(status::invalid_argument,
                fmt::format("value_rule.percent = {}: must be above 0 and at most 100", rule.percent));
  }
}

/// What the error of a product stays below where values lost bits.
std::string bound_of(const spmv_options& o, double lost) {
  if (lost == 0) return "";
  const bool by_size = o.value_rule.has_value();
  if (by_size || o.values.bound == error_bound::componentwise) {
    return fmt::format("; error of row i at most (gamma(n_i + 2) + {:.2g}) (|A| |x|)_i", by_size ? lost : o.values.tolerance);
  }
  return fmt::format("; error of row i at most gamma(n_i + 2) (|A| |x|)_i + {:.2g} ||{}||x||_inf", o.values.tolerance,
                     o.values.bound == error_bound::row ? "a_i||_1 " : "A||_inf ");
}

const spmv_options& checked_options(const spmv_options& o) {
  if (o.block_size != 0 && (o.block_size < 32 || o.block_size > 1024 || o.block_size % 32 != 0)) {
    refuse("block_size", o.block_size, "a multiple of 32 up to 1024");
  }
  if (o.lanes != 0 && (o.lanes < 1 || o.lanes > 32 || (o.lanes & (o.lanes - 1)) != 0)) {
    refuse("lanes", o.lanes, "1, 2, 4, 8, 16 or 32");
  }
  if (o.sigma != 0 && o.sigma != 1 && (o.sigma < 32 || o.sigma % 32 != 0)) {
    refuse("sigma", o.sigma, "1 or a multiple of 32");
  }
  if (o.block != 0 && (o.block < 2 || o.block > 8)) refuse("block", o.block, "2 to 8");
  if (o.columns < 0) refuse("columns", o.columns, "at least 0");
  if (o.columns_order > vector_order::column_major) {
    refuse("columns_order", static_cast<int>(o.columns_order), "row_major (0) or column_major (1)");
  }
  if (o.effort > spmv_effort::max) refuse("effort", static_cast<int>(o.effort), "none (0), standard (1) or max (2)");
  if (o.reorder > spmv_reorder::always) refuse("reorder", static_cast<int>(o.reorder), "never (0), auto (1) or always (2)");
  check_values(o);
  if (o.policy > spmv_policy::simple) refuse("policy", static_cast<int>(o.policy), "standard (0) or simple (1)");
  return o;
}

constexpr const char* measured_before =
    "the fastest when a matrix with these statistics was measured on this device before";

/// What a plan that was told of several right-hand sides does with them.
std::string of_many(const any_spmv_plan& plan, index_t columns, std::string_view kernel, std::string_view reason) {
  if (columns == 0 || !plan.can(operation::apply_many)) return {};
  const char* const epilogue = plan.can(operation::many_epilogue) ? "the same pass" : "a pass of their own";
  return fmt::format("; {} right-hand sides by {}{}{}, bias and activation in {}", columns, kernel,
                     reason.empty() ? "" : ", ", reason, epilogue);
}

}  // namespace

any_spmv_plan::impl::impl(const context& c, const matrix_ref& a, const spmv_options& o)
    : ctx(c), options(checked_options(o)), source(c, "A", a), dimensions(o.transpose ? shape{a.cols, a.rows} : a.dimensions()) {
  options.vector_type = types().vector;
  detail::check_order(a, options.reorder_method, options.reorder);
  const std::string wanted = requested_kernel(kernel_operation::spmv, ctx.backend(), options.kernel);
  const bool transposes = options.transpose != source.is_transpose();
  // Kernels read x for whole blocks, so a block that reaches past the last column is not for them.
  const std::string for_blocks = wanted.empty() ? std::string(kernel_for_its_blocks()) : wanted;
  const bool reorders = options.reorder == spmv_reorder::always;
  const bool blocks = stays_blocks() && !transposes && !reorders && !options.high_words && a.cols % a.block == 0 &&
                      takes_blocks(for_blocks);
  const bool quick =
      wanted.empty() && !blocks && options.effort == spmv_effort::standard && options.policy == spmv_policy::standard;
  const bool choice_validates = quick && !transposes && !stays_blocks() && !reorders;
  if (options.effort != spmv_effort::none && !choice_validates) source.validate();
  if (!blocks) source.to_csr();
  if (reorders) reorder(transposes);
  if (blocks) {
    named = !wanted.empty();
    count();
    build(find(for_blocks), comes_in_bins() ? "the matrix came in bins of blocks" : "the matrix came in blocks");
  } else if (transposes && !transpose(wanted)) {
    // a kernel that reads the transpose was taken
  } else if (!wanted.empty()) {
    take_named(wanted);
  } else if (options.effort == spmv_effort::none) {
    count();
    build_without_set_up("effort none takes A where it is");
  } else {
    choose(quick);
    if (options.effort == spmv_effort::max && !is_further(types().vector)) tune(max_effort_applications);
  }
  if (options.high_words) {
    if (!kernel->listens_to.high_words) {
      throw error(status::unsupported,
                  fmt::format("high_words: {} does not store values as words ({})", kernel->name, why()));
    }
    by_high_words = make_part_operator(true, false);
  }
  prepare_many(options.effort == spmv_effort::max ? max_effort_applications : measures_nothing);
  const memory_space space = ctx.space();
  facts = {space, space == memory_space::device ? ctx.device() : -1, ctx.stream(), dimensions, *options.vector_type};
  plan_microseconds = microseconds_since(began);
}

/// Of several right-hand sides; its operator where that was made, and why.
struct any_spmv_plan::impl::many_choice {
  const spmv_kernel* kernel = nullptr;
  std::unique_ptr<spmv_operator> op = {};
  std::string reason = {};
};

/// Makes a CSR of the transpose, or takes the kernel that needs none and returns false.
bool any_spmv_plan::impl::transpose(const std::string& wanted) {
  const spmv_kernel& in_place = transposing_kernel(ctx.backend());
  const bool has_one = contains(in_place.types, types());
  if (has_one && wanted == in_place.name) return take_transposing_kernel("asked for by name"), false;
  if (has_one && wanted.empty() && options.effort == spmv_effort::none) {
    return take_transposing_kernel("effort none takes A where it is"), false;
  }
  try {
    source.transpose();
    source.refresh();
  } catch (const error& e) {
    if (!is_out_of_memory(e) || !wanted.empty() || !has_one) throw;
    return take_transposing_kernel("no memory for a CSR of A^T"), false;
  }
  return true;
}

void any_spmv_plan::impl::take_transposing_kernel(const std::string& why) {
  reads_transpose = true;
  count();
  build(transposing_kernel(ctx.backend()), why);
}

void any_spmv_plan::impl::take_named(const std::string& wanted) {
  const spmv_kernel& k = find(wanted);
  if (options.effort == spmv_effort::none && !k.needs_set_up) {
    count();
  } else {
    analyse();
  }
  if (const support s = k.supports(stats, source.ref().types, ctx.info()); !s.ok) {
    throw error(status::unsupported, fmt::format("{} cannot take this matrix: {}", wanted, s.reason));
  }
  named = true;
  build(k, "asked for by name");
}

void any_spmv_plan::impl::analyse() {
  stats = source.statistics();
  source.fit_offsets(offsets_for(source.ref().nnz));
  analysed = true;
}

/// What is known of the matrix without a pass over it. Offsets are not narrowed, only widened where they must be.
void any_spmv_plan::impl::count() {
  stats = {};
  stats.rows = dimensions.rows;
  stats.cols = dimensions.cols;
  stats.nnz = source.ref().nnz;
  stats.mean = dimensions.rows > 0 ? static_cast<double>(stats.nnz) / dimensions.rows : 0;
  if (!stays_blocks() && offsets_for(stats.nnz) == offset_type::i64) source.fit_offsets(offset_type::i64);
}

void any_spmv_plan::impl::build(const spmv_kernel& k, const std::string& why) {
  auto made = k.make(ctx, source.ref(), stats, options);  // beside what there is, which stays where this fails
  if (order) order->make_room(*made, stats.mean, k.has.dots || k.has.jacobi);
  ctx.synchronize();  // apply may come on another stream
  many.reset();
  op = std::move(made);
  kernel = &k;
  reason = why;
}

/// Where that kernel is not built for the types, the first that is and takes the matrix.
void any_spmv_plan::impl::build_without_set_up(const std::string& why) {
  if (const auto* k = spmv_kernel_for(ctx.backend(), kernel_without_set_up(ctx.backend()), types())) return build(*k, why);
  if (!analysed) analyse();
  for (const spmv_kernel& k : spmv_kernels(ctx.backend())) {
    if (k.role != kernel_role::production || !contains(k.types, types())) continue;
    if (k.supports(stats, source.ref().types, ctx.info()).ok) return build(k, why);
  }
  throw error(status::unsupported, fmt::format("no kernel on {} takes this matrix with {}; kernels() lists what there is",
                                               name(ctx.backend()), describe(types())));
}

namespace {
constexpr index_t any_number = 512;  // of right-hand sides
}  // namespace

spmv_options any_spmv_plan::impl::options_for_many() const {
  spmv_options of_many;
  of_many.vector_type = options.vector_type;
  of_many.columns = options.columns;
  of_many.columns_order = options.columns_order;
  // Room for turning column-major vectors is the operator's that takes them.
  const bool takes_columns = options.columns == 0 && kernel->has.many &&
                             suits_many(ctx.backend(), kernel->name, source.ref().types, any_number, /*by_row=*/false);
  of_many.effort = takes_columns ? spmv_effort::none : options.effort;
  return of_many;
}

/// What takes several right-hand sides, made while the plan is: it has set-up, and applications do not allocate.
/// Where the plan was told how many, the kernels that may be the fastest are measured if that is within the budget.
/// What there is already stays until another is made.
void any_spmv_plan::impl::prepare_many(double budget) {
  if (!takes_many_by_another()) return;
  const index_t columns = options.columns;
  const bool told = columns > 1 && options.effort != spmv_effort::none;
  const spmv_kernel* wanted = told ? for_columns(columns) : for_many;
  if (wanted == nullptr || !wanted->supports(stats, source.ref().types, ctx.info()).ok) wanted = for_many;
  const spmv_options of_many = options_for_many();
  many_choice measured;
  if (told && budget > measures_nothing) measured = measure_many(*wanted, of_many, budget);
  if (measured.kernel != nullptr) wanted = measured.kernel;
  const auto keep = [&](std::unique_ptr<spmv_operator> op) {
    many = std::move(op);
    many_reason = std::move(measured.reason);
  };
  if (kernel->has.many) {
    if (options.effort == spmv_effort::none && columns == 0) return keep(nullptr);
    if (told ? is_as_wanted(ctx.info(), stats, source.ref().types, columns, kernel->name, wanted->name)
             : suits_many(ctx.backend(), kernel->name, source.ref().types, columns > 0 ? columns : any_number,
                          columns == 0 || told_by_row())) {
      return keep(nullptr);
    }
  }
  try {
    if (measured.op == nullptr) measured.op = wanted->make(ctx, source.ref(), stats, of_many);
    ctx.synchronize();  // apply_many may come on another stream
    keep(std::move(measured.op));
    many_kernel = wanted;
  } catch (const error& e) {
    // Else what there was does it, or the kernel chosen.
    if (!is_out_of_memory(e) || (many == nullptr && !kernel->has.many)) throw;
  }
}

namespace {
/// Of a search that left kernels out: for plans that may spend as much, which would find one as fast.
std::string key_within(const std::string& key, double budget) {
  return std::isfinite(budget) ? fmt::format("{}/{:.0f}", key, budget) : key;
}
void remember(const tuning& result, const std::string& key, double budget) {
  if (result.lacked_memory) return;
  remember_winner(result.skipped == 0 ? key : key_within(key, budget), result.kernel->name);
}
}  // namespace

const spmv_kernel* any_spmv_plan::impl::remembered_within(const std::string& key, double budget) const {
  const spmv_kernel* const of_all = remembered(key);
  return of_all != nullptr ? of_all : remembered(key_within(key, budget));
}

/// By measurement, or by an earlier one of matrices with the same statistics. No kernel where there is nothing to
/// measure, or no memory for it.
any_spmv_plan::impl::many_choice any_spmv_plan::impl::measure_many(const spmv_kernel& first, const spmv_options& of_many,
                                                                   double budget) {
  std::vector<const spmv_kernel*> candidates;
  for (const std::string_view name :
       worth_measuring_many(ctx.backend(), stats, source.ref().types, of_many.columns, told_by_row())) {
    if (const spmv_kernel* k = spmv_kernel_for(ctx.backend(), name, types())) candidates.push_back(k);
  }
  if (candidates.empty()) return {};
  const std::string key = fmt::format("{}/{} {}", tuning_key(), of_many.columns, name(of_many.columns_order));
  if (const spmv_kernel* known = remembered_within(key, budget)) {
    return {known, nullptr, measured_before};
  }
  try {
    many_choice out{&first, first.make(ctx, source.ref(), stats, of_many)};
    ctx.synchronize();
    tuning result = fastest_kernel(ctx, {source.ref(), stats, of_many, /*many=*/true}, candidates,
                                   {out.kernel, out.op.get()}, budget);
    if (result.faster != nullptr) out = {result.kernel, std::move(result.faster)};
    out.reason = reason_of(result, budget);
    remember(result, key, budget);
    return out;
  } catch (const error& e) {
    if (!is_out_of_memory(e)) throw;
    return {};
  }
}

spmv_operator& any_spmv_plan::impl::many_operator(const const_multivector_ref& x, const const_multivector_ref& y) {
  if (many == nullptr) return *op;
  const bool by_row = x.order == vector_order::row_major && y.order == vector_order::row_major;
  // What a plan was told is what it chose for.
  const bool told = options.columns > 1 && x.count > 1 && by_row == told_by_row();
  const bool suits = !told && kernel->has.many && suits_many(ctx.backend(), kernel->name, source.ref().types, x.count, by_row);
  return suits ? *op : *many;
}

/// Null where there is none, or none that takes this matrix.
const spmv_kernel* any_spmv_plan::impl::remembered(const std::string& key) const {
  const auto known = cached_winner(key);
  const spmv_kernel* k = known ? spmv_kernel_for(ctx.backend(), *known, types()) : nullptr;
  const bool fits =
      k != nullptr && k->role == kernel_role::production && k->supports(stats, source.ref().types, ctx.info()).ok;
  return fits ? k : nullptr;
}

/// What was measured of the plan's matrix, with its options and on this device, is remembered under.
std::string any_spmv_plan::impl::tuning_key() const {
  return fmt::format("{}/{}/{}/{}{}", statistics_hash(stats), types_label(types()), ctx.info().name,
                     ctx.info().multiprocessors, may_lose_bits(options) ? "/lossy" : "");
}

void any_spmv_plan::impl::tune(double budget) {
  if (options.high_words) return;  // one kernel has them
  const std::string key = tuning_key();
  if (const spmv_kernel* known = remembered_within(key, budget)) {
    if (known != kernel) return build(*known, measured_before);
    reason = measured_before;
    return;
  }
  tuning result = fastest_kernel(ctx, {source.ref(), stats, options},
                                 most_promising_first(production_kernels(ctx.backend()), stats, types().matrix(), ctx.info()),
                                 {kernel, op.get()}, budget);
  kernel = result.kernel;
  if (result.faster != nullptr) {
    op = std::move(result.faster);
    if (order) order->make_room(*op, stats.mean, kernel->has.dots || kernel->has.jacobi);
  }
  reason = reason_of(result, budget);
  remember(result, key, budget);
}

any_spmv_plan::any_spmv_plan(const context& ctx, const matrix_ref& a, const spmv_options& options)
    : impl_(std::make_unique<impl>(ctx, a, options)) {
  if (options.reorder == spmv_reorder::automatic) reorder_if_faster(a);
}
any_spmv_plan::any_spmv_plan(any_spmv_plan&&) noexcept = default;
any_spmv_plan& any_spmv_plan::operator=(any_spmv_plan&&) noexcept = default;
any_spmv_plan::~any_spmv_plan() = default;

spmv_operator& detail::operator_of(any_spmv_plan& plan) { return *plan.impl_->op; }
void detail::explain_kernel(any_spmv_plan& plan, const std::string& why) {
  if (!why.empty()) plan.impl_->reason = why;
}

const context& any_spmv_plan::ctx() const noexcept { return impl_->ctx; }
shape any_spmv_plan::dimensions() const noexcept { return impl_->dimensions; }
scalar_type any_spmv_plan::vector_type() const noexcept { return *impl_->options.vector_type; }

const linear_operator::call_facts* any_spmv_plan::kept_facts() const noexcept { return &impl_->facts; }

std::string_view any_spmv_plan::matrix_label() const noexcept { return impl_->options.transpose ? "A^T" : "A"; }

bool any_spmv_plan::can(operation what, bool transposed) const noexcept {
  return !transposed && impl_->can(what);
}

void any_spmv_plan::do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const {
  if (impl_->order) return impl_->order->apply(*impl_->op, alpha, x.data, beta, y.data, how.stream);
  impl_->op->apply(alpha, x.data, beta, y.data, how.stream);
}

void any_spmv_plan::do_apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                                  call how) const {
  spmv_operator& op = impl_->many_operator(x, y);
  if (impl_->order) return impl_->order->apply_many(op, alpha, strided(x), beta, strided(y), how.stream);
  op.apply_many(alpha, strided(x), beta, strided(y), how.stream);
}

void any_spmv_plan::do_apply_many_with(double alpha, const const_multivector_ref& x, double beta,
                                       const multivector_ref& y, const many_epilogue& then, call how) const {
  spmv_operator& op = impl_->many_operator(x, y);
  const spmv_kernel& kernel = &op == impl_->op.get() ? *impl_->kernel : *impl_->many_kernel;
  if (impl_->order || !kernel.has.finish) return linear_operator::do_apply_many_with(alpha, x, beta, y, then, how);
  op.apply_many_with(alpha, strided(x), beta, strided(y), finish_of(then), how.stream);
}

void any_spmv_plan::do_apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                                  const const_vector_ref& w, const vector_ref& dots, call how) const {
  if (impl_->order) return impl_->order->apply_dots(*impl_->op, alpha, x.data, beta, y.data, w.data, dots, how.stream);
  impl_->op->apply_dots(alpha, x.data, beta, y.data, w.data, dots, how.stream);
}

void any_spmv_plan::do_jacobi(double omega, const const_vector_ref& x, const const_vector_ref& b,
                              const const_vector_ref& inverse_diagonal, const vector_ref& y, call how) const {
  if (impl_->order) {
    return impl_->order->apply_jacobi(*impl_->op, omega, x.data, b.data, inverse_diagonal.data, y.data, how.stream);
  }
  impl_->op->apply_jacobi(omega, x.data, b.data, inverse_diagonal.data, y.data, how.stream);
}

void any_spmv_plan::read_values(const const_vector_ref& values) {
  impl_->source.check_values(values);
  impl_->source.update_values(values.data, values.space);
  impl_->source.refresh();
  impl_->op->update_values(impl_->source.ref());
  if (impl_->many != nullptr) impl_->many->update_values(impl_->source.ref());
}

void any_spmv_plan::update_values() {
  const matrix_ref& a = impl_->source.lent();
  read_values({a.types.value, a.values, impl_->source.value_count(), a.space});
}

/// Has the CSR of A, or of A^T, made for kernels that read it, beside what the present kernel reads, which stays where this
/// fails; but a matrix in another order is transposed where it is.
void any_spmv_plan::impl::read_csr_instead() {
  std::optional<detail::operand> before;
  if (!order) before = std::exchange(source, detail::operand(ctx, "A", source.lent()));
  const csr_stats known = stats;
  const bool knew = analysed, anew = reads_transpose || kernel->takes_bsr;
  try {
    source.to_csr();
    if (reads_transpose) {
      source.transpose();
      source.refresh();
    }
    const std::string text = why();
    analyse();
    if (anew) {
      build_without_set_up(text);
    } else {
      build(*kernel, text);
    }
    reads_transpose = false;
  } catch (...) {
    if (before) source = std::move(*before);
    stats = known;
    analysed = knew;
    throw;
  }
}

void any_spmv_plan::autotune() {
  const auto begin = std::chrono::steady_clock::now();
  impl& p = *impl_;
  if (p.stays_blocks() || p.reads_transpose) {
    p.read_csr_instead();
  } else if (!p.analysed) {
    p.analyse();
    p.build(*p.kernel, p.why());
  }
  p.named = false;
  constexpr double whatever = std::numeric_limits<double>::infinity();
  p.tune(whatever);
  p.prepare_many(whatever);
  p.plan_microseconds += microseconds_since(begin);
}

std::string_view any_spmv_plan::kernel() const noexcept { return impl_->kernel->name; }
std::string any_spmv_plan::parameters() const { return impl_->op->parameters(); }
std::size_t any_spmv_plan::matrix_bytes() const noexcept { return impl_->op->matrix_bytes(); }
stored_values any_spmv_plan::stored() const {
  stored_values out = impl_->op->stored();
  if (!out.shares.empty()) return out;
  const scalar_type type = impl_->source.ref().types.value;
  const std::int64_t values = impl_->source.value_count();
  out.shares.push_back({name(type), impl_->dimensions.rows, values, values * static_cast<std::int64_t>(size_of(type))});
  return out;
}
spmv_effort any_spmv_plan::effort() const noexcept { return impl_->options.effort; }
double any_spmv_plan::plan_microseconds() const noexcept { return impl_->plan_microseconds; }
const csr_stats& any_spmv_plan::stats() const noexcept { return impl_->stats; }
std::size_t any_spmv_plan::workspace_bytes() const noexcept {
  return impl_->source.bytes() + impl_->op->workspace_bytes() + (impl_->many ? impl_->many->workspace_bytes() : 0) +
         (impl_->order ? impl_->order->bytes() : 0);
}

std::string any_spmv_plan::explain() const {
  const std::string in_force = parameters();
  return fmt::format("{}: {}{}{}{}{} [{}{}effort {}, planned in {}]", kernel(), impl_->why(),
                     bound_of(impl_->options, stored().lost), impl_->order_reason.empty() ? "" : "; ",
                     impl_->order_reason,
                     of_many(*this, impl_->options.columns, impl_->many ? impl_->many_kernel->name : kernel(),
                             impl_->many_reason),
                     in_force, in_force.empty() ? "" : ", ", name(effort()), detail::as_time{plan_microseconds()});
}

void multiply(const context& ctx, const matrix_ref& a, const const_vector_ref& x, const vector_ref& y, double alpha,
              double beta) {
  const context where = a.space == memory_space::host ? context::cpu(ctx.threads()) : ctx;
  detail::operand(where, "A", a).validate();
  check_memory("x", x.data, x.space);
  check_memory("y", y.data, y.space);
  spmv_options options;
  if (a.format != matrix_format::bsr && a.format != matrix_format::bin_bsr) options.kernel = kernel_without_set_up(ctx.backend());
  options.effort = spmv_effort::none;
  any_spmv_plan(ctx, a, options).apply(alpha, x, beta, y);
  ctx.synchronize();  // the plan's workspace must outlive the kernel
}

}  // namespace tulle
