// csr.split_entries, csr.split_rows, csr.dual_rows, csr.composite_rows: CSR with values in f32 where a promise or a
// rule of size allows it (kernels/split_values.hpp), products and sums in f64.
//
// The forms of the mixed precision study that this library began with, but for what it kept twice: no value is stored
// in both types. As csr.warp, a group of 1 to 32 lanes takes a row, in one launch: a lane multiplies every Lanes-th
// entry, of split_entries those of one matrix and then of the other. Bytes per nonzero: 8 in f32 rows (or entries), 12
// in others; and per row one y, one offset (split_entries, dual_rows: two), and its number where rows are sorted.
// Several right-hand sides read the matrix that was given. Part of the kernel study: `packed` stores slices of rows in
// the same way with fewer bytes of columns.
#include "cuda/spmv/fused_operator.cuh"
#include "cuda/spmv/lanes.cuh"
#include "cuda/spmv/study/split_values.hpp"
#include "kernels/describe_stored.hpp"

namespace tulle::cuda {
namespace {

/// A CSR, or what a form has of one.
template <class T, class O>
struct piece_view {
  const O* rowptr;
  const index_t* colind;
  const T* values;
};

template <class O>
struct split_view {
  index_t rows;
  index_t narrow_rows;   // where rows are sorted
  const index_t* order;  // of sorted rows, or null
  piece_view<float, O> narrow;
  piece_view<double, O> wide;
};

/// Sum of a lane's products with the entries from `first` to before `end`, whose values begin at `values`.
template <int Lanes, class T, class O>
__device__ __forceinline__ double sum_of_lane(const index_t* __restrict__ colind, O first, O end, const T* values,
                                              int lane, const double* __restrict__ x) {
  colind += first;
  const O count = end - first;
  double sum = 0;
#pragma unroll 4
  for (O k = lane; k < count; k += Lanes) {
    sum = multiply_add(static_cast<double>(load_stream(values + k)), __ldg(x + load_stream(colind + k)), sum);
  }
  return sum;
}

/// Of row i of a piece.
template <int Lanes, class T, class O>
__device__ __forceinline__ double sum_of_row(const piece_view<T, O>& a, std::int64_t i, int lane,
                                             const double* __restrict__ x) {
  const O first = a.rowptr[i];
  return sum_of_lane<Lanes>(a.colind, first, a.rowptr[i + 1], a.values + first, lane, x);
}

/// A lane's part of row i, in the order in which the form has them.
template <split_form Form, int Lanes, class O>
__device__ __forceinline__ double sum_of(const split_view<O>& a, std::int64_t i, int lane,
                                         const double* __restrict__ x) {
  if constexpr (Form == split_form::entries) {
    return sum_of_row<Lanes>(a.narrow, i, lane, x) + sum_of_row<Lanes>(a.wide, i, lane, x);
  } else if constexpr (Form == split_form::rows) {
    return i < a.narrow_rows ? sum_of_row<Lanes>(a.narrow, i, lane, x)
                             : sum_of_row<Lanes>(a.wide, i - a.narrow_rows, lane, x);
  } else if constexpr (Form == split_form::composite) {
    if (i < a.narrow_rows) return sum_of_row<Lanes>(a.narrow, i, lane, x);
    const O first = a.narrow.rowptr[i], floats = __ldg(a.narrow.rowptr + a.narrow_rows);
    return sum_of_lane<Lanes>(a.narrow.colind, first, a.narrow.rowptr[i + 1], a.wide.values + (first - floats), lane,
                              x);
  } else {
    const O first = a.wide.rowptr[i], end = a.wide.rowptr[i + 1], floats = a.narrow.rowptr[i];
    if (a.narrow.rowptr[i + 1] > floats) {
      return sum_of_lane<Lanes>(a.wide.colind, first, end, a.narrow.values + floats, lane, x);
    }
    return sum_of_lane<Lanes>(a.wide.colind, first, end, a.wide.values + (first - floats), lane, x);
  }
}

template <split_form Form, int Lanes, class O, class Epilogue>
__global__ void __launch_bounds__(1024)
    csr_split_kernel(split_view<O> a, const double* __restrict__ x, Epilogue epilogue) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const std::int64_t i = grid_thread() / Lanes;
  double sum = 0;
  if (i < a.rows) sum = sum_of<Form, Lanes>(a, i, lane, x);
  sum = warp_sum<Lanes>(sum);
  if (lane == 0 && i < a.rows) epilogue(a.order == nullptr ? static_cast<index_t>(i) : __ldg(a.order + i), sum);
  epilogue.finish();
}

template <split_form Form, class O>
class csr_split final : public fused_operator<csr_split<Form, O>, csr_operator<double, O>> {
  using base = fused_operator<csr_split, csr_operator<double, O>>;

