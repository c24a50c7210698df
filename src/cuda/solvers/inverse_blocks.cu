// Inverses of diagonal blocks (kernels/inverse_blocks.hpp) on a device, and the product by them: a warp takes a group,
// a lane a row of a block, and what the lanes of a block have of x goes round by shuffles. Bytes per row: b values of
// 2, 4 or 8, x and y.
#include <algorithm>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/solvers/inverse_blocks.hpp"
#include "cuda/spmv/csr_operator.cuh"

namespace tulle::cuda {
namespace {

using counter = unsigned long long;
/// inverse_counts as atomics have them.
struct device_counts {
  counter groups[inverse_forms];
  counter rows[inverse_forms];
};

/// Groups of n rows in blocks of `block`, and where their values are before they are stored.
template <class T>
struct plain_inverses {
  std::int64_t n;
  int block;
  const T* values;

  [[nodiscard]] __host__ __device__ std::int64_t groups() const {
    return ceil_div(ceil_div(n, block), inverse_slots(block));
  }
  [[nodiscard]] __device__ std::int64_t rows_of(std::int64_t group) const {
    const std::int64_t all = inverse_slots(block) * block;
    return min(all, n - group * all);
  }
  /// Rows of block k: 0 behind the last.
  [[nodiscard]] __device__ int size_of(std::int64_t k) const {
    return static_cast<int>(max(std::int64_t{0}, min(std::int64_t{block}, n - k * block)));
  }
  /// Of block k, whose rows are `size`; the entry below the diagonal where there are two.
  [[nodiscard]] __device__ T at(std::int64_t k, int size, int i, int j) const {
    return values[k * block * block + max(i, j) * size + min(i, j)];
  }
};

/// The form of every group, as its place in bytes yet to be added up, and how many have which. A warp a group.
template <class T>
__global__ void choose_forms(plain_inverses<T> a, const double* condition, bool narrows, inverse_form* form,
                             std::int64_t* bytes, device_counts* counts) {
  const std::int64_t g = grid_thread() / 32;
  if (g >= a.groups()) return;
  int mine = static_cast<int>(narrows ? inverse_form::bf16 : inverse_form::whole);
  const std::int64_t k = g * inverse_slots(a.block) + lane_id();
  const int size = lane_id() < inverse_slots(a.block) ? a.size_of(k) : 0;
  if (narrows && size > 0) {
    double largest = 0;
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j <= i; ++j) largest = fmax(largest, fabs(static_cast<double>(a.at(k, size, i, j))));
    }
    mine = static_cast<int>(form_of_inverse(condition[k], largest, sizeof(T)));
  }
  mine = warp_min(mine);
  if (lane_id() != 0) return;
  form[g] = static_cast<inverse_form>(mine);
  bytes[g] = inverse_group_bytes(static_cast<inverse_form>(mine), a.block, sizeof(T));
  if (g == 0) bytes[a.groups()] = 0;
  atomicAdd(&counts->groups[mine], counter{1});
  atomicAdd(&counts->rows[mine], static_cast<counter>(a.rows_of(g)));
}

