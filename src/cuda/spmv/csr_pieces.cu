// csr.pieces: several right-hand sides from a CSR read in place. Rows are taken in pieces of equal work
// (row_pieces.cuh), a warp each. A lane holds 16 bytes of a row of Y, `across` lanes side by side a panel of up to 512
// bytes. Where rows of X have 128 bytes and more, a warp takes its entries one after another, whatever rows they are of
// (csr_pieces_ring.cuh, csr_pieces_stream.cuh), but panels of 512 bytes of f64 in long rows. Else, where rows are long,
// `along` lanes take every along-th entry of a row, and the lanes left are for other rows (Yang, Buluc and Owens,
// Euro-Par 2018; RoDe, PPoPP 2024, for parts of long rows); both ways have pieces of their own. Panels run side by side
// in one launch. Parts of cut rows leave their sums in memory, and a second kernel adds them in order. Bytes per
// nonzero and panel: sizeof(T) + 4, and a row of X out of L2 or L1. Column-major X and Y are turned into row-major
// ones, where the plan was told to expect them and that pays; else panels are 8 vectors, with lanes along rows. Chosen
// for several right-hand sides of plans that were not told how many, and where it is predicted to be the fastest for 9
// columns and more.
#include <algorithm>
#include <limits>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <type_traits>
#include <utility>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/csr_pieces_kernel.cuh"
#include "cuda/spmv/csr_pieces_ring.cuh"
#include "cuda/spmv/csr_pieces_stream.cuh"
#include "cuda/spmv/turn_vectors.cuh"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;  // of a block

/// Bounds of a piece's work; of small matrices at most `usual`.
struct piece_bounds {
  std::int64_t least, usual, most;
};
/// Where a warp takes its entries one after another: many more pieces than warps, which do not end at the same time.
/// In small matrices few entries, each four of which wait for memory: of 10,000 entries pieces of 16 take 0.92 of the
/// time of 32 (H200, f32, 32 columns).
constexpr piece_bounds of_lines{16, 32, 256};
/// Where its lanes take rows side by side: work for all of them.
constexpr piece_bounds of_lanes{128, 128, 512};

/// Enough pieces for every warp, and rows cut where one would end last alone. Where rows of usual length are no longer
/// than a warp's share none of them is cut, and a piece has at least one: half of the warps would have nothing to do.
piece_shape shape_for(const context& ctx, std::int64_t rows, std::int64_t nnz, piece_bounds bounds) {
  const std::int64_t total = nnz + row_work * rows, processors = std::max(ctx.info().multiprocessors, 1);
  constexpr std::int64_t per_processor = 128, short_row = 128, least_whole = 64, longest_whole = 4096;
  const std::int64_t share = total / (processors * per_processor);
  const std::int64_t row = total / std::max<std::int64_t>(rows, 1);
  const std::int64_t enough = std::max(share, std::min(4 * share, bounds.usual));
  const std::int64_t work = std::clamp(enough, bounds.least, bounds.most);
  const auto shape = [](std::int64_t of_piece, std::int64_t whole) {
    return piece_shape{static_cast<int>(of_piece), static_cast<int>(ceil_div(std::max(whole, of_piece), of_piece))};
  };
  if (row <= std::max(share, short_row)) return shape(std::max(work, row), std::max(least_whole, 2 * row));
  return shape(work, std::clamp(share, least_whole, longest_whole));
}

/// More lanes along a row the longer rows are: few enough that several rows are waited for at once, and that short ones
/// do not leave lanes without an entry. H200, f32: 8 columns by rows, R-MAT 16 (40 a row) 62 us with 1 lane along a row
/// and 139 with 16, 20k x 2M (1500) 908 and 557; by columns, delaunay_n16 (6) 25 with 1 and 20 with 2.
warp_division division_for(double mean, int across) {
  double longer = across == 1 ? 4 : across >= 8 ? 8 : 16;
  const double factor = across >= 8 ? 2 : 4;
  warp_division by{across, 1, 0};
  for (; across * by.along < 32 && mean >= longer; longer *= factor) by.along *= 2;
  by.alone = across * by.along == 32 ? std::numeric_limits<int>::max() : std::max(32, 8 * by.along);
  return by;
}

