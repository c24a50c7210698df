// What a plan of C = M o (alpha A B) + beta D holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/matrix.hpp"
#include "ops/spgemm_factors.hpp"
#include "ops/spgemm_panels.hpp"
#include "plan/choose_spgemm.hpp"

namespace tulle::detail {

/// Without D one product; with D the product is held here, and C is its sum with beta D.
class spgemm_plan_impl {
 public:
  spgemm_plan_impl(const context& ctx, const spgemm_inputs& in, const spgemm_options& options);

  std::int64_t symbolic();
  [[nodiscard]] std::int64_t nnz() const noexcept { return nnz_.value_or(0); }
  /// Offsets of a C that `multiply` makes, once `symbolic` has run.
  [[nodiscard]] type_key c_types() const noexcept { return c_types_; }
  /// A new C.
  matrix_ref multiply(double alpha, double beta);
  void fill(double alpha, double beta, const csr_sink& c);
  void numeric(double alpha, double beta, const csr_sink& c);
  void update_values(const const_vector_ref& a, const const_vector_ref& b, const std::optional<const_vector_ref>& d);
  std::int64_t products();

  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept { return factors_.dimensions(); }
  [[nodiscard]] std::string_view kernel() const noexcept { return choice_.kernel->name; }
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Whether a C was made, which numeric can write into.
  [[nodiscard]] bool filled() const noexcept { return filled_; }
  [[nodiscard]] bool eliminates_zeros() const noexcept { return eliminates_zeros_; }

 private:
  void choose(const spgemm_problem& problem, const spgemm_options& options);
  bool begin(const spgemm_options& options);
  void set_values(double alpha, double beta);
  void count(double alpha);
  std::int64_t add_pattern_of_d(std::int64_t nnz, double alpha);
  [[nodiscard]] matrix_ref pattern_of_c() const;
  void add_d(double alpha, double beta, void* values);

  context ctx_;
  std::size_t limit_;
  bool eliminates_zeros_;
  spgemm_factors factors_;
  spgemm_choice choice_;
  std::optional<panelled_product> product_;
  matrix_ref product_c_;                  // with D: M o (alpha A B)
  std::shared_ptr<const entry_map> sum_;  // with D: the pattern of C, which every C shares
  type_key c_types_;
  std::optional<std::int64_t> nnz_;
  std::optional<std::int64_t> products_;
  bool filled_ = false;
  std::optional<double> made_for_;  // with D: the alpha of product_c_, where its values are the present ones
};

}  // namespace tulle::detail
