// A, B, M and D made ready for a kernel: checked, on the backend, turned, sorted, with offsets of one width.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tulle/ops/spgemm.hpp>
#include <vector>

#include "kernels/spgemm.hpp"
#include "ops/spgemm_operand.hpp"

namespace tulle::detail {

struct spgemm_inputs {
  csr_ref a;
  csr_ref b;
  std::optional<csr_ref> mask = {};
  std::optional<csr_ref> d = {};
  const char* name_a = "A";
  const char* name_b = "B";
};

class spgemm_factors {
 public:
  /// Throws INVALID_DIMENSIONS, INVALID_STRUCTURE and what spgemm_operand throws.
  spgemm_factors(const context& ctx, const spgemm_inputs& in, const spgemm_options& options);

  /// The same in two steps, so that a product may begin while the device still looks at the operands.
  struct begin_only {};
  spgemm_factors(const context& ctx, const spgemm_inputs& in, const spgemm_options& options, begin_only);
  /// What problem() will be where nothing has to be turned, sorted or widened; none where that is known not to be so.
  [[nodiscard]] std::optional<spgemm_problem> expected_problem() const;
  [[nodiscard]] operand_check check() const noexcept;
  /// The second step: waits for the check. Throws where an operand is broken. True where problem() is what was
  /// expected; else `finish` makes it.
  bool wait();
  void finish();

  /// M o (A B), or A B where there is no M.
  [[nodiscard]] spgemm_problem problem() const;
  [[nodiscard]] shape dimensions() const noexcept { return shape_; }
  /// Present values in the order that the kernel sees. No allocation, no synchronisation.
  void refresh();
  [[nodiscard]] std::size_t bytes() const noexcept;

  spgemm_operand& a() noexcept { return a_; }
  spgemm_operand& b() noexcept { return b_; }
  [[nodiscard]] bool has_d() const noexcept { return d_.has_value(); }
  spgemm_operand& d() { return d_.value(); }
  [[nodiscard]] const spgemm_operand& d() const { return d_.value(); }

 private:
  [[nodiscard]] std::array<spgemm_operand*, 4> operands();
  void look();
  void arrange();
  [[nodiscard]] offset_type common_offsets() const;
  void fit_offsets();

  context ctx_;
  shape shape_;  // of C
  bool transpose_a_;
  bool transpose_b_;
  index_t tile_size_;
  spgemm_operand a_;
  spgemm_operand b_;
  std::optional<spgemm_operand> mask_;
  std::optional<spgemm_operand> d_;
  std::array<std::size_t, 4> place_{};  // of the pattern of A, B, the mask and D among those that were looked at
  buffer<pattern_counts> counts_;
  std::vector<pattern_counts> found_;
};

}  // namespace tulle::detail