 public:
  csr_split(const context& ctx, csr_view<double, O> a, const csr_stats& s, const spmv_options& options)
      : base(ctx, a, pick_block_size(options)),
        ctx_(ctx),
        options_(options),
        lanes_(pick_lanes(s, options)),
        values_(cuda::split(ctx, a, options, Form)) {
    this->dots_ = {ctx, blocks(), 0};
  }

  void update_values(const matrix_ref& a) override {
    base::update_values(a);
    values_ = cuda::split(ctx_, this->a_, options_, Form);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return values_.bytes() + this->dots_.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    const std::size_t borrowed = static_cast<std::size_t>(this->a_.nnz) * sizeof(index_t) +
                                 (static_cast<std::size_t>(this->a_.rows) + 1) * sizeof(O);
    return values_.bytes() + (Form == split_form::dual ? borrowed : 0);
  }
  /// Whichever they are, they are stored anew with every update.
  [[nodiscard]] bool narrows_values() const noexcept override { return true; }
  [[nodiscard]] tulle::stored_values stored() const override { return values_.stored; }
  [[nodiscard]] std::string parameters() const override {
    return base::parameters() + " lanes=" + std::to_string(lanes_) + parameters_of(values_.stored);
  }

  [[nodiscard]] std::int64_t blocks() const {
    return ceil_div(std::int64_t{this->a_.rows} * lanes_, this->block_size_);
  }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const double* x, cudaStream_t stream) {
    with_lanes(lanes_, [&]<int Lanes>() {
      launch("csr.split", csr_split_kernel<Form, Lanes, O, Epilogue>, {blocks(), this->block_size_}, stream, view(), x,
             epilogue);
    });
  }

 private:
  template <class T>
  static piece_view<T, O> view(const csr_piece<T, O>& p) {
    return {p.rowptr.data(), p.colind.data(), p.values.data()};
  }
  [[nodiscard]] split_view<O> view() const {
    split_view<O> out{this->a_.rows, values_.narrow.rows, values_.order.data(), view(values_.narrow),
                      view(values_.wide)};
    if (Form == split_form::dual) out.wide.rowptr = this->a_.rowptr, out.wide.colind = this->a_.colind;
    return out;
  }

  context ctx_;
  spmv_options options_;
  int lanes_;
  split_values<O> values_;
};

template <split_form Form>
std::unique_ptr<spmv_operator> make_split(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                          const spmv_options& options) {
  return dispatch_operation<type_set::doubles>(
      types_of(a, options), [&]<class T, class V, class O>() -> std::unique_ptr<spmv_operator> {
        return std::make_unique<csr_split<Form, O>>(ctx, a.as<T, O>(), stats, options);
      });
}

template <split_form Form>
spmv_kernel entry(std::string_view name, std::string_view summary) {
  return {
      .name = name,
      .summary = summary,
      .backend = backend_kind::cuda,
      .types = type_set::doubles,
      .role = kernel_role::study,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.block_size = true, .lanes = true, .values = true},
      .make = make_split<Form>,
  };
}

}  // namespace

spmv_kernel csr_split_entries_entry() {
  return entry<split_form::entries>("csr.split_entries", "two matrices: entries in f32, entries in f64");
}
spmv_kernel csr_split_rows_entry() {
  return entry<split_form::rows>("csr.split_rows", "two matrices: rows in f32, rows in f64");
}
spmv_kernel csr_dual_rows_entry() {
  return entry<split_form::dual>("csr.dual_rows", "rows in place, each in f32 or f64");
}
spmv_kernel csr_composite_rows_entry() {
  return entry<split_form::composite>("csr.composite_rows", "rows in f32 before rows in f64, columns in one array");
}

}  // namespace tulle::cuda
