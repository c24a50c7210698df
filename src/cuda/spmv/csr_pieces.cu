// csr.pieces: several right-hand sides from a CSR read in place. Rows are taken in pieces of equal work
// (row_pieces.cuh), a warp each. A lane holds 16 bytes of a row of Y, `across` lanes side by side all that a pass takes
// of it (up to 512 bytes): a nonzero is one aligned load of 16 bytes a lane, and 32 / across nonzeros are read at once,
// of as many short rows or of one long row (Yang, Buluc and Owens, Euro-Par 2018; RoDe, PPoPP 2024, for parts of long
// rows). Parts of cut rows leave their sums in memory, and a second kernel adds them in order. Bytes per nonzero and
// pass: sizeof(T) + 4, and a row of X out of L2 or L1. Column-major X and Y are turned into row-major ones, where the
// plan was told to expect them; else a lane takes 8 vectors of a row of its own. Chosen for several right-hand sides.
#include <algorithm>
#include <limits>
#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/csr_pieces_kernel.cuh"
#include "cuda/spmv/turn_vectors.cuh"

namespace tulle::cuda {
namespace {

constexpr int warps_per_block = 8;
constexpr int flight = 4;          // rows of X that a lane waits for at once
constexpr int longest_alone = 32;  // entries of a row that one group of lanes takes

piece_shape shape_for(const context& ctx, std::int64_t rows, std::int64_t nnz) {
  const std::int64_t total = nnz + row_work * rows, processors = std::max(ctx.info().multiprocessors, 1);
  constexpr std::int64_t least = 128, most = 512, pieces_per_processor = 128;
  piece_shape shape;
  shape.work = static_cast<int>(std::clamp(total / (processors * pieces_per_processor), least, most));
  shape.per_slot = static_cast<int>(ceil_div(total / (processors * pieces_per_processor), shape.work));
  shape.per_slot = std::max(shape.per_slot, 1);
  return shape;
}

template <class T, class O>
class csr_pieces final : public csr_operator<T, O> {
 public:
  csr_pieces(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, 32 * warps_per_block),
        processors_(ctx.info().multiprocessors),
        pieces_(ctx, a.rowptr, a.rows, a.nnz, s.max, shape_for(ctx, a.rows, a.nnz)) {
    pass_ = std::min<index_t>(o.columns > 0 ? padded(o.columns) : columns_untold(), most_columns);
    parts_ = buffer<T>(ctx, 2 * static_cast<std::size_t>(pieces_.slots()) * static_cast<std::size_t>(pass_));
    if (o.columns > 0 && o.columns_order == vector_order::column_major) turned_ = {ctx, a.rows, a.cols, o.columns};
  }
  bool store_in_order(const index_t*, bool) override { return false; }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view on) override {
    apply_many_with(alpha, x, beta, y, {}, on);
  }
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view on) override {
    const device_guard guard(this->device_);
    const cudaStream_t stream = native(on);
    turned_.multiply(
        alpha, x, beta, y, this->a_.rows, this->a_.cols, many_epilogue<T>{static_cast<const T*>(finish.bias), finish.relu},
        stream, [&](double by, const strided_vectors& from, double old, const strided_vectors& to, const many_epilogue<T>& then) {
          const scale_and_store_many<T> store{static_cast<T>(by), static_cast<T>(old), typed_vectors<T>(to), wide(to), then};
          for (index_t done = 0; done < from.count;) {
            done += in_place(some(from, done), from.count - done, moved(store, done), stream);
          }
        });
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return pieces_.bytes() + parts_.bytes() + turned_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return csr_operator<T, O>::matrix_bytes() + pieces_.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return "work=" + std::to_string(pieces_.shape().work) + " whole=" + std::to_string(pieces_.shape().longest_whole());
  }

