// The values of bin_bsr.compact in fewer bytes than f64 has: as floats or bf16 where that loses nothing, as floats or
// halves within a promise or by a rule of size. All blocks alike; halves have a power of two for each block.
#pragma once

#include <string_view>
#include <tulle/core/buffer.hpp>

#include "cuda/spmv/bin_bsr_compact.cuh"
#include "kernels/value_storage.hpp"

namespace tulle::cuda {

class narrow_bins {
 public:
  narrow_bins(const context& ctx, const spmv_options& options) : ctx_(ctx), options_(options) {}

  /// Looks at the blocks of `a`, and copies those that are in place already, in `slots` slots. False where they stay as
  /// they are. Waits for the stream.
  template <class O>
  bool make(const bsr_view<double, O>& blocks, const matrix_ref& a, const compact_view<double>& whole,
            std::int64_t slots);
  /// Calls f with a compact_view<float> or short_bins.
  template <class F>
  void with_view(F&& f) const {
    storage_ == value_storage::f32 ? f(floats_view_) : f(shorts_view_);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return value_bytes(); }
  [[nodiscard]] std::size_t value_bytes() const noexcept { return floats_.bytes() + shorts_.bytes() + form_.bytes(); }
  /// The most that a value loses of itself.
  [[nodiscard]] double lost() const noexcept { return lost_; }
  [[nodiscard]] std::string_view storage() const noexcept { return name(storage_); }

 private:
  /// whole: none narrower is allowed.
  template <class O>
  value_storage decide(const bsr_view<double, O>& blocks, const matrix_ref& a);

  context ctx_;
  spmv_options options_;
  value_storage storage_ = value_storage::whole;
  double lost_ = 0;
  buffer<float> floats_;
  buffer<std::uint16_t> shorts_;
  buffer<row_form> form_;  // of halves, for every block in its slot
  compact_view<float> floats_view_;
  short_bins shorts_view_;
};

}  // namespace tulle::cuda
