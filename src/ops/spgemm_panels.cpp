#include "ops/spgemm_panels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends.hpp"

namespace tulle::detail {
namespace {

std::int64_t offset_at(const context& ctx, const csr_ref& a, index_t row) {
  return dispatch<type_set::floating>(a.types, [&]<class T, class O>() -> std::int64_t {
    O value = 0;
    copy_bytes(ctx, &value, memory_space::host, static_cast<const O*>(a.rowptr) + row, a.space, sizeof(O));
    return value;
  });
}

csr_ref rows_of(const context& ctx, const csr_ref& a, index_t begin, index_t end) {
  csr_ref rows = a;
  rows.rows = end - begin;
  rows.nnz = offset_at(ctx, a, end) - offset_at(ctx, a, begin);
  rows.rowptr = static_cast<const char*>(a.rowptr) + static_cast<std::size_t>(begin) * size_of(a.types.offset);
  return rows;
}

}  // namespace

index_t longest_row(const context& ctx, const csr_ref& a) {
  return dispatch<type_set::floating>(
      a.types, [&]<class T, class O>() { return formats_of<T, O>(ctx.backend()).longest_row(ctx, a.as<T, O>()); });
}

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

std::size_t bytes_of_one_row(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                             std::int64_t most_products) {
  if (kernel.workspace_bound == nullptr || problem.a.rows == 0) return 0;
  spgemm_problem row = problem;
  row.a.rows = 1;
  row.a.nnz = longest_row(ctx, problem.a);
  std::int64_t most_entries = problem.b.cols;
  if (problem.mask) {
    row.mask->rows = 1;
    row.mask->nnz = most_entries = longest_row(ctx, *problem.mask);
  }
  return kernel.workspace_bound(ctx, row, {most_products, most_products, std::min(most_products, most_entries)});
}

std::size_t least_limit(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                        const spgemm_work& work) {
  if (kernel.workspace_bound == nullptr) {
    throw error(status::unsupported, fmt::format("memory_limit: nobody knows what {} takes", kernel.name));
  }
  const std::size_t whole = kernel.workspace_bound(ctx, problem, work);
  return problem.a.rows <= 1 ? whole : std::min(whole, bytes_of_one_row(ctx, kernel, problem, work.most_products));
}

void refuse_limit(const context& ctx, const spgemm_kernel& kernel, std::size_t limit, std::size_t least) {
  const auto cause = ctx.backend() == backend_kind::cpu ? status::out_of_memory : status::device_out_of_memory;
  throw error(cause, fmt::format("memory_limit of {} bytes: {} cannot make this product in less than {} bytes", limit,
                                 kernel.name, least));
}

panelled_product::panelled_product(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                                   std::size_t limit)
    : ctx_(ctx), kernel_(&kernel), problem_(problem) {
  const index_t rows = problem.a.rows;
  if (limit == 0) {
    panels_.push_back({0, rows});
    return;
  }
  const spgemm_work work = count_products(ctx, problem);
  const std::size_t least = least_limit(ctx, kernel, problem, work);
  if (limit < least) refuse_limit(ctx, kernel, limit, least);
  if (kernel.workspace_bound(ctx, problem, work) <= limit) {
    panels_.push_back({0, rows});
    return;
  }
  cut(0, rows / 2, limit);
  cut(rows / 2, rows, limit);
}

void panelled_product::cut(index_t begin, index_t end, std::size_t limit) {
  const spgemm_problem rows = panel_of(ctx_, problem_, begin, end);
  if (end - begin <= 1 || kernel_->workspace_bound(ctx_, rows, count_products(ctx_, rows)) <= limit) {
    panels_.push_back({begin, end});
    return;
  }
  const index_t middle = begin + (end - begin) / 2;
  cut(begin, middle, limit);
  cut(middle, end, limit);
}

std::unique_ptr<spgemm_operator> panelled_product::make(const panel& p) const {
  return kernel_->make(ctx_, panels_.size() == 1 ? problem_ : panel_of(ctx_, problem_, p.begin, p.end));
}

void panelled_product::begin(const operand_check& check) {
  make_only();
  operator_->begin(check);
}

bool panelled_product::has_present_values() const noexcept {
  return operator_ != nullptr && made_for_a_ == problem_.a.values && made_for_b_ == problem_.b.values;
}

void panelled_product::make_only() {
  operator_.reset();
  operator_ = make(panels_.front());
  counted_ = false;
  made_for_a_ = problem_.a.values;
  made_for_b_ = problem_.b.values;
}

/// The operator of the only panel, for the present values, with its entries counted.
void panelled_product::build() {
  if (!has_present_values()) make_only();
  if (counted_) return;
  panels_.front().nnz = operator_->symbolic();
  counted_ = true;
}

std::int64_t panelled_product::symbolic() {
  if (nnz_) return *nnz_;
  if (panels_.size() == 1) {
    build();
  } else {
    for (panel& p : panels_) p.nnz = make(p)->symbolic();
  }
  std::int64_t sum = 0;
  for (const panel& p : panels_) sum += p.nnz;
  nnz_ = sum;
  return sum;
}

void panelled_product::fill(double alpha, const csr_sink& c) {
  symbolic();
  if (panels_.size() > 1) return fill_panels(alpha, c);
  build();
  operator_->fill(alpha, c);
}

void panelled_product::fill_panels(double alpha, const csr_sink& c) {
  std::int64_t first = c.first;
  for (const panel& p : panels_) {
    const auto rows = make(p);
    rows->symbolic();
    rows->fill(alpha, part_of(c, p.begin, first));
    first += p.nnz;
  }
}

void panelled_product::numeric(double alpha, const csr_sink& c) {
  if (!counted_) return fill(alpha, c);
  operator_->numeric(alpha, problem_.a.values, problem_.b.values, c);
}

void panelled_product::release() noexcept {
  operator_.reset();
  counted_ = false;
}

void panelled_product::set_values(const void* a, const void* b) noexcept {
  problem_.a.values = a;
  problem_.b.values = b;
}

std::size_t panelled_product::workspace_bytes() const noexcept {
  return operator_ == nullptr ? 0 : operator_->workspace_bytes();
}

}  // namespace tulle::detail