 private:
  static constexpr index_t each = 16 / sizeof(T);
  static constexpr index_t most_columns = 512 / sizeof(T);  // of a pass
  /// As many as parts of cut rows leave room for in an eighth of the matrix's bytes, and at least a line of 128 bytes.
  [[nodiscard]] index_t columns_untold() const {
    index_t columns = most_columns;
    const double matrix = static_cast<double>(csr_operator<T, O>::matrix_bytes());
    while (columns * sizeof(T) > 128 && 2.0 * static_cast<double>(pieces_.slots()) * columns * sizeof(T) > matrix / 8)
      columns /= 2;
    return columns;
  }
  static index_t padded(index_t n) { return static_cast<index_t>(ceil_div(n, each) * each); }

  void run(scale_and_store<T> s, const T* x, cudaStream_t stream) override {
    const strided_vectors of_x{const_cast<T*>(x), 1, 1, 1}, of_y{s.y, 1, 1, 1};
    in_place(of_x, 1, {s.alpha, s.beta, typed_vectors<T>(of_y), false}, stream);
  }

  static bool by_row(const strided_vectors& v) { return v.vector_stride == 1; }
  static bool wide(const strided_vectors& v) {
    return by_row(v) && reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0 && v.row_stride % each == 0;
  }
  static strided_vectors some(const strided_vectors& v, index_t first) {
    if (v.data == nullptr) return {nullptr, v.count - first, 0, 0};
    return {static_cast<T*>(v.data) + first * v.vector_stride, v.count - first, v.row_stride, v.vector_stride};
  }
  static scale_and_store_many<T> moved(scale_and_store_many<T> store, index_t first) {
    if (store.y.data != nullptr) store.y.data += first * store.y.vector_stride;
    store.then = store.then.from(first);
    return store;
  }

  /// The first columns, as many as are returned, with X where it is. `store` begins at the first column, aligned where
  /// it is wide.
  index_t in_place(const strided_vectors& x, index_t left, const scale_and_store_many<T>& store, cudaStream_t stream) {
    const auto* const from = static_cast<const T*>(x.data);
    if (wide(x) && left >= each) {
      const index_t columns = std::min<index_t>(left - left % each, pass_);
      multiply(wide_rows<T>{from, x.row_stride, columns}, across_for(columns, each), columns, store, stream);
      return columns;
    }
    if (by_row(x)) {
      const index_t columns = std::min<index_t>({left, 32, pass_});
      multiply(strided_rows<T, 1>{from, x.row_stride, 1, columns}, across_for(columns, 1), columns, store, stream);
      return columns;
    }
    const index_t columns = std::min<index_t>({left, 8, pass_});
    multiply(strided_rows<T, 8>{from, x.row_stride, x.vector_stride, columns}, 1, columns, store, stream);
    return columns;
  }

  static int across_for(index_t columns, index_t each_lane) {
    int across = 1;
    while (across * each_lane < columns) across *= 2;
    return across;
  }

  template <class Rows>
  void multiply(const Rows& x, int across, index_t columns, const scale_and_store_many<T>& store, cudaStream_t stream) {
    const part_sums<T> parts{parts_.data(), columns};
    const int alone = across == 32 ? std::numeric_limits<int>::max() : longest_alone;
    launch("csr.pieces", csr_pieces_kernel<flight, Rows, T, O>,
           {ceil_div(pieces_.view().count, warps_per_block), 32 * warps_per_block}, stream, this->a_, pieces_.view(), x,
           across, alone, store, parts);
    if (pieces_.slots() == 0) return;
    int width = 1;
    while (width < columns) width *= 2;
    launch("csr.pieces.cut", cut_rows_kernel<T, O>, {std::min<std::int64_t>(pieces_.slots(), 16 * processors_)}, stream,
           pieces_.view(), parts, width, store);
  }

  int processors_;
  row_pieces<O> pieces_;
  index_t pass_;  // columns at once
  buffer<T> parts_;
  turned_vectors<T> turned_;
};

}  // namespace

spmv_kernel csr_pieces_entry() {
  return {
      .name = "csr.pieces",
      .summary = "rows in pieces of equal work, for several right-hand sides",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .has = {.many = true, .finish = true},
      .make = make_operator<csr_pieces, type_set::all>,
  };
}

}  // namespace tulle::cuda
