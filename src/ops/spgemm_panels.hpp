// A product in one go, or by panels of rows where it would pass a limit of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/spgemm.hpp"

namespace tulle::detail {

/// Rows begin .. end - 1 of the problem.
spgemm_problem panel_of(const context& ctx, const spgemm_problem& problem, index_t begin, index_t end);

/// Where those rows go when `first` entries come before them.
csr_sink part_of(const csr_sink& c, index_t begin, std::int64_t first);

/// Throws limit_exceeded: rows begin .. end - 1, one or none, need at least `needed` bytes.
[[noreturn]] void refuse_limit(memory_space space, std::size_t limit, index_t begin, index_t end, std::size_t needed);

/// A product with the functions of spgemm_operator. Under a limit the whole is tried first, and rows that pass the
/// limit are halved: what they take is known only once they are counted. With several panels only their bounds and
/// nnz(C) are kept from one call to the next, and numeric repeats all the work.
class panelled_product {
 public:
  /// 0: no limit. The functions below throw limit_exceeded where one row passes it.
  panelled_product(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem, std::size_t limit);

  /// spgemm_operator::begin. Only without a limit.
  void begin(const operand_check& check);
  /// Repeated calls are free.
  std::int64_t symbolic();
  void fill(double alpha, const csr_sink& c);
  void numeric(double alpha, const csr_sink& c);
  /// Frees what the operator of a product in one panel holds; nnz(C) stays known.
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
  std::size_t limit_;
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
