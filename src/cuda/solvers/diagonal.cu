// One warp for 32 / Block diagonal blocks (invert_block); a group of threads for each block row of the scaling.
#include <bit>
#include <limits>
#include <string>

#include "core/cholesky.hpp"
#include "cuda/device/search.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"
#include "cuda/solvers/block_inverse.cuh"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/types.hpp"

namespace tulle::cuda {
namespace {

template <class T, class O>
struct typed_blocks {
  explicit typed_blocks(const block_arrays& a)
      : rowptr(static_cast<const O*>(a.rowptr)),
        colind(a.colind),
        values(static_cast<const T*>(a.values)),
        rows(a.rows) {}
  const O* rowptr;
  const index_t* colind;
  const T* values;
  index_t rows;

  /// Of a row whose columns ascend; -1 where there is none.
  __device__ std::int64_t diagonal(index_t row) const {
    const std::int64_t begin = rowptr[row], end = rowptr[row + 1];
    const std::int64_t at = begin + lower_bound(colind + begin, end - begin, row);
    return at < end && colind[at] == row ? at : -1;
  }
};

/// What is found of all diagonal blocks. Without padding: all bytes are read back.
struct findings {
  long long first_bad;                 // none_bad: none
  unsigned long long least, greatest;  // bits of positive f64
};

constexpr int most_block = 8;
constexpr long long none_bad = std::numeric_limits<long long>::max();

__global__ void begin_kernel(findings* f) { *f = {none_bad, ~0ull, 0}; }

/// `whole`: the matrix is a BSR of such blocks; else a CSR of n rows, whose last block may have fewer.
template <int Block, class T, class O>
__global__ void invert_kernel(typed_blocks<T, O> a, std::int64_t rows, std::int64_t n, bool whole, T* inverses,
                              double* condition, findings* found) {
  constexpr int slots = 32 / Block;
  const int slot = lane_id() / Block, i = lane_id() % Block;
  const std::int64_t row = grid_thread() / 32 * slots + slot;
  const std::int64_t left = n - row * Block;
  const int size = left < Block ? static_cast<int>(left) : Block;
  const bool active = slot < slots && row < rows && i < size;
  double part[Block];
  bool numbers = true;
  const std::int64_t block_at = active && whole ? a.diagonal(static_cast<index_t>(row)) : -1;
  std::int64_t at = 0, end = 0;
  if (active && !whole) {
    const std::int64_t begin = a.rowptr[row * Block + i];
    end = a.rowptr[row * Block + i + 1];
    at = begin + lower_bound(a.colind + begin, end - begin, static_cast<index_t>(row * Block));
  }
#pragma unroll
  for (int j = 0; j < Block; ++j) {
    part[j] = i == j && !active ? 1 : 0;
    if (block_at >= 0) part[j] = a.values[(block_at * Block + i) * Block + j];
    if (at < end && a.colind[at] == row * Block + j) part[j] = a.values[at++];
    numbers = numbers && part[j] == part[j];
  }
  // ||A||_1, by rows: A is symmetric.
  const auto norm1 = [&] {
    double sum = 0, most = 0;
#pragma unroll
    for (int j = 0; j < Block; ++j) sum += active ? fabs(part[j]) : 0;
    for (int k = 0; k < Block; ++k) {
      const double other = __shfl_sync(full_warp, sum, (slot * Block + k) % 32);
      if (!(other <= most)) most = other;  // NaN too
    }
    return most;
  };
  const double norm = condition == nullptr ? 0 : norm1();
  bool positive = invert_block(part, i, [&](int k) { return slot * Block % 32 + k; });
  const double inverse_norm = condition == nullptr ? 0 : norm1();
  const unsigned all_numbers = __ballot_sync(full_warp, numbers);
  if (!active) return;
  const unsigned mine = ((1u << Block) - 1) << (slot * Block);
  if ((all_numbers & mine) != mine) positive = true;
  if (!positive) atomicMin(&found->first_bad, static_cast<long long>(row));
  if (condition != nullptr && i == 0) condition[row] = norm * inverse_norm;
  if (inverses == nullptr) return;
#pragma unroll
  for (int j = 0; j < Block; ++j) {
    if (j < size) inverses[row * Block * Block + i * size + j] = static_cast<T>(part[j]);
  }
}

template <class T, class O>
__global__ void roots_kernel(typed_blocks<T, O> a, int block, std::int64_t n, T* roots, findings* found) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    const auto row = static_cast<index_t>(i / block);
    const int in = static_cast<int>(i % block);
    const std::int64_t at = a.diagonal(row);
    const double d = at < 0 ? 0 : static_cast<double>(a.values[(at * block + in) * block + in]);
    roots[i] = static_cast<T>(sqrt(d));
    if (d <= 0) {
      atomicMin(&found->first_bad, static_cast<long long>(i));
    } else if (d == d) {
      const auto bits = static_cast<unsigned long long>(__double_as_longlong(d));
      atomicMin(&found->least, bits);
      atomicMax(&found->greatest, bits);
    }
  }
}

