#include "ops/spgemm_panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/backends.hpp"
#include "core/limited_memory.hpp"
#include "core/memory_status.hpp"
#include "ops/halving.hpp"

namespace tulle::detail {
namespace {

std::int64_t offset_at(const context& ctx, const matrix_ref& a, index_t row) {
  return dispatch<type_set::all>(a.types, [&]<class T, class O>() -> std::int64_t {
    O value = 0;
    copy_bytes(ctx, &value, memory_space::host, static_cast<const O*>(a.rowptr) + row, a.space, sizeof(O));
    return value;
  });
}

matrix_ref rows_of(const context& ctx, const matrix_ref& a, index_t begin, index_t end) {
  matrix_ref rows = a;
  rows.rows = end - begin;
  rows.nnz = offset_at(ctx, a, end) - offset_at(ctx, a, begin);
  rows.rowptr = static_cast<const char*>(a.rowptr) + static_cast<std::size_t>(begin) * size_of(a.types.offset);
  return rows;
}

}  // namespace

spgemm_problem panel_of(const context& ctx, const spgemm_problem& problem, index_t begin, index_t end) {
  spgemm_problem rows = problem;
  rows.a = rows_of(ctx, problem.a, begin, end);
  if (problem.mask) rows.mask = rows_of(ctx, *problem.mask, begin, end);
  return rows;
}

csr_sink part_of(const csr_sink& c, index_t begin, std::int64_t first) {
  csr_sink rows = c;
  rows.first = first;
  rows.rowptr = static_cast<char*>(c.rowptr) + static_cast<std::size_t>(begin) * size_of(c.offset);
  return rows;
}

void refuse_limit(memory_space space, std::size_t limit, index_t begin, index_t end, std::size_t needed) {
  const std::string what = end > begin ? fmt::format("row {}", begin) : "a product without rows";
  throw limit_exceeded(
      out_of(space), fmt::format("memory_limit of {} bytes: {} needs at least {} bytes", limit, what, needed), needed);
}

panelled_product::panelled_product(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                                   std::size_t limit)
    : ctx_(ctx),
      limited_(limit == 0 ? ctx : ctx.with_memory(std::make_shared<limited_memory>(ctx, limit))),
      limit_(limit),
      kernel_(&kernel),
      problem_(problem),
      panels_{{0, problem.a.rows}} {}

bool panelled_product::is_whole(const panel& p) const noexcept { return p.end - p.begin == problem_.a.rows; }

std::unique_ptr<spgemm_operator> panelled_product::make(const panel& p) const {
  return kernel_->make(limited_, is_whole(p) ? problem_ : panel_of(ctx_, problem_, p.begin, p.end));
}

void panelled_product::begin(const operand_check& check) {
  make_only();
  operator_->begin(check);
}

bool panelled_product::has_present_values() const noexcept {
  return operator_ != nullptr && made_for_a_ == problem_.a.values && made_for_b_ == problem_.b.values;
}

void panelled_product::make_only() {
  release();
  operator_ = make(panels_.front());
  made_for_a_ = problem_.a.values;
  made_for_b_ = problem_.b.values;
}

/// Entries of the only panel, whose operator is there then, for the present values.
std::int64_t panelled_product::build() {
  if (!has_present_values()) make_only();
  try {
    if (!counted_) counted_ = operator_->symbolic();
  } catch (...) {
    release();
    throw;
  }
  return *counted_;
}

/// Calls work(panel) for panels that keep the limit, in place of those there are.
template <class F>
void panelled_product::for_each_panel(const F& work) {
  halving halves(ctx_, problem_);
  std::vector<panel> kept;
  const auto attempt = [&](index_t begin, index_t end) {
    try {
      work(panel{begin, end});
      kept.push_back({begin, end});
      return true;
    } catch (const limit_exceeded& e) {
      release();
      if (end - begin <= 1) refuse_limit(ctx_.space(), limit_, begin, end, e.needed());
      return false;
    }
  };
  for (const panel& p : panels_) halves.run(p.begin, p.end, attempt);
  panels_ = std::move(kept);
}

std::int64_t panelled_product::symbolic() {
  if (nnz_) return *nnz_;
  std::int64_t sum = 0;
  for_each_panel([&](const panel& p) { sum += is_whole(p) ? build() : make(p)->symbolic(); });
  nnz_ = sum;
  return sum;
}

/// What could be counted under the limit may pass it still when it is filled.
void panelled_product::fill(double alpha, const csr_sink& c) {
  symbolic();
  std::int64_t first = c.first;
  for_each_panel([&](const panel& p) {
    if (is_whole(p)) {
      build();
      return operator_->fill(alpha, c);
    }
    const auto rows = make(p);
    const std::int64_t nnz = rows->symbolic();
    rows->fill(alpha, part_of(c, p.begin, first));
    first += nnz;
  });
}

void panelled_product::numeric(double alpha, const csr_sink& c) {
  if (!counted_) return fill(alpha, c);
  operator_->numeric(alpha, problem_.a.values, problem_.b.values, c);
}

void panelled_product::release() noexcept {
  operator_.reset();
  counted_.reset();
}

void panelled_product::set_values(const void* a, const void* b) noexcept {
  problem_.a.values = a;
  problem_.b.values = b;
}

std::size_t panelled_product::workspace_bytes() const noexcept {
  return operator_ == nullptr ? 0 : operator_->workspace_bytes();
}

}  // namespace tulle::detail
