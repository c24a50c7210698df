// csr.value: one thread per nonzero (the segmented sum of Blelloch, Heroux and Zagha, CMU-CS-93-173, on a GPU).
// A thread multiplies one entry and finds its row by bisection among the rows of the block's tile. Products are summed
// by row with segmented scans within the warp and the block, and in a fixed order across blocks (carries.cuh). Empty
// rows are written by the same launch.
// Bytes per nonzero: sizeof(T) + 4; plus 2 offsets and one y per row and 3 words per tile.
// Part of the kernel study: its time does not depend on row lengths.
#include "cuda/spmv/study/nonzero_tiles.cuh"

namespace tulle::cuda {
namespace {

struct csr_value_policy {
  static constexpr int threads = 256;
  static constexpr int rows_per_thread = 16;  // that look for empty rows
};

template <class O>
struct searched_rows {
  const O* rowptr;
  const index_t* tile_row;

  __device__ index_t first(std::int64_t tile) const { return tile_row[tile]; }
  __device__ index_t of(std::int64_t k, std::int64_t tile) const {
    return row_of(rowptr, tile_row[tile], tile_row[tile + 1] + 1, k);
  }
  __device__ bool goes_on(std::int64_t tile) const {
    return static_cast<std::int64_t>(rowptr[tile_row[tile]]) < tile * blockDim.x;
  }
};

template <class T, class O>
__global__ void csr_value_kernel(csr_view<T, O> a, const index_t* tile_row, const T* __restrict__ x, T* head,
                                 scale_and_store<T> store) {
  const std::int64_t stride = grid_stride();
  for (std::int64_t r = grid_thread(); r < a.rows; r += stride) {
    if (a.rowptr[r] == a.rowptr[r + 1]) store(static_cast<index_t>(r), T{0});
  }
  if (std::int64_t{blockIdx.x} * blockDim.x >= a.nnz) return;
  sum_nonzero_tile(searched_rows<O>{a.rowptr, tile_row}, a.nnz, a.colind, a.values, x, head, store);
}

template <class T, class O>
class csr_value final : public csr_operator<T, O> {
 public:
  csr_value(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o, csr_value_policy::threads)),
        carries_(ctx, static_cast<std::int32_t>(ceil_div(a.nnz, this->block_size_))),
        tile_row_(find_cut_rows(ctx, a, this->block_size_, carries_)) {}
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return carries_.bytes() + tile_row_.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return csr_operator<T, O>::matrix_bytes() + workspace_bytes();
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    const std::int64_t blocks = std::max<std::int64_t>(
        carries_.tiles(), ceil_div(this->a_.rows, csr_value_policy::rows_per_thread * this->block_size_));
    launch("csr.value", csr_value_kernel<T, O>, {blocks, this->block_size_}, stream, this->a_, tile_row_.data(), x,
           carries_.head(), store);
    carries_.add(store, stream);
  }

  carries<T> carries_;
  buffer<index_t> tile_row_;
};

}  // namespace

spmv_kernel csr_value_entry() {
  return {
      .name = "csr.value",
      .summary = "one thread per nonzero, segmented sums, ordered carries",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .role = kernel_role::study,
      .needs_set_up = false,
      .has = {.many = true},
      .listens_to = {.block_size = true},
      .make = make_operator<csr_value, type_set::all>,
  };
}

}  // namespace tulle::cuda
