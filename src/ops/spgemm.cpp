// A plan of C = M o (alpha A B) + beta D. Without D it holds one product; with D the product is held as a matrix, and C
// is its sum with beta D.
#include <fmt/format.h>

#include <limits>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spgemm.hpp>

#include "kernels/backends.hpp"
#include "ops/owned_csr.hpp"
#include "ops/spgemm_factors.hpp"
#include "ops/spgemm_panels.hpp"
#include "ops/vector_checks.hpp"
#include "plan/choose_spgemm.hpp"

namespace tulle {

namespace detail {

struct spgemm_plan_impl {
  spgemm_plan_impl(const context& on, const spgemm_inputs& in, const spgemm_options& options)
      : ctx(on),
        limit(options.memory_limit),
        eliminates_zeros(options.eliminate_zeros),
        factors(on, in, options),
        c_types(in.a.types) {
    try {  // the product is set going, where it can be, before the operands are known to be sound
      const std::optional<spgemm_problem> expected = factors.expected_problem();
      if (expected && limit == 0) choice = choose_spgemm(ctx, *expected, options.kernel);
      if (choice.kernel != nullptr && choice.kernel->begins_early) {
        product.emplace(ctx, *choice.kernel, *expected, limit);
        product->begin(factors.check());
      }
    } catch (const error&) {  // a broken operand comes first; else the same happens again below, or no more
      product.reset();
    }
    if (factors.wait() && product) return;
    product.reset();
    factors.finish();
    choice = choose_spgemm(ctx, factors.problem(), options.kernel);
    product.emplace(ctx, *choice.kernel, factors.problem(), limit);
  }

  /// The present ones, in the order of the patterns that the kernel sees. Neither allocates nor synchronises.
  spgemm_values values(double alpha, double beta) {
    check_factor("alpha", alpha, c_types.value);
    check_factor("beta", beta, c_types.value);
    if (beta != 0 && !factors.has_d()) {
      throw error(status::invalid_argument, fmt::format("beta = {} without a D", beta));
    }
    made_for.reset();
    factors.refresh();
    return factors.problem().values(alpha);
  }

  /// With D the product is made on the way, whose pattern is C's but for the entries of D.
  void count(const spgemm_values& v) {
    if (nnz) return;
    const std::int64_t of_product = product->symbolic();
    if (!factors.has_d()) {
      c_types.offset = offsets_for(of_product);
      nnz = of_product;
      return;
    }
    operand& d = factors.d();
    c_types.offset = offsets_for(of_product + d.ref().nnz);
    d.fit_offsets(c_types.offset);
    product_c = new_csr(ctx, factors.dimensions(), of_product, c_types);
    product->fill(v, sink_of(product_c));
    made_for = v.alpha;
    product->release();
    sum = std::make_shared<const entry_map>(matrices_of(ctx.backend()).add_pattern(ctx, product_c, d.ref()));
    nnz = static_cast<std::int64_t>(sum->colind.size());
  }

  /// Its arrays uninitialised, but for the pattern of a sum.
  matrix_ref new_c() {
    if (!sum) return new_csr(ctx, factors.dimensions(), *nnz, c_types);
    const std::size_t bytes = static_cast<std::size_t>(*nnz) * size_of(c_types.value);
    auto owner = std::make_shared<own_array<buffer<std::byte>>>(buffer<std::byte>(ctx, bytes), sum);
    matrix_ref c = pattern_of_sum();
    c.values = owner->first.data();
    c.owner = std::move(owner);
    return c;
  }