/// 32 threads a block row; an entry a thread.
template <class T, class O, class To>
__global__ void scale_kernel(typed_blocks<T, O> a, int block, const T* __restrict__ roots, To* __restrict__ to) {
  const std::int64_t warps = grid_stride() / 32;
  for (std::int64_t row = grid_thread() / 32; row < a.rows; row += warps) {
    const std::int64_t begin = a.rowptr[row], end = a.rowptr[row + 1];
    const std::int64_t entries = (end - begin) * block * block;
    for (std::int64_t e = lane_id(); e < entries; e += 32) {
      const std::int64_t k = begin + e / (block * block);
      const int in = static_cast<int>(e % (block * block));
      const std::int64_t i = row * block + in / block, j = std::int64_t{a.colind[k]} * block + in % block;
      const std::int64_t at = k * block * block + in;
      const double scale = static_cast<double>(roots[i]) * static_cast<double>(roots[j]);
      to[at] = static_cast<To>(static_cast<double>(a.values[at]) / scale);
    }
  }
}

/// A BSR, or a CSR made of blocks, by blocks.
template <class T, class O>
struct whole_blocks {
  typed_blocks<T, O> a;
  int block;
  bool bsr;

  __device__ std::int64_t rows() const { return bsr ? a.rows : a.rows / block; }
  __device__ std::int64_t count(std::int64_t row) const {
    return bsr ? a.rowptr[row + 1] - a.rowptr[row] : (a.rowptr[row * block + 1] - a.rowptr[row * block]) / block;
  }
  __device__ index_t column(std::int64_t row, std::int64_t k) const {
    return bsr ? a.colind[a.rowptr[row] + k] : a.colind[a.rowptr[row * block] + k * block] / block;
  }
  /// Of the entry (i, 0) of block k of a block row; (i, j) is j further.
  __device__ std::int64_t place(std::int64_t row, std::int64_t k, int i) const {
    return bsr ? ((a.rowptr[row] + k) * block + i) * block : a.rowptr[row * block + i] + k * block;
  }
};

template <class O>
__global__ void made_of_blocks_kernel(const O* rowptr, const index_t* colind, std::int64_t rows, int block,
                                      int* found) {
  bool whole = true;
  for (std::int64_t row = grid_thread() / 32; row < rows; row += grid_stride() / 32) {
    const O first = rowptr[row / block * block], length = rowptr[row / block * block + 1] - first, begin = rowptr[row];
    whole = whole && rowptr[row + 1] - begin == length && length % block == 0;
    for (O k = lane_id(); whole && k < length; k += 32) {
      const index_t column = colind[begin + k];
      whole = column == colind[first + k] && column == colind[first + k - k % block] + k % block &&
              (k % block > 0 || column % block == 0);
    }
  }
  if (!whole) *found = 0;
}

