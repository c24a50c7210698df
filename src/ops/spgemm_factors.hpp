// A, B, M and D made ready for a kernel: checked, on the backend, transposed, sorted, with offsets of one width.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tulle/ops/spgemm.hpp>
#include <vector>

#include "kernels/spgemm.hpp"
#include "ops/operand.hpp"

namespace tulle::detail {

struct spgemm_inputs {
  matrix_ref a;
  matrix_ref b;
  std::optional<matrix_ref> mask = {};
  std::optional<matrix_ref> d = {};
  const char* name_a = "A";
  const char* name_b = "B";
};

class spgemm_factors {
 public:
  /// The first step, so that a product may begin while the device still looks at the operands. Throws
  /// INVALID_DIMENSIONS and what operand throws.
  spgemm_factors(const context& ctx, const spgemm_inputs& in, const spgemm_options& options);
  /// What problem() will be where nothing has to be transposed, sorted or widened; none where that is known not to be
  /// so.
  [[nodiscard]] std::optional<spgemm_problem> expected_problem() const;
  [[nodiscard]] operand_check check() const noexcept;
  /// The second step: waits for the check. Throws INVALID_STRUCTURE. True where problem() is what was expected; else
  /// `finish` makes it.
  bool wait();
  void finish();
  /// All that is left, with present values, where nothing is to begin early.
  void settle() {
    if (!wait()) finish();
    refresh();
  }

  /// M o (A B), or A B where there is no M.
  [[nodiscard]] spgemm_problem problem() const;
  [[nodiscard]] shape dimensions() const noexcept { return shape_; }
  /// Present values in the order that the kernel sees. No allocation, no synchronisation.
  void refresh();
  [[nodiscard]] std::size_t bytes() const noexcept;

  operand& a() noexcept { return a_; }
  operand& b() noexcept { return b_; }
  [[nodiscard]] bool has_d() const noexcept { return d_.has_value(); }
  operand& d() { return d_.value(); }
  [[nodiscard]] const operand& d() const { return d_.value(); }

 private:
  [[nodiscard]] std::array<operand*, 4> operands();
  void look();
  void drop_empty_inner();
  [[nodiscard]] offset_type common_offsets() const;

  context ctx_;
  shape shape_;  // of C
  index_t tile_size_;
  operand a_;
  operand b_;
  bool transpose_a_;  // what is to be done to the sources, of which CSC gives the transposes
  bool transpose_b_;
  std::optional<operand> mask_;
  std::optional<operand> d_;
  std::array<std::size_t, 4> place_{};  // of the pattern of A, B, the mask and D among those that were looked at
  buffer<pattern_counts> counts_;
  std::vector<pattern_counts> found_;
};

}  // namespace tulle::detail
