// What the operators over blocks share: a storage (kernels/bsr_block.hpp, kernels/block_input.hpp) that follows new
// values.
#pragma once

#include "cuda/spmv/fused_operator.cuh"

namespace tulle::cuda {

/// Self is as fused_operator wants it. Storage is made of (context, matrix, statistics, options).
template <class Self, class V, class Storage>
class block_operator : public fused_operator<Self, device_operator<V>> {
 public:
  block_operator(const context& ctx, int threads, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : fused_operator<Self, device_operator<V>>(ctx, threads), storage_(ctx, a, s, o) {}

  void update_values(const matrix_ref& a) final { storage_.update_values(a); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept final {
    return storage_.owned_bytes() + this->dots_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept final { return storage_.bytes(); }
  [[nodiscard]] std::string parameters() const override { return "block=" + std::to_string(storage_.view().block); }

 protected:
  Storage storage_;
};

}  // namespace tulle::cuda
