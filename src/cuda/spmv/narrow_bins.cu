// Which values of blocks may be narrow, a warp for a row of blocks by turns, and the copies: a thread a block. What a
// row loses is judged as by rows (kernels/value_bound.hpp), halves with the power of two of the block that each is in.
#include <algorithm>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/narrow_bins.hpp"
#include "cuda/spmv/narrow_values.hpp"
#include "cuda/spmv/row_forms.hpp"
#include "cuda/spmv/row_reading.cuh"

namespace tulle::cuda {
namespace {

/// What was found of all rows: whether one needs more than halves, more than floats; entries that halves would hold;
/// the most that a value loses of itself in f32 and in f16.
struct block_findings {
  unsigned long long beyond_f16, beyond_f32;
  unsigned long long of_halves;
  double lost[2];
};

/// The halves' form of a block; whole_form where none is large enough.
__device__ row_form form_of_block(const double* block, int area) {
  row_sizes sizes;
  for (int e = 0; e < area; ++e) sizes.add(block[e], 0);
  return f16_form_for(sizes.largest);
}

/// A thread a row of the matrix.
template <class O>
__global__ void look_at_blocks(bsr_view<double, O> a, value_selection selection, block_findings* found) {
  const int b = a.block, area = b * b;
  unsigned long long wide = 0, widest = 0, halves = 0;
  double lost[2] = {};
  for (std::int64_t row = grid_thread(); row < a.rows; row += grid_stride()) {
    const std::int64_t R = row / b, i = row % b;
    row_sizes sizes;
    row_loss loss;
    bool has_halves = true;
    std::int64_t count = 0;
    for (std::int64_t k = a.rowptr[R]; k < a.rowptr[R + 1]; ++k) {
      const double* const block = a.values + k * area;
      const row_form half = form_of_block(block, area);
      has_halves = has_halves && half != whole_form;
      const double scale = half == whole_form ? 1 : static_cast<double>(f16_scale(half));
      for (int j = 0; j < b; ++j) {
        sizes.add(block[i * b + j], selection.below);
        loss.add(block[i * b + j], scale);
        count += a.mask == nullptr || (a.mask[k] >> (i * b + j) & 1) != 0 ? 1 : 0;
      }
    }
    const row_form form = narrowest_form(selection, sizes, loss, has_halves ? least_f16_form : whole_form, count);
    if (form == any_form) continue;
    wide += form == whole_form || form == f32_form ? 1 : 0;
    widest += form == whole_form ? 1 : 0;
    halves += form == whole_form || form == f32_form ? 0 : count;
    for (int k = 0; k < 2; ++k) lost[k] = max(lost[k], loss.share[k]);
  }
  wide = warp_sum(wide), widest = warp_sum(widest), halves = warp_sum(halves);
  for (int k = 0; k < 2; ++k) lost[k] = warp_max(lost[k]);
  if (lane_id() != 0) return;
  if (wide > 0) atomicAdd(&found->beyond_f16, wide);
  if (widest > 0) atomicAdd(&found->beyond_f32, widest);
  if (halves > 0) atomicAdd(&found->of_halves, halves);
  for (int k = 0; k < 2; ++k) raise(&found->lost[k], lost[k]);
}

/// Slot `i` is 32 blocks side by side; a thread a block.
__global__ void copy_floats(const double* whole, int area, std::int64_t slots, float* to) {
  for (std::int64_t i = grid_thread(); i < slots; i += grid_stride()) {
    const int lane = static_cast<int>(i % bin_rows);
    const std::int64_t before = (i - lane) * area;
    for (int e = 0; e < area; ++e) {
      to[before + stored_place<float>(area, lane, e)] =
          static_cast<float>(whole[before + stored_place<double>(area, lane, e)]);
    }
  }
}
/// `form`: null for bf16.
__global__ void copy_shorts(const double* whole, int area, std::int64_t slots, std::uint16_t* to, row_form* form) {
  for (std::int64_t i = grid_thread(); i < slots; i += grid_stride()) {
    const int lane = static_cast<int>(i % bin_rows);
    const std::int64_t before = (i - lane) * area;
    const auto value = [&](int e) { return whole[before + stored_place<double>(area, lane, e)]; };
    row_form half = whole_form;
    if (form != nullptr) {
      row_sizes sizes;
      for (int e = 0; e < area; ++e) sizes.add(value(e), 0);
      half = f16_form_for(sizes.largest);
      form[i] = half == whole_form ? least_f16_form : half;
    }
    for (int e = 0; e < area; ++e) {
      to[before + stored_place<std::uint16_t>(area, lane, e)] =
          form != nullptr ? to_f16(value(e), form[i])
                          : static_cast<std::uint16_t>(__float_as_uint(static_cast<float>(value(e))) >> 16);
    }
  }
}

/// Of entries, from which halves by rows (packed) are faster than floats in blocks.
constexpr double most_halves = 0.4;

}  // namespace

template <class O>
value_storage narrow_bins::decide(const bsr_view<double, O>& blocks, const matrix_ref& a) {
  const std::int64_t count = static_cast<std::int64_t>(blocks.blocks) * blocks.block * blocks.block;
  const value_storage lossless = narrowest(ctx_, blocks.values, count).storage;
  lost_ = 0;
  if (lossless == value_storage::bf16) return lossless;
  const value_storage otherwise = lossless == value_storage::f32 ? lossless : value_storage::whole;
  // What repeats was added up, and is no entry that a promise speaks of.
  if (!may_lose_bits(options_) || a.format != matrix_format::csr || a.nnz != blocks.nnz) return otherwise;
  auto found = device_value<block_findings>(ctx_);
  const value_selection selection = selection_for(ctx_, a.as<double, O>(), options_);
  launch_items(ctx_, "compact.look", look_at_blocks<O>, std::int64_t{blocks.rows}, blocks, selection, found.data());
  const block_findings of = read_back(ctx_, found.data());
  if (of.beyond_f16 == 0) {
    lost_ = of.lost[1];
    return value_storage::f16;
  }
  if (otherwise == value_storage::f32) return otherwise;
  if (of.beyond_f32 > 0 || static_cast<double>(of.of_halves) > most_halves * static_cast<double>(a.nnz))
    return value_storage::whole;
  lost_ = of.lost[0];
  return value_storage::f32;
}

template <class O>
bool narrow_bins::make(const bsr_view<double, O>& blocks, const matrix_ref& a, const compact_view<double>& whole,
                       std::int64_t slots) {
  if (slots == 0) return false;
  const device_guard guard(ctx_.device());
  const value_storage found = decide(blocks, a);
  storage_ = found;
  if (found == value_storage::whole) {
    floats_ = {}, shorts_ = {}, form_ = {};
    return false;
  }
  const int area = static_cast<int>(blocks.block * blocks.block);
  const auto values = static_cast<std::size_t>(slots * area);
  const std::size_t floats = found == value_storage::f32 ? values : 0, shorts = values - floats;
  const std::size_t forms = found == value_storage::f16 ? static_cast<std::size_t>(slots) : 0;
  if (floats_.size() != floats) floats_ = buffer<float>(ctx_, floats);
  if (shorts_.size() != shorts) shorts_ = buffer<std::uint16_t>(ctx_, shorts);
  if (form_.size() != forms) form_ = buffer<row_form>(ctx_, forms);
  if (found == value_storage::f32) {
    launch_items(ctx_, "compact.floats", copy_floats, slots, whole.values, area, slots, floats_.data());
  } else {
    launch_items(ctx_, "compact.shorts", copy_shorts, slots, whole.values, area, slots, shorts_.data(),
                 forms == 0 ? nullptr : form_.data());
  }
  floats_view_ = {whole.rows, whole.cols,   whole.block,    whole.bins, whole.binptr,
                  whole.perm, whole.colind, floats_.data(), whole.mask};
  static_cast<compact_view<float>&>(shorts_view_) = floats_view_;
  shorts_view_.shorts = shorts_.data();
  shorts_view_.form = forms == 0 ? nullptr : form_.data();
  return true;
}

template bool narrow_bins::make(const bsr_view<double, std::int32_t>&, const matrix_ref&, const compact_view<double>&,
                                std::int64_t);
template bool narrow_bins::make(const bsr_view<double, std::int64_t>&, const matrix_ref&, const compact_view<double>&,
                                std::int64_t);

}  // namespace tulle::cuda