/// A thread a block.
template <class T, class O>
__global__ void factors_kernel(whole_blocks<T, O> a, T* factors, findings* found) {
  const int b = a.block;
  for (std::int64_t row = grid_thread(); row < a.rows(); row += grid_stride()) {
    double dense[most_block * most_block], inverse[most_block * most_block] = {};
    std::int64_t k = a.count(row) - 1;
    while (k >= 0 && a.column(row, k) != row) --k;
    double trace = 0, inverse_trace = 0;
    for (int i = 0; i < b; ++i) {
      for (int j = 0; j < b; ++j) dense[i * b + j] = k < 0 ? 0 : a.a.values[a.place(row, k, i) + j];
      trace += dense[i * b + i];
    }
    if (!invert_factor<most_block>(dense, b, inverse)) atomicMin(&found->first_bad, static_cast<long long>(row));
    for (int i = 0; i < b * b; ++i) {
      factors[row * b * b + i] = static_cast<T>(inverse[i]);
      inverse_trace += inverse[i] * inverse[i];
    }
    if (!(trace > 0) || !(inverse_trace > 0)) continue;
    atomicMax(&found->greatest, static_cast<unsigned long long>(__double_as_longlong(trace)));
    atomicMin(&found->least, static_cast<unsigned long long>(__double_as_longlong(1 / inverse_trace)));
  }
}

/// A warp a block row; `block` neighbouring lanes a block, a lane one row of it.
template <class T, class O>
__global__ void fold_kernel(whole_blocks<T, O> a, const T* __restrict__ factors, T* __restrict__ to) {
  const int b = a.block, slots = 32 / b, slot = lane_id() / b, i = lane_id() % b;
  for (std::int64_t row = grid_thread() / 32; row < a.rows(); row += grid_stride() / 32) {
    const std::int64_t count = a.count(row);
    double own[most_block];
#pragma unroll
    for (int j = 0; j < most_block; ++j) own[j] = j <= i ? static_cast<double>(factors[(row * b + i) * b + j]) : 0;
    for (std::int64_t first = 0; first < count; first += slots) {
      const std::int64_t k = first + slot;
      const bool active = slot < slots && k < count;
      const std::int64_t place = active ? a.place(row, k, i) : 0;
      double part[most_block], left[most_block] = {};
#pragma unroll
      for (int j = 0; j < most_block; ++j) part[j] = active && j < b ? static_cast<double>(a.a.values[place + j]) : 0;
#pragma unroll
      for (int l = 0; l < most_block; ++l) {
        if (l >= b) break;
#pragma unroll
        for (int j = 0; j < most_block; ++j) {
          if (j < b) left[j] = fma(own[l], __shfl_sync(full_warp, part[j], (slot * b + l) % 32), left[j]);
        }
      }
      if (!active) continue;
      const T* const other = factors + std::int64_t{a.column(row, k)} * b * b;
      for (int j = 0; j < b; ++j) {
        double sum = 0;
#pragma unroll
        for (int l = 0; l < most_block; ++l) {
          if (l <= j) sum = fma(left[l], static_cast<double>(other[j * b + l]), sum);
        }
        to[place + j] = static_cast<T>(sum);
      }
    }
  }
}

template <class T, class O>
whole_blocks<T, O> by_blocks(const block_arrays& a, index_t block) {
  return {typed_blocks<T, O>(a), static_cast<int>(block), a.block == block};
}

diagonal_range range_of(const findings& f) {
  if (f.greatest == 0) return {1, 1};  // no row, or NaN alone
  return {std::bit_cast<double>(f.least), std::bit_cast<double>(f.greatest)};
}

void refuse(const findings& found, index_t block) {
  if (found.first_bad == none_bad) return;
  const std::string what = block == 1 ? "entry " : "block ",
                    wrong = block == 1 ? " is not positive" : " is not positive definite";
  throw error(status::indefinite, "A: diagonal " + what + std::to_string(found.first_bad) + wrong + ", or not there");
}

}  // namespace

block_arrays blocks_of(const matrix_ref& a) {
  const bool blocks = a.format == matrix_format::bsr;
  const index_t block = blocks ? a.block : 1;
  return {a.rowptr, a.colind, a.values, a.types, static_cast<index_t>((std::int64_t{a.rows} + block - 1) / block),
          block};
}

