// csr.pieces: several right-hand sides from a CSR read in place. Rows are taken in pieces of equal work
// (row_pieces.cuh), a warp each. A lane holds 16 bytes of a row of Y, `across` lanes side by side all that a pass takes
// of it (up to 512 bytes): a nonzero is one aligned load of 16 bytes a lane, and 32 / across nonzeros are read at once,
// of as many short rows or of one long row (Yang, Buluc and Owens, Euro-Par 2018; RoDe, PPoPP 2024, for parts of long
// rows). Parts of cut rows leave their sums in memory, and a second kernel adds them in order. Bytes per nonzero and
// pass: sizeof(T) + 4, and a row of X out of L2 or L1. Column-major X and Y are turned into row-major ones, where the
// plan was told to expect them; else a lane takes 8 vectors of a row of its own. Chosen for several right-hand sides.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <tulle/core/buffer.hpp>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/csr_pieces_kernel.cuh"
#include "cuda/spmv/csr_pieces_wide.cuh"
#include "cuda/spmv/turn_vectors.cuh"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;  // of a block

/// Pieces of a warp or of a group of lanes, and rows cut where one would end last alone.
piece_shape shape_for(const context& ctx, std::int64_t rows, std::int64_t nnz) {
  const std::int64_t total = nnz + row_work * rows, processors = std::max(ctx.info().multiprocessors, 1);
  constexpr std::int64_t pieces = 64, rows_at_once = 128;  // of a multiprocessor
  piece_shape shape;
  shape.work = static_cast<int>(std::clamp<std::int64_t>(total / (processors * pieces), 64, 512));
  const std::int64_t whole = std::clamp<std::int64_t>(total / (processors * rows_at_once), 256, 4096);
  shape.per_slot = static_cast<int>(ceil_div(whole, shape.work));
  return shape;
}

struct experiment {
  int across = 32, flight = 8, along = 0, work = 0, whole = 0;
  bool old = false;
  experiment() {
    const char* const text = std::getenv("TULLE_EXP_SPMM");
    for (const char* at = text; at != nullptr && *at != 0; ++at) {
      if (*at == 'a') across = std::atoi(at + 1);
      if (*at == 'f') flight = std::atoi(at + 1);
      if (*at == 'l') along = std::atoi(at + 1);
      if (*at == 'w') work = std::atoi(at + 1);
      if (*at == 'h') whole = std::atoi(at + 1);
      if (*at == 'o') old = true;
    }
  }
};

piece_shape shape_of(const context& ctx, std::int64_t rows, std::int64_t nnz) {
  const experiment e;
  piece_shape shape = shape_for(ctx, rows, nnz);
  const auto whole = shape.longest_whole();
  if (e.work > 0) shape.work = e.work;
  shape.per_slot = static_cast<int>(ceil_div(e.whole > 0 ? e.whole : whole, shape.work));
  return shape;
}

template <class T, class O>
class csr_pieces final : public csr_operator<T, O> {
 public:
  csr_pieces(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, threads),
        mean_(s.mean),
        pieces_(ctx, a.rowptr, a.rows, a.nnz, s.max, shape_of(ctx, a.rows, a.nnz)) {
    pass_ = columns_at_once(o.columns);
    parts_ = buffer<T>(ctx, static_cast<std::size_t>(pieces_.counts().parts) * static_cast<std::size_t>(pass_));
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
  /// As many as parts of cut rows leave room for.
  [[nodiscard]] index_t columns_at_once(index_t told) const {
    constexpr std::int64_t most = 8 * 65535;  // of a grid
    if (pieces_.counts().parts == 0) return most;
    constexpr std::int64_t room = 4 << 20, least = 32, usual = 512;
    const auto matrix = static_cast<std::int64_t>(csr_operator<T, O>::matrix_bytes());
    const std::int64_t fit = std::max(room, matrix / 16) / (std::int64_t{pieces_.counts().parts} * sizeof(T));
    const std::int64_t wanted = told > 0 ? padded(told) : usual;
    return static_cast<index_t>(std::min(std::max(wanted, least), std::max(fit / least * least, least)));
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
    const index_t columns = std::min(left, pass_);
    if (wide(x) && left >= each) {
      const index_t whole = columns - columns % each;
      const wide_rows<T> rows{from, x.row_stride, whole};
      const int across = across_for(whole, each);
      const experiment e;
      if (across < 8 || e.old) {
        by_warps<4>(rows, across, whole, store, stream);
      } else if (e.flight == 8) {
        by_groups<8>(rows, std::min(across, e.across), store, stream);
      } else {
        by_groups<4>(rows, std::min(across, e.across), store, stream);
      }
      add_parts(whole, store, stream);
      return whole;
    }
    if (by_row(x)) {
      by_warps<4>(strided_rows<T, 1>{from, x.row_stride, 1, columns}, across_for(columns, 1), columns, store, stream);
    } else {
      by_warps<2>(strided_rows<T, 8>{from, x.row_stride, x.vector_stride, columns}, 1, columns, store, stream);
    }
    add_parts(columns, store, stream);
    return columns;
  }

  /// At most a warp.
  static int across_for(index_t columns, index_t each_lane) {
    int across = 1;
    while (across < 32 && across * each_lane < columns) across *= 2;
    return across;
  }

  template <int Flight>
  void by_groups(const wide_rows<T>& x, int across, const scale_and_store_many<T>& store, cudaStream_t stream) {
    start("csr.pieces.wide", csr_pieces_wide_kernel<Flight, T, O>, pieces_.view().count * across,
          ceil_div(x.columns, across * each), stream, this->a_, pieces_.view(), x, across, store,
          part_sums<T>{parts_.data(), x.columns});
  }
  template <int Flight, class Rows>
  void by_warps(const Rows& x, int across, index_t columns, const scale_and_store_many<T>& store, cudaStream_t stream) {
    constexpr double entries_per_lane = 3.5;
    warp_division by{across, 1, 0};
    while (across * by.along < 32 && mean_ > entries_per_lane * by.along) by.along *= 2;
    if (const experiment e; e.along > 0) by.along = std::min(e.along, 32 / across);
    by.alone = across * by.along == 32 ? std::numeric_limits<int>::max() : std::max(32, 8 * by.along);
    start("csr.pieces", csr_pieces_kernel<Flight, Rows, T, O>, pieces_.view().count * 32,
          ceil_div(columns, across * Rows::count), stream, this->a_, pieces_.view(), x, by, store,
          part_sums<T>{parts_.data(), columns});
  }
  void add_parts(index_t columns, const scale_and_store_many<T>& store, cudaStream_t stream) {
    const int width = std::min(across_for(columns, 1), 32);
    const dim3 grid(static_cast<unsigned>(pieces_.counts().rows), static_cast<unsigned>(ceil_div(columns, width)));
    start("csr.pieces.cut", cut_rows_kernel<T>, grid.x * std::int64_t{threads}, grid.y, stream, pieces_.cuts(),
          part_sums<T>{parts_.data(), columns}, width, store);
  }
  /// A panel of columns for each y of the grid.
  template <class... Parameters, class... Args>
  static void start(const char* name, void (*kernel)(Parameters...), std::int64_t items, std::int64_t panels,
                    cudaStream_t stream, const Args&... args) {
    if (items == 0 || panels == 0) return;
    const dim3 grid(static_cast<unsigned>(ceil_div(items, threads)), static_cast<unsigned>(panels));
    kernel<<<grid, threads, 0, stream>>>(args...);
    check_launch(name);
  }

  double mean_;  // entries of a row
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
