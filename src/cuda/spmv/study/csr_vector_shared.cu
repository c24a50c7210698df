// csr.vector_shared: vector CSR with the slice of x that a block of rows needs staged in shared memory first.
// A block copies x[first column .. last column] of its 128 consecutive rows to shared memory; then groups of lanes walk
// the rows as in csr.warp and gather from there.
// Bytes per nonzero: sizeof(T) + 4; plus 2 offsets and one y per row and the window of x once per block.
// Supported where the window of every 128 rows fits shared memory (banded matrices). Part of the kernel study.
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/lanes.cuh"
#include "cuda/spmv/supports.hpp"

namespace tulle::cuda {
namespace {

constexpr int group_rows = 128;  // as in csr_stats::column_window

/// One block per group of rows: its smallest column (0 for an empty group) and the width of its window.
template <class T, class O>
__global__ void window_kernel(csr_view<T, O> a, index_t* first_column, index_t* width) {
  __shared__ index_t low, high;
  if (threadIdx.x == 0) {
    low = a.cols;
    high = -1;
  }
  __syncthreads();
  const std::int64_t row0 = std::int64_t{blockIdx.x} * group_rows;
  const std::int64_t row1 = min(row0 + group_rows, static_cast<std::int64_t>(a.rows));
  index_t my_low = a.cols, my_high = -1;
  for (O k = a.rowptr[row0] + static_cast<O>(threadIdx.x); k < a.rowptr[row1]; k += static_cast<O>(blockDim.x)) {
    my_low = min(my_low, a.colind[k]);
    my_high = max(my_high, a.colind[k]);
  }
  atomicMin(&low, my_low);
  atomicMax(&high, my_high);
  __syncthreads();
  if (threadIdx.x == 0) {
    first_column[blockIdx.x] = high < 0 ? 0 : low;
    width[blockIdx.x] = high < 0 ? 0 : high - low + 1;
  }
}

template <int Lanes, class T, class O>
__global__ void csr_vector_shared_kernel(csr_view<T, O> a, const index_t* first_column, const index_t* width,
                                         const T* __restrict__ x, scale_and_store<T> store) {
  extern __shared__ unsigned char raw[];
  T* const window = reinterpret_cast<T*>(raw);
  const index_t low = first_column[blockIdx.x];
  for (index_t i = threadIdx.x; i < width[blockIdx.x]; i += blockDim.x) window[i] = __ldg(x + low + i);
  __syncthreads();
  const int lane = threadIdx.x % Lanes;
  const int groups = blockDim.x / Lanes;
  for (int base = 0; base < group_rows; base += groups) {  // group_rows is a multiple of groups or smaller: same trips
    const int local = base + threadIdx.x / Lanes;
    const std::int64_t row = std::int64_t{blockIdx.x} * group_rows + local;
    const bool live = local < group_rows && row < a.rows;
    T sum{0};
    if (live) {
      const O end = a.rowptr[row + 1];
#pragma unroll 4
      for (O k = a.rowptr[row] + lane; k < end; k += Lanes) {
        sum = multiply_add(load_stream(a.values + k), window[load_stream(a.colind + k) - low], sum);
      }
    }
    sum = warp_sum<Lanes>(sum);
    if (lane == 0 && live) store(static_cast<index_t>(row), sum);
  }
}

template <class T, class O>
class csr_vector_shared final : public csr_operator<T, O> {
 public:
  csr_vector_shared(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, pick_block_size(o)),
        lanes_(pick_lanes(s, o)),
        groups_(ceil_div(a.rows, group_rows)),
        shared_bytes_(static_cast<std::size_t>(s.column_window) * sizeof(T)),
        first_column_(ctx, static_cast<std::size_t>(groups_)),
        width_(ctx, static_cast<std::size_t>(groups_)) {
    const device_guard guard(this->device_);
    launch("window", window_kernel<T, O>, {groups_, 128}, native(ctx), a, first_column_.data(), width_.data());
    with_lanes(lanes_, [&]<int Lanes>() {
      check(cudaFuncSetAttribute(csr_vector_shared_kernel<Lanes, T, O>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(ctx.info().shared_bytes)),
            "cudaFuncSetAttribute");
    });
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return first_column_.bytes() + width_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return device_operator<T>::parameters() + " lanes=" + std::to_string(lanes_) +
           " window_bytes=" + std::to_string(shared_bytes_);
  }

 private:
  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    with_lanes(lanes_, [&]<int Lanes>() {
      launch("csr.vector_shared", csr_vector_shared_kernel<Lanes, T, O>, {groups_, this->block_size_, shared_bytes_},
             stream, this->a_, first_column_.data(), width_.data(), x, store);
    });
  }

  int lanes_;
  std::int64_t groups_;
  std::size_t shared_bytes_;
  buffer<index_t> first_column_;
  buffer<index_t> width_;
};

}  // namespace

spmv_kernel csr_vector_shared_entry() {
  return {
      .name = "csr.vector_shared",
      .summary = "x staged in shared memory, for banded matrices",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .role = kernel_role::study,
      .has = {.many = true},
      .listens_to = {.block_size = true},
      .supports = supports_csr_vector_shared,
      .make = make_operator<csr_vector_shared, type_set::all>,
  };
}

}  // namespace tulle::cuda
