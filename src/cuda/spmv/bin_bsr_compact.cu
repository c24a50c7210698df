// bin_bsr.compact: bins of 32 block rows of like length (kernels/bin_bsr.hpp; the bins of bin_bsr with the sorting of
// SELL-C-sigma, Kreutzer et al., SISC 2014). One lane per block row: it multiplies whole blocks, of which it reads 16
// bytes at a time beside those of the other lanes, and keeps one sum for each row of the block. 1, 2 or 4 warps share a
// bin, slot by slot; their sums meet in shared memory in the order of the warps, and threads store rows in order.
// Padding (column -1) and entries outside the pattern (mask) never touch x.
// Bytes per nonzero of full blocks: sizeof(T) + 4 / block^2, times a padding of about 1.01 (1, 2, 4 or 8 / (block^2
// fill) more with masks); plus 8 bytes per bin, 4 per block row where any moved, and one y per row. Several right-hand
// sides: a pass takes 4, or 2 of large blocks. `lanes`: warps of a bin. Chosen for a matrix that comes in bins, and
// where blocks are full enough to need fewer bytes than csr5.
#include "cuda/spmv/bin_bsr_compact.cuh"
#include "cuda/spmv/block_operator.cuh"
#include "cuda/spmv/narrow_bins.hpp"
#include "cuda/spmv/narrow_values.hpp"
#include "cuda/spmv/supports.hpp"
#include "kernels/block_input.hpp"

namespace tulle::cuda {
namespace {

/// Four warps share a bin, or fewer where each would have less than two slots or less than 100 bytes for a lane: so
/// much pays for what a warp does besides.
int pick_parts(const spmv_options& o, std::int64_t bins, std::int64_t slots, std::int64_t slot_bytes) {
  constexpr std::int64_t least_bytes = 100;
  if (o.lanes > 0) return o.lanes < bin_warps ? o.lanes : bin_warps;
  const std::int64_t lanes = bins * bin_rows;
  int parts = bin_warps;
  while (parts > 1 && (slots < 2 * parts * lanes || slots * slot_bytes < parts * lanes * least_bytes)) parts /= 2;
  return parts;
}

template <class T, class O>
using storage_of = compact_storage<T, O, std::conditional_t<std::is_same_v<T, double>, narrow_bins, no_narrow_bins>>;

template <class T, class V, class O>
class compact_operator final : public block_operator<compact_operator<T, V, O>, V, storage_of<T, O>> {
  using base = block_operator<compact_operator, V, storage_of<T, O>>;
  using base::storage_;

 public:
  compact_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : base(ctx, bin_threads, a, s, o),
        parts_(pick_parts(o, storage_.view().bins, storage_.slots(),
                          sizeof(T) * storage_.view().block * storage_.view().block)) {
    this->dots_ = {ctx, blocks(), 0};
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    if (x.count == 0 || blocks() == 0) return;
    const device_guard guard(this->device_);
    storage_.with_view([&](const auto& a) {
      multiply_bins_many(as_bins(a), as_launched(), alpha, x, beta, y, static_cast<const V*>(nullptr), native(stream));
    });
  }
  [[nodiscard]] std::string parameters() const override {
    return base::parameters() + " lanes=" + std::to_string(parts_) + " padding=" + std::to_string(storage_.padding()) +
           storage_.parameters();
  }
  [[nodiscard]] bool narrows_values() const noexcept override { return storage_.is_narrow(); }
  [[nodiscard]] tulle::stored_values stored() const override { return storage_.stored(); }

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(storage_.view().bins, bin_warps / parts_); }
  template <class Epilogue>
  void start(Epilogue epilogue, const V* x, cudaStream_t stream) {
    storage_.with_view([&](const auto& a) { multiply_bins(as_bins(a), as_launched(), x, epilogue, stream); });
  }

 private:
  template <class S>
  static whole_bins<S> as_bins(const compact_view<S>& a) {
    return {a};
  }
  static const short_bins& as_bins(const short_bins& a) { return a; }
  [[nodiscard]] bins_run as_launched() const { return {blocks(), parts_}; }

  int parts_;
};

/// H200, FEM of 3 unknowns, 59M floats under f64 vectors: 77 us in bins of blocks, 90 by rows (packed). Where there are
/// few different values rows may take less.
bool narrows(const context& ctx, const matrix_ref& a) {
  if (a.types.value != scalar_type::f64) return false;
  const auto found = narrowest(ctx, static_cast<const double*>(a.values), a.nnz);
  return found.storage != value_storage::whole && found.list.empty();
}

}  // namespace

spmv_kernel bin_bsr_compact_entry() {
  return {
      .name = "bin_bsr.compact",
      .summary = "bins of 32 block rows of like length, one lane each",
      .backend = backend_kind::cuda,
      .types = type_set::floating | type_set::narrow,
      .takes_bsr = true,
      .takes_bin_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.lanes = true, .sigma = true, .block = true, .values = true},
      .supports = supports_bsr,
      .narrows = narrows,
      .make = make_block_operator<compact_operator, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cuda