void invert_diagonal_blocks(const context& ctx, const block_arrays& a, index_t block, void* inverses,
                            double* condition) {
  const device_guard guard(ctx.device());
  buffer<findings> found(ctx, 1);
  launch("begin_findings", begin_kernel, {1, 1}, native(ctx), found.data());
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block, [&]<int Block>() {
      const bool whole = a.block == Block;
      const std::int64_t rows = whole ? a.rows : ceil_div(a.rows, Block);
      launch("invert_diagonal", invert_kernel<Block, T, O>, threads_for(ceil_div(rows, 32 / Block) * 32), native(ctx),
             typed_blocks<T, O>(a), rows, std::int64_t{a.rows} * a.block, whole, static_cast<T*>(inverses), condition,
             found.data());
    });
  });
  refuse(read_back(ctx, found.data()), block);
}

void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses) {
  invert_diagonal_blocks(ctx, blocks_of(a), block, inverses);
}

diagonal_range diagonal_roots(const context& ctx, const block_arrays& a, void* roots, bool any) {
  const device_guard guard(ctx.device());
  buffer<findings> found(ctx, 1);
  launch("begin_findings", begin_kernel, {1, 1}, native(ctx), found.data());
  const std::int64_t n = std::int64_t{a.rows} * a.block;
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    launch_items(ctx, "diagonal_roots", roots_kernel<T, O>, n, typed_blocks<T, O>(a), static_cast<int>(a.block), n,
                 static_cast<T*>(roots), found.data());
  });
  const findings f = read_back(ctx, found.data());
  if (!any) refuse(f, 1);
  return range_of(f);
}

bool is_made_of_blocks(const context& ctx, const block_arrays& a, index_t block) {
  const device_guard guard(ctx.device());
  buffer<int> whole = device_value<int>(ctx, 1);
  dispatch<type_set::floating>({scalar_type::f64, a.types.offset}, [&]<class, class O>() {
    launch("made_of_blocks", made_of_blocks_kernel<O>, bounded(ctx, threads_for(std::int64_t{a.rows} * 32)),
           native(ctx), static_cast<const O*>(a.rowptr), a.colind, std::int64_t{a.rows}, static_cast<int>(block),
           whole.data());
  });
  return a.rows % block == 0 && read_back(ctx, whole.data()) != 0;
}

diagonal_range invert_diagonal_factors(const context& ctx, const block_arrays& a, index_t block, void* factors) {
  const device_guard guard(ctx.device());
  buffer<findings> found(ctx, 1);
  launch("begin_findings", begin_kernel, {1, 1}, native(ctx), found.data());
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    launch_items(ctx, "diagonal_factors", factors_kernel<T, O>, std::int64_t{a.rows} * a.block / block,
                 by_blocks<T, O>(a, block), static_cast<T*>(factors), found.data());
  });
  const findings f = read_back(ctx, found.data());
  refuse(f, block);
  return range_of(f);
}

void fold_symmetrically(const context& ctx, const block_arrays& a, index_t block, const void* factors, void* to) {
  const device_guard guard(ctx.device());
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    launch("fold_symmetrically", fold_kernel<T, O>,
           bounded(ctx, threads_for(std::int64_t{a.rows} * a.block / block * 32)), native(ctx),
           by_blocks<T, O>(a, block), static_cast<const T*>(factors), static_cast<T*>(to));
  });
}

void scale_symmetrically(const context& ctx, const block_arrays& a, const void* roots, scalar_type to_type, void* to) {
  const device_guard guard(ctx.device());
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    const auto scale_to = [&]<class To>(To* typed) {
      launch("scale_symmetrically", scale_kernel<T, O, To>, bounded(ctx, threads_for(std::int64_t{a.rows} * 32)),
             native(ctx), typed_blocks<T, O>(a), static_cast<int>(a.block), static_cast<const T*>(roots), typed);
    };
    to_type == scalar_type::f32 ? scale_to(static_cast<float*>(to)) : scale_to(static_cast<T*>(to));
  });
}

}  // namespace tulle::cuda
