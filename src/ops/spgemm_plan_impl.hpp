// The type-erased half of spgemm_plan: everything but the value type of C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "ops/spgemm_factors.hpp"
#include "ops/spgemm_join.hpp"
#include "ops/spgemm_panels.hpp"
#include "plan/choose_spgemm.hpp"

namespace tulle::detail {

/// Without D one product; with D the product of [alpha A | I] and [B ; beta D]; with D and a mask two products: the
/// masked one, C1, and then [I | I] [C1 ; beta D].
class spgemm_plan_impl {
 public:
  spgemm_plan_impl(const context& ctx, const spgemm_inputs& in, const spgemm_options& options);

  /// The values that the next fill takes. Neither allocates nor synchronises.
  void set_values(double alpha, double beta);
  std::int64_t symbolic();
  [[nodiscard]] std::int64_t nnz() const noexcept { return nnz_.value_or(0); }
  void fill(const csr_sink& c);
  void numeric(double alpha, double beta, const csr_sink& c);
  void update_values(const void* a, const void* b, const void* d);
  std::int64_t products();

  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept { return factors_.dimensions(); }
  [[nodiscard]] std::string_view kernel() const noexcept { return choice_.kernel->name; }
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;
  /// Whether a C was made, which numeric can write into.
  [[nodiscard]] bool filled() const noexcept { return filled_; }

 private:
  void choose(const spgemm_problem& problem, const spgemm_options& options);
  bool begin(const spgemm_options& options);
  void join();
  void add_d();

  context ctx_;
  std::size_t limit_;
  spgemm_factors factors_;
  spgemm_choice choice_;
  std::optional<beside_identity> left_;  // with D and no mask
  std::optional<above> right_;           // with D
  std::optional<two_identities> ones_;   // with D and a mask
  std::optional<panelled_product> product_;
  std::optional<panelled_product> sum_;  // with D and a mask
  csr_sink masked_;                      // where the masked product goes then
  std::optional<std::int64_t> nnz_;
  std::optional<std::int64_t> products_;
  double alpha_ = 1;
  double beta_ = 0;
  bool has_values_ = false;
  bool filled_ = false;
};

}  // namespace tulle::detail