/// A warp a group; an entry a lane.
template <class T>
__global__ void store_inverses(plain_inverses<T> a, const inverse_form* forms, const std::int64_t* before,
                               std::uint64_t* place, std::byte* data) {
  const std::int64_t g = grid_thread() / 32;
  if (g >= a.groups()) return;
  const inverse_form form = forms[g];
  std::byte* const to = data + before[g];
  const int area = a.block * a.block;
  for (int e = lane_id(); e < inverse_slots(a.block) * area; e += 32) {
    const std::int64_t k = g * inverse_slots(a.block) + e / area;
    const int i = e % area / a.block, j = e % a.block, size = a.size_of(k);
    const bool there = i < size && j < size;
    if (form == inverse_form::whole) {  // as they are
      reinterpret_cast<T*>(to)[e] = there ? a.values[k * area + i * size + j] : T{0};
    } else if (form == inverse_form::f32) {
      reinterpret_cast<float*>(to)[e] = there ? static_cast<float>(a.at(k, size, i, j)) : 0.0f;
    } else {
      const float value = there ? static_cast<float>(a.at(k, size, i, j)) : 0.0f;
      const unsigned bits = __float_as_uint(value);
      reinterpret_cast<std::uint16_t*>(to)[e] = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
  if (place != nullptr && lane_id() == 0) place[g] = inverse_place(before[g], form);
}

/// y = alpha M^-1 x + beta y.
template <int Block, class T, class V>
__global__ void __launch_bounds__(block_threads)
    multiply_inverses(inverse_view a, std::int64_t n, const V* __restrict__ x, V* __restrict__ y, V alpha, V beta) {
  constexpr int slots = 32 / Block;
  const std::int64_t group = grid_thread() / 32;
  if (group * slots * Block >= n) return;
  const int slot = lane_id() / Block, in = lane_id() % Block;
  const std::int64_t i = (group * slots + slot) * Block + in;
  const bool active = slot < slots && i < n;
  inverse_row<Block, T, V> row;
  V from{0}, old{0}, sum{0};
  if (active) {
    row.load(a, group, slot, in);
    from = x[i];
    if (beta != V{0}) old = y[i];
  }
#pragma unroll
  for (int j = 0; j < Block; ++j) {
    const V other = __shfl_sync(full_warp, from, (slot * Block + j) % 32);
    // Columns behind the last row are none, whatever x has there.
    if (active && i - in + j < n) sum = fma(row[j], other, sum);
  }
  if (active) y[i] = beta == V{0} ? alpha * sum : fma(beta, old, alpha * sum);
}

template <class T, class V>
class applied_inverses final : public inverse_blocks {
 public:
  applied_inverses(const context& ctx, index_t n, index_t block, bool narrows)
      : device_(ctx.device()), n_(n), blocks_(ctx, n, block, scalar_type_of<T>, narrows) {}

  void update(const matrix_ref& a) override { blocks_.update(blocks_of(a)); }
  void apply(double alpha, const void* x, double beta, void* y, stream_view stream) const override {
    const device_guard guard(device_);
    with_constant<2, 3, 4, 5, 6, 7, 8>(blocks_.block(), [&]<int Block>() {
      const std::int64_t groups = ceil_div(n_, (32 / Block) * Block);
      launch("block_jacobi", multiply_inverses<Block, T, V>, threads_for(32 * groups), native(stream), blocks_.view(),
             n_, static_cast<const V*>(x), static_cast<V*>(y), static_cast<V>(alpha), static_cast<V>(beta));
    });
  }
  [[nodiscard]] stored_values stored() const override { return blocks_.stored(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return blocks_.bytes(); }

 private:
  int device_;
  std::int64_t n_;
  device_inverse_blocks blocks_;
};

}  // namespace

void device_inverse_blocks::update(const block_arrays& a) {
  const device_guard guard(ctx_.device());
  const auto blocks = static_cast<std::size_t>(ceil_div(n_, block_));
  dispatch<type_set::floating>({whole_}, [&]<class T, class>() {
    buffer<T> whole(ctx_, blocks * static_cast<std::size_t>(block_ * block_));
    buffer<double> condition(ctx_, narrows_ ? blocks : 0);
    invert_diagonal_blocks(ctx_, a, block_, whole.data(), narrows_ ? condition.data() : nullptr);
    store(whole.data(), condition.data());
  });
}

template <class T>
void device_inverse_blocks::store(const T* whole, const double* condition) {
  const plain_inverses<T> from{n_, block_, whole};
  const auto groups = static_cast<std::size_t>(from.groups());
  buffer<inverse_form> forms(ctx_, groups);
  buffer<std::int64_t> before(ctx_, groups + 1);
  auto found = device_value<device_counts>(ctx_);
  if (n_ == 0) return;
  const launch_shape warps = threads_for(32 * from.groups());
  launch("inverse_blocks.forms", choose_forms<T>, warps, native(ctx_), from, condition, narrows_, forms.data(),
         before.data(), found.data());
  exclusive_scan(ctx_, before);
  const device_counts on_device = read_back(ctx_, found.data());
  inverse_counts counts;
  std::int64_t bytes = 0;
  int alike = -1;
  for (int k = 0; k < inverse_forms; ++k) {
    counts.groups[k] = static_cast<std::int64_t>(on_device.groups[k]);
    counts.rows[k] = static_cast<std::int64_t>(on_device.rows[k]);
    bytes += counts.groups[k] * inverse_group_bytes(static_cast<inverse_form>(k), block_, sizeof(T));
    if (counts.groups[k] == from.groups()) alike = k;
  }
  const std::size_t places = alike < 0 ? groups : 0;
  if (place_.size() < places) place_ = buffer<std::uint64_t>(ctx_, places);
  if (data_.size() != static_cast<std::size_t>(bytes)) data_ = buffer<std::byte>(ctx_, static_cast<std::size_t>(bytes));
  form_ = static_cast<inverse_form>(std::max(alike, 0));
  differ_ = alike < 0;
  counts_ = counts;
  launch("inverse_blocks.store", store_inverses<T>, warps, native(ctx_), from, forms.data(), before.data(),
         differ_ ? place_.data() : nullptr, data_.data());
}

inverse_view device_inverse_blocks::view() const { return {{differ_ ? place_.data() : nullptr, form_}, data_.data()}; }

std::unique_ptr<inverse_blocks> make_inverse_blocks(const context& ctx, index_t n, index_t block, operation_types types,
                                                    bool narrows) {
  return dispatch_operation<type_set::floating | type_set::narrow>(
      types, [&]<class T, class V, class>() -> std::unique_ptr<inverse_blocks> {
        return std::make_unique<applied_inverses<T, V>>(ctx, n, block, narrows);
      });
}

}  // namespace tulle::cuda