template <class T, class O>
class csr_pieces final : public csr_operator<T, O> {
 public:
  csr_pieces(const context& ctx, csr_view<T, O> a, const csr_stats& s, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, threads), mean_(s.mean), enough_warps_(16 * ctx.info().multiprocessors) {
    const auto divided = [&](piece_bounds bounds) {
      row_pieces<O> pieces(ctx, a.rowptr, a.rows, a.nnz, s.max, shape_for(ctx, a.rows, a.nnz, bounds));
      const index_t at_once = columns_at_once(pieces.counts().parts, o.columns);
      return division{std::move(pieces), at_once};
    };
    const bool told = o.columns > 0, by_columns = told && o.columns_order == vector_order::column_major;
    const bool turns =
        by_columns && turning_rule(s, sizeof(T), std::numeric_limits<double>::infinity()).pays(o.columns);
    const bool in_lines = fills_line(o.columns) && (!by_columns || turns);
    if (!told || in_lines) by_lines_ = divided(of_lines);
    if (!told || !in_lines) by_lanes_ = divided(of_lanes);
    parts_ = buffer<T>(ctx, std::max(room_for(by_lines_), room_for(by_lanes_)));
    if (turns) turned_ = {ctx, a.rows, a.cols, o.columns};
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
    turned_.multiply(alpha, x, beta, y, this->a_.rows, this->a_.cols,
                     many_epilogue<T>{static_cast<const T*>(finish.bias), finish.relu}, stream,
                     [&](double by, const strided_vectors& from, double old, const strided_vectors& to,
                         const many_epilogue<T>& then) {
                       const scale_and_store_many<T> store{static_cast<T>(by), static_cast<T>(old),
                                                           typed_vectors<T>(to), wide(to), then};
                       for (index_t done = 0; done < from.count;) {
                         done += in_place(some(from, done), from.count - done, moved(store, done), stream);
                       }
                     });
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return bytes_of_pieces() + parts_.bytes() + turned_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return csr_operator<T, O>::matrix_bytes() + bytes_of_pieces();
  }
  [[nodiscard]] std::string parameters() const override {
    const piece_shape& shape = (by_lines_ ? by_lines_ : by_lanes_)->pieces.shape();
    return "work=" + std::to_string(shape.work) + " whole=" + std::to_string(shape.longest_whole());
  }

