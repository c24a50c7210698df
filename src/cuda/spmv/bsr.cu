// bsr: block CSR (Choi, Singh, Vuduc, PPoPP 2010, "BCSR"), one warp per block row, blocks of 2 x 2 to 8 x 8.
// Lane (slot, i) multiplies row i of every slots-th block of the block row; the sums of equal i are then added in the
// order of their slots. Entries outside the pattern (mask) never touch x.
// Bytes per nonzero of a full block: sizeof(T) + 4 / block^2; plus one offset per block row and one y per row.
// Chosen by name or by autotune (effort `max`): for one to five million nonzeros in nearly full blocks it is 10% faster
// than csr5, but its conversion costs 40 applications.
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/supports.hpp"
#include "kernels/bsr_block.hpp"

namespace tulle::cuda {
namespace {

constexpr int default_threads = 128;  // per block

template <int Block, class T, class O>
__global__ void bsr_kernel(bsr_view<T, O> a, const T* __restrict__ x, scale_and_store<T> store) {
  constexpr int slots = 32 / Block;
  const std::int64_t block_row = grid_thread() / 32;
  if (block_row >= a.block_rows) return;  // whole warps
  const int slot = lane_id() / Block;
  const int i = lane_id() % Block;
  T sum{0};
  if (slot < slots) {
    const std::int64_t end = a.rowptr[block_row + 1];
#pragma unroll 2
    for (std::int64_t k = a.rowptr[block_row] + slot; k < end; k += slots) {
      const index_t column = a.colind[k] * Block;
      const std::uint64_t row_mask = a.mask != nullptr ? a.mask[k] >> (i * Block) : ~std::uint64_t{0};
      const T* values = a.values + (k * Block + i) * Block;
#pragma unroll
      for (int j = 0; j < Block; ++j) {
        const T value = __ldg(values + j);
        if ((row_mask >> j & 1) != 0) sum = multiply_add(value, __ldg(x + column + j), sum);
      }
    }
  }
  T total = sum;
#pragma unroll
  for (int s = 1; s < slots; ++s) total = add(total, __shfl_sync(full_warp, sum, (s * Block + i) % 32));
  const std::int64_t row = block_row * Block + i;
  if (slot == 0 && row < a.rows) store(static_cast<index_t>(row), total);
}

template <class T, class O>
class bsr_operator final : public device_operator<T> {
 public:
  bsr_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : device_operator<T>(ctx, pick_block_size(o, default_threads)), storage_(ctx, a, s, o) {}
  void update_values(const matrix_ref& a) override { storage_.update_values(a); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return storage_.owned_bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " block=" + std::to_string(storage_.view().block);
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    const bsr_view<T, O>& a = storage_.view();
    with_constant<2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int Block>() {
      launch("bsr", bsr_kernel<Block, T, O>, threads_for(std::int64_t{a.block_rows} * 32, this->block_size_), stream, a,
             x, store);
    });
  }

  bsr_storage<T, O> storage_;
};

}  // namespace

spmv_kernel bsr_entry() {
  return {
      .name = "bsr",
      .summary = "blocks of 2 to 8, one warp per block row",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .takes_bsr = true,
      .listens_to = {.block_size = true, .block = true},
      .supports = supports_bsr,
      .make = make_block_operator<bsr_operator, type_set::floating>,
  };
}

}  // namespace tulle::cuda
