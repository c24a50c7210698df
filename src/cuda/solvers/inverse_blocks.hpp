// The inverses of diagonal blocks on the device, for kernels that read them themselves.
#pragma once

#include <tulle/core/buffer.hpp>

#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/inverse_blocks.cuh"

namespace tulle::cuda {

class device_inverse_blocks {
 public:
  device_inverse_blocks(const context& ctx, std::int64_t n, index_t block, scalar_type whole, bool narrows)
      : ctx_(ctx), n_(n), block_(block), whole_(whole), narrows_(narrows) {}

  /// As invert_diagonal_blocks. Waits. Where they are stored may change.
  void update(const block_arrays& a);
  [[nodiscard]] inverse_view view() const;
  [[nodiscard]] index_t block() const noexcept { return block_; }
  [[nodiscard]] stored_values stored() const { return stored_inverses(counts_, block_, whole_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return data_.bytes() + place_.bytes(); }

 private:
  template <class T>
  void store(const T* whole, const double* condition);

  context ctx_;
  std::int64_t n_;
  index_t block_;
  scalar_type whole_;
  bool narrows_;
  inverse_counts counts_;
  bool differ_ = false;                      // groups in form
  buffer<std::uint64_t> place_;              // then, of every group
  inverse_form form_ = inverse_form::whole;  // else, of all
  buffer<std::byte> data_;
};

}  // namespace tulle::cuda
