// bin_bsr: bin-blocked CSR as its origin keeps it (formats/views.hpp): bins of 32 scalar rows, column-major, one column
// index for every row and block. A step takes one value of each of 32 rows. One thread takes consecutive bins with an
// equal number of slots. Bytes per nonzero of full blocks: sizeof(T) + 4 / block, times the padding; plus 256 bytes per
// bin and one y per row. Several right-hand sides: a pass takes 4. Chosen by name, and with effort `none` for a matrix
// that comes in bins.
#include "cpu/spmv/bin_vectors.hpp"
#include "cpu/spmv/supports.hpp"

namespace tulle::cpu {
namespace {

/// The sums of a bin's rows. Padding (column -1) loads x at 0, which exists where a slot does, and drops the product: a
/// NaN there does not leak.
template <int B, scalar T, scalar V, class X>
[[gnu::always_inline]] inline void add_bin(const bin_bsr_view<T>& a, std::int64_t bin, const X& x,
                                           V (&sum)[X::width][bin_rows]) {
  for (std::int64_t s = a.rowptr[bin * bin_rows]; s < a.rowptr[(bin + 1) * bin_rows]; s += bin_rows) {
    const index_t* column = a.colptr + s;
    const std::uint8_t* mask = a.mask == nullptr ? nullptr : a.mask + s;
    for (int j = 0; j < B; ++j) {
      const T* value = a.values + s * B + j * bin_rows;
      for (int v = 0; v < X::width; ++v) {
#pragma omp simd
        for (int l = 0; l < bin_rows; ++l) {
          const bool used = column[l] >= 0 && (mask == nullptr || (mask[l] >> j & 1) != 0);
          const V product = V{value[l]} * x(used ? std::int64_t{column[l]} * B + j : 0, v);
          sum[v][l] += used ? product : V{0};
        }
      }
    }
  }
}

/// The rows of bins [first, last).
template <scalar V, scalar T, class X, class Store>
void multiply_bins(isa level, const bin_bsr_view<T>& a, index_t first, index_t last, const X& x, const Store& store) {
  with_block(a.block, [&]<int B>() {
    with_isa(
        level, [&]() __attribute__((always_inline)) {
          for (index_t bin = first; bin < last; ++bin) {
            alignas(64) V sum[X::width][bin_rows] = {};
            add_bin<B>(a, bin, x, sum);
            const std::int64_t row = std::int64_t{bin} * bin_rows;
            for (std::int64_t l = 0; l < std::min<std::int64_t>(bin_rows, a.rows - row); ++l) {
              for (int v = 0; v < X::width; ++v) store(row + l, v, sum[v][l]);
            }
          }
        });
  });
}

template <class T, class V, class O>
class bin_bsr_kernel final : public bins_operator<bin_bsr_kernel<T, V, O>, V, bin_bsr_storage<T, O>> {
  using base = bins_operator<bin_bsr_kernel, V, bin_bsr_storage<T, O>>;

 public:
  bin_bsr_kernel(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : bin_bsr_kernel(ctx, bin_bsr_storage<T, O>(ctx, a, s, o)) {}

  template <class X, class Store>
  void bins(index_t first, index_t last, const X& x, const Store& store) {
    multiply_bins<V>(this->isa_, this->storage_.view(), first, last, x, store);
  }

 private:
  bin_bsr_kernel(const context& ctx, bin_bsr_storage<T, O> storage)
      : base(ctx, std::move(storage), storage.slots() * storage.view().block,
             [](const auto& a, index_t bin) { return a.rowptr[std::int64_t{bin} * bin_rows]; }) {}
};

}  // namespace

spmv_kernel bin_bsr_entry() {
  return {
      .name = "bin_bsr",
      .summary = "bin-blocked CSR: bins of 32 rows",
      .backend = backend_kind::cpu,
      .types = type_set::floating | type_set::narrow,
      .takes_bsr = true,
      .takes_bin_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.block = true},
      .supports = supports_bsr,
      .make = make_block_operator<bin_bsr_kernel, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cpu