  /// Throws where C cannot be one that the plan made.
  void check_c(const matrix_ref& c) const {
    if (!filled) throw error(status::invalid_argument, "numeric writes into a C of multiply: none was made yet");
    const auto [rows, cols] = factors.dimensions();
    if (c.rows != rows || c.cols != cols || c.nnz != *nnz) {
      throw error(status::invalid_dimensions, fmt::format("C is {} x {} with {} entries, the plan's is {} x {} with {}",
                                                          c.rows, c.cols, c.nnz, rows, cols, *nnz));
    }
    if (c.format != matrix_format::csr || c.types != c_types) {
      throw error(
          status::invalid_argument,
          fmt::format("C is {} of {} values with {} offsets, that of multiply is CSR of {} with {}", name(c.format),
                      name(c.types.value), name(c.types.offset), name(c_types.value), name(c_types.offset)));
    }
    if (c.space != ctx.space()) {
      throw error(status::invalid_argument,
                  fmt::format("C is in {} memory, the plan runs on {}", name(c.space), name(ctx.backend())));
    }
  }

  /// With D: C without values.
  matrix_ref pattern_of_sum() const {
    matrix_ref c = product_c;
    c.nnz = c.stored = *nnz;
    c.rowptr = data_of(sum->rowptr);
    c.colind = sum->colind.data();
    c.owner = sum;
    return c;
  }

  /// With D: the values of C from those of the product.
  void add_d(const spgemm_values& v, double beta, void* values) {
    if (made_for != v.alpha) product->numeric(v, sink_of(product_c));
    made_for.reset();
    product->release();
    matrices_of(ctx.backend()).add_values(ctx, 1, product_c, beta, factors.d().ref(), pattern_of_sum(), values);
  }

