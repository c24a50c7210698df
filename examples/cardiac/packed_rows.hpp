// A matrix in the library's `packed` storage on a GPU, where rows of floats share slices of f32 values: from internal
// headers, as the kernels of a step are the example's own (step.cuh).
#pragma once

#include <optional>
#include <string>
#include <tulle/tulle.hpp>

#include "cuda/spmv/packed_build.hpp"

namespace cardiac {

class packed_rows {
 public:
  /// A is on the host.
  packed_rows(const tulle::context& ctx, const tulle::csr<double>& a);

  [[nodiscard]] tulle::cuda::packed_pattern pattern() const { return pattern_->view(); }
  [[nodiscard]] int height() const { return pattern_->height(); }
  /// Of a slice: values[slice.values] and on, floats or doubles, as slice.form says.
  [[nodiscard]] const std::byte* values() const { return values_.data(); }
  [[nodiscard]] std::size_t bytes() const { return pattern_->bytes() + values_.bytes(); }
  [[nodiscard]] bool has_floats() const { return pattern_->counts().rows[tulle::place_of(tulle::f32_form)] > 0; }
  [[nodiscard]] std::string parameters() const;

 private:
  std::optional<tulle::cuda::packed_storage> pattern_;
  tulle::buffer<std::byte> values_;
};

}  // namespace cardiac
