#include "ops/spmv_plan_impl.hpp"

#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tulle/formats/validate.hpp>

#include "core/backends.hpp"
#include "plan/autotune.hpp"
#include "plan/autotune_cache.hpp"
#include "plan/choose_spmv.hpp"

namespace tulle::detail {
namespace {

/// The kernel that takes every matrix without conversion.
constexpr std::string_view fallback_kernel(backend_kind b) { return b == backend_kind::cpu ? "csr.balanced" : "csr.merge"; }

std::string requested_kernel(const spmv_options& options) {
  if (!options.kernel.empty()) return options.kernel;
  const char* forced = std::getenv("TULLE_KERNEL");
  return forced != nullptr ? forced : "";
}

buffer<std::byte> copy_to(const context& ctx, const void* from, memory_space space, std::size_t bytes) {
  buffer<std::byte> to(ctx, bytes);
  copy_bytes(ctx, to.data(), ctx.space(), from, space, bytes);
  return to;
}

void check_options(const spmv_options& o) {
  const auto refuse = [](std::string_view what, int value, std::string_view right) {
    throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
  };
  if (o.block_size != 0 && (o.block_size < 32 || o.block_size > 1024 || o.block_size % 32 != 0)) {
    refuse("block_size", o.block_size, "a multiple of 32 up to 1024");
  }
  if (o.lanes != 0 && (o.lanes < 1 || o.lanes > 32 || (o.lanes & (o.lanes - 1)) != 0)) {
    refuse("lanes", o.lanes, "1, 2, 4, 8, 16 or 32");
  }
  if (o.sigma != 0 && o.sigma != 1 && (o.sigma < 32 || o.sigma % 32 != 0)) refuse("sigma", o.sigma, "1 or a multiple of 32");
  if (o.block != 0 && (o.block < 2 || o.block > 8)) refuse("block", o.block, "2 to 8");
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}

}  // namespace

const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view wanted, type_key types) {
  std::vector<std::string_view> names;
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (!contains(k.types, types)) continue;
    if (k.name == wanted) return k;
    names.push_back(k.name);
  }
  throw error(status::invalid_argument, fmt::format("no kernel '{}' on backend {} for {} values; there are: {}", wanted,
                                                    name(backend), name(types.value), fmt::join(names, ", ")));
}

spmv_plan_impl::spmv_plan_impl(const context& ctx, const csr_ref& a, const spmv_options& options)
    : ctx_(ctx), a_(a), options_(options) {
  check_options(options);
  if (a.rows < 0 || a.cols < 0 || a.nnz < 0) throw error(status::invalid_dimensions, "A has a negative dimension or nnz");
  if (a.rowptr == nullptr || (a.nnz > 0 && (a.colind == nullptr || a.values == nullptr))) {
    throw error(status::null_pointer, "A has a null array");
  }
  if (a.space == memory_space::device && ctx.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, "A is in device memory and the context is a CPU one: clone A to the host first");
  }
  bring_to_backend();
  analyse();
  fit_offsets();
  pick(options);
}

void spmv_plan_impl::bring_to_backend() {
  if (a_.space == ctx_.space()) return;
  const auto offsets = static_cast<std::size_t>(a_.rows) + 1;
  const auto nnz = static_cast<std::size_t>(a_.nnz);
  own_offsets_ = copy_to(ctx_, a_.rowptr, a_.space, offsets * size_of(a_.types.offset));
  own_columns_ = buffer<index_t>(ctx_, nnz);
  copy_bytes(ctx_, own_columns_.data(), ctx_.space(), a_.colind, a_.space, own_columns_.bytes());
  own_values_ = copy_to(ctx_, a_.values, a_.space, nnz * size_of(a_.types.value));
  a_.rowptr = own_offsets_.data();
  a_.colind = own_columns_.data();
  a_.values = own_values_.data();
  a_.space = ctx_.space();
}

void spmv_plan_impl::analyse() {
  dispatch<type_set::all>(a_.types, [&]<class T, class O>() {
    const auto view = a_.as<T, O>();
    const auto& backend = formats_of<T, O>(ctx_.backend());
    const validation found = backend.validate(ctx_, view, {});
    if (!found.ok()) throw error(status::invalid_structure, "A: " + found.message());
    stats_ = backend.statistics(ctx_, view);
  });
}

/// 4 bytes an offset where they are enough: fewer bytes to move in every application. Where nnz is within reach of
/// 2^31, 8 bytes, so that kernels may count a little past the end of a row.
void spmv_plan_impl::fit_offsets() {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() - (1 << 16);
  const auto fitting = a_.nnz <= limit ? offset_type::i32 : offset_type::i64;
  if (a_.types.offset == fitting) return;
  const auto count = static_cast<std::size_t>(a_.rows) + 1;
  const auto keep = [&](const auto& offsets) { own_offsets_ = copy_to(ctx_, offsets.data(), ctx_.space(), offsets.bytes()); };
  dispatch<type_set::all>(a_.types, [&]<class T, class O>() {
    const auto& backend = formats_of<T, O>(ctx_.backend());
    const auto* rowptr = static_cast<const O*>(a_.rowptr);
    if (fitting == offset_type::i32) {
      keep(backend.narrow_offsets(ctx_, rowptr, count));
    } else {
      keep(backend.widen_offsets(ctx_, rowptr, count));
    }
  });
  a_.rowptr = own_offsets_.data();
  a_.types.offset = fitting;
}

