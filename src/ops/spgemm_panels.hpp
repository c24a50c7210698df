// A product in one go, or by panels of rows where it would pass a limit of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/spgemm.hpp"

namespace tulle::detail {

/// Entries of the longest row.
index_t longest_row(const context& ctx, const csr_ref& a);

/// Rows begin .. end - 1 of the problem.
spgemm_problem panel_of(const context& ctx, const spgemm_problem& problem, index_t begin, index_t end);

/// Where those rows go when `first` entries come before them.
csr_sink part_of(const csr_sink& c, index_t begin, std::int64_t first);

/// The most bytes that one row takes, whichever it is: `most_products` of work. 0 where the kernel has no bound.
std::size_t bytes_of_one_row(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                             std::int64_t most_products);

/// The smallest limit that panels of rows can keep. Throws UNSUPPORTED where the kernel has no bound.
std::size_t least_limit(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                        const spgemm_work& work);

/// Throws what an allocation on the context would: OUT_OF_MEMORY or DEVICE_OUT_OF_MEMORY.
[[noreturn]] void refuse_limit(const context& ctx, const spgemm_kernel& kernel, std::size_t limit, std::size_t least);

/// As spgemm_operator, whose contract it keeps but for this: with several panels nothing is kept from one call to the
/// next but where they begin and nnz(C), and numeric does all the work again. Under a limit the whole is tried first,
/// and what passes it is halved: what a product takes is known to the byte only when its rows have been counted.
class panelled_product {
 public:
  /// Throws UNSUPPORTED where a limit is set and the kernel has no bound, and OUT_OF_MEMORY or DEVICE_OUT_OF_MEMORY
  /// saying the least that would do. 0: no limit.
  panelled_product(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem, std::size_t limit);

  /// What can be enqueued before the operands are known to be sound (spgemm_operator::begin). Only without a limit.
  void begin(const operand_check& check);
  /// Once more than once costs nothing.
  std::int64_t symbolic();
  void fill(double alpha, const csr_sink& c);
  void numeric(double alpha, const csr_sink& c);
  /// Gives back what the operator of a product in one go holds; nnz(C) stays known.
  void release() noexcept;
  /// Other arrays with the values of A and B.
  void set_values(const void* a, const void* b) noexcept;

  /// Known once `symbolic` and `fill` have run.
  [[nodiscard]] std::size_t panels() const noexcept { return panels_.size(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  struct panel {
    index_t begin;
    index_t end;
  };
  void make_only();
  std::int64_t build();
  [[nodiscard]] bool has_present_values() const noexcept;
  template <class F>
  void for_each_panel(const F& work);
  [[nodiscard]] bool is_whole(const panel& p) const noexcept;
  [[nodiscard]] std::unique_ptr<spgemm_operator> make(const panel& p) const;

  context ctx_;
  context limited_;  // the same, within the limit
  const spgemm_kernel* kernel_;
  spgemm_problem problem_;
  std::vector<panel> panels_;
  std::optional<std::int64_t> nnz_;
  std::unique_ptr<spgemm_operator> operator_;  // of the only panel
  std::optional<std::int64_t> counted_;        // its entries, where its symbolic has run
  const void* made_for_a_ = nullptr;           // the values that it was made for
  const void* made_for_b_ = nullptr;
};

}  // namespace tulle::detail
