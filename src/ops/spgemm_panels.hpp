// A product in one go, or by panels of rows where it would pass a limit of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/spgemm.hpp"

namespace tulle::detail {

/// Rows begin .. end - 1 of a product.
struct row_panel {
  index_t begin;
  index_t end;

  [[nodiscard]] index_t rows() const noexcept { return end - begin; }
};

/// Those rows of the problem.
spgemm_problem panel_of(const context& ctx, const spgemm_problem& problem, row_panel rows);

/// Where rows from `begin` on go when `first` entries come before them.
csr_sink part_of(const csr_sink& c, index_t begin, std::int64_t first);

/// A product with the functions of spgemm_operator. Under a limit the whole is tried first, and rows that pass the
/// limit are halved: what they take is known only once they are counted. With several panels only their bounds and
/// nnz(C) are kept from one call to the next, and numeric repeats all the work.
class panelled_product {
 public:
  /// 0: no limit, and the kernel's operator is made here. The functions below throw limit_exceeded where one row passes
  /// the limit.
  panelled_product(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem, std::size_t limit);

  /// spgemm_operator::begin. Only without a limit.
  void begin(const operand_check& check) { operator_->begin(check); }
  /// Repeated calls are free.
  std::int64_t symbolic();
  void fill(const spgemm_values& values, const csr_sink& c);
  void numeric(const spgemm_values& values, const csr_sink& c);
  /// Frees what the operator of a product in one panel holds, where there is a limit; nnz(C) stays known.
  void release() noexcept;

  /// Known once `symbolic` and `fill` have run.
  [[nodiscard]] std::size_t panels() const noexcept { return panels_.size(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  std::int64_t count_whole();
  [[nodiscard]] bool is_whole(row_panel p) const noexcept { return p.rows() == problem_.a.rows; }
  [[nodiscard]] std::unique_ptr<spgemm_operator> make(row_panel p) const;

  context ctx_;
  context limited_;  // the same, within the limit
  std::size_t limit_;
  const spgemm_kernel* kernel_;
  spgemm_problem problem_;
  std::vector<row_panel> panels_;
  std::optional<std::int64_t> nnz_;
  std::unique_ptr<spgemm_operator> operator_;  // of the whole; under a limit only once it has counted
};

}  // namespace tulle::detail