  context ctx;
  std::size_t limit;
  bool eliminates_zeros;
  spgemm_factors factors;
  spgemm_choice choice;
  std::optional<panelled_product> product;
  std::optional<std::int64_t> products;
  std::optional<std::int64_t> nnz;
  type_key c_types;                      // of a C that multiply makes, once it is counted
  bool filled = false;                   // whether a C was made, which numeric can write into
  matrix_ref product_c;                  // with D: M o (alpha A B)
  std::shared_ptr<const entry_map> sum;  // with D: the pattern of C, which every C shares
  std::optional<double> made_for;        // with D: the alpha of product_c, where its values are the present ones
};

namespace {

/// Throws where `values` cannot take the place of the operand's.
void check_values(const context& ctx, const char* name, const const_vector_ref& values, const operand& of) {
  vector_rules{ctx.space(), ctx.device(), of.given().types.value}.check_size(name, values, of.value_count());
  require_no_stride("update_values", {{name, values}});
}

}  // namespace
}  // namespace detail

any_spgemm_plan::any_spgemm_plan(const context& ctx, const matrix_ref& a, const matrix_ref& b,
                                 const spgemm_options& options, const spgemm_terms& terms)
    : impl_(
          std::make_unique<detail::spgemm_plan_impl>(ctx, detail::spgemm_inputs{a, b, terms.mask, terms.d}, options)) {}
any_spgemm_plan::any_spgemm_plan(any_spgemm_plan&&) noexcept = default;
any_spgemm_plan& any_spgemm_plan::operator=(any_spgemm_plan&&) noexcept = default;
any_spgemm_plan::~any_spgemm_plan() = default;

void any_spgemm_plan::symbolic() {
  if (!impl_->nnz) impl_->count(impl_->values(1, 0));
}

std::int64_t any_spgemm_plan::nnz() const noexcept { return impl_->nnz.value_or(0); }

matrix_ref any_spgemm_plan::multiply(double alpha, double beta) {
  const spgemm_values values = impl_->values(alpha, beta);
  impl_->count(values);
  const matrix_ref c = impl_->new_c();
  impl_->sum ? impl_->add_d(values, beta, const_cast<void*>(c.values))
             : impl_->product->fill(values, detail::sink_of(c));
  impl_->filled = true;
  return impl_->eliminates_zeros ? eliminate_zeros(ctx(), c) : c;
}

void any_spgemm_plan::multiply_into(const csr_arrays& c, double alpha, double beta) {
  const spgemm_values values = impl_->values(alpha, beta);
  impl_->count(values);
  if (c.rowptr == nullptr || (nnz() > 0 && (c.colind == nullptr || c.values == nullptr))) {
    throw error(status::null_pointer, "an array of C is null");
  }
  if (c.offset == offset_type::i32 && nnz() > std::numeric_limits<std::int32_t>::max()) {
    throw error(status::overflow, fmt::format("C has {} entries, which 32-bit offsets do not hold", nnz()));
  }
  if (impl_->eliminates_zeros) throw error(status::unsupported, "multiply_into with eliminate_zeros");
  if (impl_->sum) {
    const matrix_ref pattern = impl_->pattern_of_sum();
    detail::copy_offsets(ctx(), pattern, c.offset, c.rowptr);
    copy_bytes(ctx(), c.colind, ctx().space(), pattern.colind, ctx().space(), impl_->sum->colind.bytes());
    impl_->add_d(values, beta, c.values);
  } else {
    impl_->product->fill(values, {c.offset, 0, c.rowptr, c.colind, c.values});
  }
  impl_->filled = true;
}

void any_spgemm_plan::numeric(const matrix_ref& c, double alpha, double beta) {
  if (impl_->eliminates_zeros) {
    throw error(status::invalid_argument, "numeric: a C without its zeros is not filled anew; use multiply");
  }
  impl_->check_c(c);
  const spgemm_values values = impl_->values(alpha, beta);
  impl_->sum ? impl_->add_d(values, beta, const_cast<void*>(c.values))
             : impl_->product->numeric(values, detail::sink_of(c));
}

void any_spgemm_plan::read_values(const const_vector_ref& a, const const_vector_ref& b,
                                  const std::optional<const_vector_ref>& d) {
  detail::spgemm_factors& of = impl_->factors;
  if (d && !of.has_d()) throw error(status::invalid_argument, "values of D for a plan without a D");
  detail::check_values(ctx(), "a", a, of.a());
  detail::check_values(ctx(), "b", b, of.b());
  if (d) detail::check_values(ctx(), "d", *d, of.d());
  of.a().update_values(a.data, a.space);
  of.b().update_values(b.data, b.space);
  if (d) of.d().update_values(d->data, d->space);
}

std::string_view any_spgemm_plan::kernel() const noexcept { return impl_->choice.kernel->name; }

std::string any_spgemm_plan::explain() const {
  std::string said = fmt::format("{}: {}", kernel(), impl_->choice.reason);
  if (const std::size_t panels = impl_->product->panels(); panels > 1) {
    said += fmt::format(" [{} panels of rows under a limit of {} bytes]", panels, impl_->limit);
  }
  return said;
}

std::int64_t any_spgemm_plan::products() {
  if (!impl_->products) impl_->products = count_products(ctx(), impl_->factors.problem()).products;
  return *impl_->products;
}

std::size_t any_spgemm_plan::workspace_bytes() const noexcept {
  std::size_t bytes = impl_->factors.bytes() + impl_->product->workspace_bytes();
  if (impl_->sum) {
    bytes += detail::csr_bytes(dimensions().rows, impl_->product_c.nnz, impl_->c_types) + impl_->sum->colind.bytes() +
             std::visit([](const auto& offsets) { return offsets.bytes(); }, impl_->sum->rowptr);
  }
  return bytes;
}

shape any_spgemm_plan::dimensions() const noexcept { return impl_->factors.dimensions(); }
const context& any_spgemm_plan::ctx() const noexcept { return impl_->ctx; }

matrix_ref spgemm(const context& ctx, const matrix_ref& a, const matrix_ref& b, const spgemm_options& options) {
  matrix_ref c = any_spgemm_plan(ctx, a, b, options).multiply();
  ctx.synchronize();  // A and B may go after this
  return c;
}

matrix_ref spgemm_masked(const context& ctx, const matrix_ref& a, const matrix_ref& b, const matrix_ref& mask,
                         const spgemm_options& options) {
  matrix_ref c = any_spgemm_plan(ctx, a, b, options, {.mask = mask}).multiply();
  ctx.synchronize();
  return c;
}

}  // namespace tulle