 private:
  static constexpr index_t each = 16 / sizeof(T);
  static constexpr int line = 8;  // lanes of 16 bytes
  struct division {
    row_pieces<O> pieces;
    index_t at_once;  // columns
  };
  /// Of X by rows: a line of 128 bytes or most of one.
  static bool fills_line(index_t columns) { return across_for(columns, each) >= line; }
  [[nodiscard]] const division& division_of(index_t columns) const {
    const bool by_lines = by_lines_ && (fills_line(columns) || !by_lanes_);
    return by_lines ? *by_lines_ : *by_lanes_;
  }
  /// As many as parts of cut rows leave room for.
  [[nodiscard]] index_t columns_at_once(std::int64_t parts, index_t told) const {
    constexpr std::int64_t most = 8 * 65535;  // of a grid
    if (parts == 0) return most;
    constexpr std::int64_t room = 16 << 20, least = 32, usual = 128;
    const auto matrix = static_cast<std::int64_t>(csr_operator<T, O>::matrix_bytes());
    const std::int64_t fit = std::max(room, told > 0 ? matrix : matrix / 4) / (parts * std::int64_t{sizeof(T)});
    const std::int64_t wanted = told > 0 ? padded(told) : usual;
    return static_cast<index_t>(std::min(std::max(wanted, least), std::max(fit / least * least, least)));
  }
  static std::size_t room_for(const std::optional<division>& d) {
    if (!d) return 0;
    return static_cast<std::size_t>(d->pieces.counts().parts) * static_cast<std::size_t>(d->at_once);
  }
  [[nodiscard]] std::size_t bytes_of_pieces() const {
    return (by_lines_ ? by_lines_->pieces.bytes() : 0) + (by_lanes_ ? by_lanes_->pieces.bytes() : 0);
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
      const auto& [pieces, at_once] = division_of(left);
      const index_t columns = std::min(left, at_once), whole = columns - columns % each;
      const wide_rows<T> rows{from, x.row_stride, whole};
      const int across = panel_for(pieces, whole);
      if (takes_stream(across)) {
        by_stream(pieces, rows, store, stream);
      } else if (row_by_row(across)) {
        by_warps<4>(pieces, rows, across, whole, store, stream);
      } else {
        by_ring(pieces, rows, across, store, stream);
      }
      add_parts(pieces, whole, store, stream);
      return whole;
    }
    const auto& [pieces, at_once] = division_of(1);
    const index_t columns = std::min(left, at_once);
    if (by_row(x)) {
      by_warps<4>(pieces, strided_rows<T, 1>{from, x.row_stride, 1, columns}, across_for(columns, 1), columns, store,
                  stream);
    } else {
      by_warps<2>(pieces, strided_rows<T, 8>{from, x.row_stride, x.vector_stride, columns}, 1, columns, store, stream);
    }
    add_parts(pieces, columns, store, stream);
    return columns;
  }

  /// At most a warp.
  static int across_for(index_t columns, index_t each_lane) {
    int across = 1;
    while (across < 32 && across * each_lane < columns) across *= 2;
    return across;
  }

  /// Lanes across a panel of 16 bytes each: fewer, down to a line, where there are not enough warps otherwise.
  [[nodiscard]] int panel_for(const row_pieces<O>& pieces, index_t columns) const {
    int across = across_for(columns, each);
    while (across > line && pieces.view().count * ceil_div(columns, across * each) < enough_warps_) across /= 2;
    return across;
  }

  template <int Flight, class Rows>
  void by_warps(const row_pieces<O>& pieces, const Rows& x, int across, index_t columns,
                const scale_and_store_many<T>& store, cudaStream_t stream) {
    const warp_division by = division_for(mean_, across);
    const auto kernel = [&] {
      if constexpr (Rows::aligned) {
        if (by.along == 1) return csr_pieces_kernel<Flight, false, Rows, T, O>;
      }
      return csr_pieces_kernel<Flight, true, Rows, T, O>;
    }();
    start("csr.pieces", kernel, pieces.view().count * 32, ceil_div(columns, across * Rows::count), stream, this->a_,
          pieces.view(), x, by, store, part_sums<T>{parts_.data(), columns});
  }
  /// Panels of 512 bytes in f32. In f64 the ring is faster (docs/notes/0025-spmm-cuda.md).
  static constexpr bool has_stream = std::is_same_v<T, float>;
  static bool takes_stream(int across) { return has_stream && across == 32; }
  void by_stream(const row_pieces<O>& pieces, const wide_rows<T>& x, const scale_and_store_many<T>& store,
                 cudaStream_t stream) {
    if constexpr (has_stream) {
      start("csr.pieces.stream", csr_pieces_stream_kernel<T, O>, pieces.view().count * 32,
            ceil_div(x.columns, 32 * each), stream, this->a_, pieces.view(), x, store,
            part_sums<T>{parts_.data(), x.columns});
    }
  }
  /// Rows of X are shorter than a line, or there are so many entries of a row that reading ahead in one is enough,
  /// which leaves L1 to X.
  [[nodiscard]] bool row_by_row(int across) const {
    constexpr double long_rows = 48;
    return across < 8 || (across == 32 && mean_ >= long_rows);
  }
  template <int Across = 8>
  void by_ring(const row_pieces<O>& pieces, const wide_rows<T>& x, int across, const scale_and_store_many<T>& store,
               cudaStream_t stream) {
    if constexpr (Across < 32) {
      if (across > Across) return by_ring<2 * Across>(pieces, x, across, store, stream);
    }
    start("csr.pieces.ring", csr_pieces_ring_kernel<Across, T, O>, pieces.view().count * 32,
          ceil_div(x.columns, Across * each), stream, this->a_, pieces.view(), x, store,
          part_sums<T>{parts_.data(), x.columns});
  }
  void add_parts(const row_pieces<O>& pieces, index_t columns, const scale_and_store_many<T>& store,
                 cudaStream_t stream) {
    const int width = std::min(across_for(columns, 1), 32);
    const std::int64_t rows = pieces.counts().rows, panels = ceil_div(columns, width);
    const part_sums<T> parts{parts_.data(), columns};
    if (rows < enough_warps_ / 2) {
      start("csr.pieces.cut", cut_row_kernel<T>, rows * threads, panels, stream, pieces.cuts(), parts, width, store);
    } else {
      start("csr.pieces.cut", cut_rows_kernel<T>, rows * 32, panels, stream, pieces.cuts(), pieces.counts().rows, parts,
            width, store);
    }
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

  double mean_;                                  // entries of a row
  std::int64_t enough_warps_;                    // to hide what each waits for
  std::optional<division> by_lines_, by_lanes_;  // a plan that was told how many columns come has one
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