void spmv_plan_impl::pick(const spmv_options& options) {
  if (const std::string wanted = requested_kernel(options); !wanted.empty()) {
    const spmv_kernel& kernel = find_spmv_kernel(ctx_.backend(), wanted, a_.types);
    if (const support s = kernel.supports(stats_, a_.types, ctx_.info()); !s.ok) {
      throw error(status::unsupported, fmt::format("{} cannot take this matrix: {}", wanted, s.reason));
    }
    return build(kernel, "asked for by name");
  }
  const spmv_choice choice = choose_spmv(stats_, a_.types, ctx_.info(), options.policy);
  const spmv_kernel& chosen = find_spmv_kernel(ctx_.backend(), choice.kernel, a_.types);
  if (const support s = chosen.supports(stats_, a_.types, ctx_.info()); !s.ok) {
    return build(find_spmv_kernel(ctx_.backend(), fallback_kernel(ctx_.backend()), a_.types), s.reason);
  }
  try {
    build(chosen, choice.reason);
  } catch (const error& e) {
    if (e.code() != status::out_of_memory && e.code() != status::device_out_of_memory) throw;
    build(find_spmv_kernel(ctx_.backend(), fallback_kernel(ctx_.backend()), a_.types),
          fmt::format("no memory for {}'s copy of the matrix", choice.kernel));
  }
}

void spmv_plan_impl::build(const spmv_kernel& kernel, const std::string& reason) {
  operator_.reset();
  operator_ = kernel.make_plan(ctx_, a_, stats_, options_);
  ctx_.synchronize();  // apply may come on another stream
  kernel_ = &kernel;
  reason_ = reason;
}

void spmv_plan_impl::apply(double alpha, const void* x, std::size_t x_size, double beta, void* y, std::size_t y_size,
                           memory_space space, stream_view stream) {
  if (space != ctx_.space()) {
    throw error(status::invalid_argument, fmt::format("x and y are in {} memory, the plan runs on {}", name(space), name(ctx_.backend())));
  }
  if (x_size != static_cast<std::size_t>(a_.cols)) {
    throw error(status::invalid_dimensions, fmt::format("x has {} elements, A has {} columns", x_size, a_.cols));
  }
  if (y_size != static_cast<std::size_t>(a_.rows)) {
    throw error(status::invalid_dimensions, fmt::format("y has {} elements, A has {} rows", y_size, a_.rows));
  }
  if ((x_size > 0 && x == nullptr) || (y_size > 0 && y == nullptr)) throw error(status::null_pointer, "x or y is null");
  const std::size_t width = size_of(a_.types.value);
  if (overlap(x, x_size * width, y, y_size * width)) throw error(status::invalid_argument, "x and y overlap");
  operator_->apply(alpha, x, beta, y, stream);
}

void spmv_plan_impl::update_values(const void* values, std::size_t size, memory_space space) {
  if (size != static_cast<std::size_t>(a_.nnz)) {
    throw error(status::invalid_dimensions, fmt::format("values has {} elements, A has {} nonzeros", size, a_.nnz));
  }
  if (size > 0 && values == nullptr) throw error(status::null_pointer, "values is null");
  if (space == memory_space::device && ctx_.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, "values is in device memory, the plan runs on cpu");
  }
  if (space == ctx_.space() && own_values_.empty()) {
    a_.values = values;
  } else if (own_values_.empty()) {
    own_values_ = copy_to(ctx_, values, space, size * size_of(a_.types.value));
    a_.values = own_values_.data();
  } else {
    copy_bytes(ctx_, own_values_.data(), ctx_.space(), values, space, own_values_.bytes());
  }
  operator_->update_values(a_);
}

void spmv_plan_impl::autotune() {
  const std::string key = fmt::format("{}/{}.{}/{}/{}", structure_hash(ctx_, a_), name(a_.types.value),
                                      name(a_.types.offset), ctx_.info().name, ctx_.info().multiprocessors);
  if (const auto known = cached_winner(key)) {
    for (const spmv_kernel& k : spmv_kernels(ctx_.backend())) {
      if (k.name == *known && contains(k.types, a_.types) && k.supports(stats_, a_.types, ctx_.info()).ok) {
        return build(k, "the fastest when this structure was measured on this device before");
      }
    }
  }
  const std::size_t width = size_of(a_.types.value);
  buffer<std::byte> x(ctx_, static_cast<std::size_t>(a_.cols) * width);
  buffer<std::byte> y(ctx_, static_cast<std::size_t>(a_.rows) * width);
  fill_bytes(ctx_, x.data(), x.space(), 0, x.bytes());

  const spmv_kernel* best = kernel_;
  double best_time = measure_apply(ctx_, *operator_, x.data(), y.data());
  int measured = 1;
  for (const spmv_kernel& k : spmv_kernels(ctx_.backend())) {
    if (k.reference_only || &k == kernel_ || !contains(k.types, a_.types)) continue;
    if (!k.supports(stats_, a_.types, ctx_.info()).ok) continue;
    try {
      const auto candidate = k.make_plan(ctx_, a_, stats_, options_);
      const double time = measure_apply(ctx_, *candidate, x.data(), y.data());
      ++measured;
      if (time < best_time) std::tie(best, best_time) = std::pair(&k, time);
    } catch (const error& e) {
      if (e.code() != status::out_of_memory && e.code() != status::device_out_of_memory) throw;
    }
  }
  const std::string reason = fmt::format("the fastest of {} kernels measured: {:.1f} us", measured, best_time);
  if (best == kernel_) {
    reason_ = reason;
  } else {
    build(*best, reason);
  }
  remember_winner(key, std::string(best->name));
}

std::string spmv_plan_impl::explain() const {
  const std::string parameters = operator_->parameters();
  return fmt::format("{}: {}{}", kernel_->name, reason_, parameters.empty() ? "" : " [" + parameters + "]");
}

std::size_t spmv_plan_impl::workspace_bytes() const noexcept {
  return own_offsets_.bytes() + own_columns_.bytes() + own_values_.bytes() + operator_->workspace_bytes();
}

}  // namespace tulle::detail
