// csr.pieces: several right-hand sides from a CSR read in place, in four ways.
// Where rows of X have 128 bytes and more, rows are taken in pieces of equal work (row_pieces.cuh), a warp each. A lane
// holds 16 bytes of a row of Y, `across` lanes side by side a panel of up to 512 bytes, and the groups of `across`
// lanes of a warp each take an equal part of its piece's entries one after another, whatever rows they are of
// (csr_pieces_stream.cuh; Yan, Li, Zhang and Zhou, PPoPP 2014, for a bit that says where a row ends). Pieces of long
// rows are taken in the order of their first columns.
// Where they are shorter and rows of A differ in length, or entries of f64 are many, the same in smaller pieces, whose
// entries a warp reads all at once (csr_pieces_short.cuh). Where X lies by columns and rows of A differ, `along` lanes
// take every along-th entry of a row, and the lanes left are for other rows of the piece (csr_pieces_kernel.cuh; Yang,
// Buluc and Owens, Euro-Par 2018; RoDe, PPoPP 2024, for parts of long rows). These pieces are divided apart. Parts of
// cut rows leave their sums in memory, and a second kernel adds them in order. Else rows stay whole (csr_many.cu),
// which has nothing to read in front of a row. Panels run side by side in one launch. Bytes per nonzero and panel:
// sizeof(T) + 4, by streams 1/8 more, and a row of X out of L2 or L1. Column-major X is turned into rows where that
// pays, and much of Y with it where rows are lines, or rows of A differ, if there is room. What is read is asked
// for ahead where it is little. Chosen for several right-hand sides of plans that were not told how many, and where it
// is predicted to be the fastest.
#include <algorithm>
#include <limits>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <utility>

#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/csr_pieces_kernel.cuh"
#include "cuda/spmv/csr_pieces_short.cuh"
#include "cuda/spmv/csr_pieces_stream.cuh"
#include "cuda/spmv/product_ahead.cuh"
#include "cuda/spmv/turn_vectors.cuh"
#include "kernels/row_lanes.hpp"
#include "kernels/turning_rule.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;  // of a block

/// More lanes along a row the longer rows are: few enough that several rows are waited for at once, and that short ones
/// do not leave lanes without an entry. H200, f32, by columns: delaunay_n16 (6 a row) 25 us with 1 lane along a row, 20
/// with 2.
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
      : csr_operator<T, O>(ctx, a, threads),
        mean_(s.mean),
        longest_(s.max),
        told_(o.columns > 0),
        rows_alike_(has_rows_alike(s)),
        starts_early_(ctx.info().compute_capability >= 90),
        turning_(s, sizeof(T), turning_rule::uneven_in_pieces) {
    const bool by_columns = told_ && o.columns_order == vector_order::column_major;
    const bool turns = by_columns && turning_.pays(o.columns);
    const bool in_lines = told_ ? fills_line(o.columns) && !stays_whole(o.columns) && (!by_columns || turns)
                                : !stays_whole(usual_columns);
    const bool others = !(told_ && in_lines);  // rows of X that are no lines
    const bool is_short = others && short_piece::pays(s, sizeof(T));
    if (in_lines || is_short) {
      ends_.emplace(ctx, a.rowptr, a.rows, a.nnz, s.max > 0 ? std::optional(s.empty_rows) : std::nullopt);
    }
    const auto rows_with_entries = [&](const piece_shape& shape) {
      row_pieces<O> pieces(ctx, ends_->rowptr(), ends_->rows(), a.nnz, s.max, shape);
      if (shape.by_column) pieces.take_by_column(ctx, a.colind, a.cols);
      ends_->renumber(ctx, pieces);
      return divided(std::move(pieces), o.columns);
    };
    if (in_lines) {
      const stream_groups groups = told_ ? stream_groups::of(o.columns, sizeof(T)) : stream_groups::untold();
      by_lines_ = rows_with_entries(shape_of_streams(s, this->multiprocessors_, groups));
    }
    if (is_short) by_short_ = rows_with_entries(short_piece::shape(s, this->multiprocessors_));
    if (!rows_alike_ && (others || ends_->view().empties > 0)) {
      by_lanes_ = divided({ctx, a.rowptr, a.rows, a.nnz, s.max, shape_of_lanes(s, this->multiprocessors_)}, o.columns);
    }
    parts_ = buffer<T>(ctx, std::max({room_for(by_lines_), room_for(by_short_), room_for(by_lanes_)}));
    if (turns) turned_ = {ctx, turns_y(o.columns) ? a.rows : 0, a.cols, o.columns};
    if (!told_ && o.effort != spmv_effort::none) {
      const untold_room room(s, sizeof(T), ctx.info().memory_bytes);
      const index_t columns = room.turned(a.cols, [this](index_t n) { return turning_.pays(n); });
      const bool y_too = turns_y(columns) && room.has_lines(columns, a.rows);
      turned_ = turned_vectors<T>::if_there_is_memory(ctx, y_too ? a.rows : 0, a.cols, columns);
    }
  }
  bool store_in_order(const index_t*, bool) override { return false; }
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view on) override {
    const device_guard guard(this->device_);
    const cudaStream_t stream = native(on);
    const auto multiply = [&](double by, const strided_vectors& from, double old, const strided_vectors& to,
                              const many_epilogue<T>& then, bool behind) {
      const scale_and_store_many<T> store(by, old, to, then);
      for (index_t done = 0; done < from.count;) {
        done += some_columns(some_of<T>(from, done, from.count - done), store.from(done), behind && done == 0, stream);
      }
    };
    const many_epilogue<T> then(finish);
    if (!turning_.pays(turned_.at_once(x.count))) {
      return multiply(alpha, x, beta, y, then, false);
    }
    turned_.multiply(alpha, x, beta, y, this->a_.rows, this->a_.cols, then, stream, multiply, turns_y(x.count));
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return bytes_of_pieces() + parts_.bytes() + turned_.bytes();
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return csr_operator<T, O>::matrix_bytes() + bytes_of_pieces();
  }
  [[nodiscard]] std::string parameters() const override {
    if (!by_lines_ && !by_short_ && !by_lanes_) return "rows whole";
    const piece_shape& shape = (by_lines_ ? by_lines_ : by_short_ ? by_short_ : by_lanes_)->pieces.shape();
    return "work=" + std::to_string(shape.work) + " whole=" + std::to_string(shape.longest_whole()) +
           (shape.by_column ? " by column" : "");
  }

 private:
  static constexpr index_t each = 16 / sizeof(T);
  static constexpr int line = 8;  // lanes of 16 bytes
  static constexpr index_t usual_columns = 128;

  struct division {
    row_pieces<O> pieces;
    index_t at_once;  // columns
  };
  [[nodiscard]] division divided(row_pieces<O> pieces, index_t told) const {
    const index_t at_once = columns_at_once(pieces.counts().parts, told);
    return {std::move(pieces), at_once};
  }
  /// Of X by rows.
  static constexpr bool fills_line(index_t columns) { return stream_groups::of(columns, sizeof(T)).in_lines(); }
  [[nodiscard]] bool stays_whole(index_t columns) const {
    return short_rows::stay_whole(longest_, mean_, this->a_.nnz, columns, sizeof(T));
  }
  /// Beside X: where each group of lanes stores a row at a time.
  [[nodiscard]] bool turns_y(index_t columns) const {
    const std::int64_t elements = std::int64_t{this->a_.rows} * turned_vectors<T>::of_pass(columns);
    return (fills_line(columns) || !rows_alike_) && elements >= least_turned_y;
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
    const auto of = [](const std::optional<division>& d) { return d ? d->pieces.bytes() : 0; };
    return of(by_lines_) + of(by_short_) + of(by_lanes_) + (ends_ ? ends_->bytes() : 0);
  }
  static index_t padded(index_t n) { return static_cast<index_t>(ceil_div(n, each) * each); }

  void run(scale_and_store<T> s, const T* x, cudaStream_t stream) override {
    const strided_vectors of_x{const_cast<T*>(x), 1, 1, 1}, of_y{s.y, 1, 1, 1};
    some_columns(of_x, scale_and_store_many<T>(s.alpha, s.beta, of_y), /*behind=*/false, stream);
  }

  /// The first columns, as many as are returned. `store` begins at the first column, aligned where it is wide.
  index_t some_columns(const strided_vectors& x, const scale_and_store_many<T>& store, bool behind,
                       cudaStream_t stream) {
    const auto* const from = static_cast<const T*>(x.data);
    const bool wide = is_wide<T>(x) && x.count >= each;
    const bool in_lines = wide && by_lines_ && fills_line(x.count) && !stays_whole(x.count);
    // By columns, whole rows side by side store elements of Y side by side.
    const bool is_short = wide && !in_lines && by_short_ && (store.wide || !rows_alike_);
    if (rows_alike_ && !in_lines && !is_short) {
      this->many_in_place(x, store, behind, stream);
      return x.count;
    }
    const auto& [pieces, at_once] = is_short ? *by_short_ : in_lines || !by_lanes_ ? *by_lines_ : *by_lanes_;
    index_t columns = std::min(x.count, at_once);
    if (in_lines || is_short) {
      columns -= columns % each;
      by_streams(pieces, in_lines, {from, x.row_stride, columns}, store, behind, stream);
    } else {
      const product_ahead ahead = ahead_of(this->a_, some_of<T>(x, 0, columns), behind);
      if (is_by_row(x)) {
        by_warps<4>(pieces, strided_rows<T, 1>{from, x.row_stride, 1, columns}, lanes_across(columns, 1), columns,
                    store, ahead, stream);
      } else {
        by_warps<2>(pieces, strided_rows<T, 8>{from, x.row_stride, x.vector_stride, columns}, 1, columns, store, ahead,
                    stream);
      }
    }
    add_parts(pieces, columns, store, stream);
    return columns;
  }

  /// To hide what each waits for.
  [[nodiscard]] std::int64_t enough_warps() const { return std::int64_t{16} * this->multiprocessors_; }
  /// Lanes across a panel of 16 bytes each: fewer, down to a line, where there are not enough warps otherwise.
  [[nodiscard]] int panel_for(const row_pieces<O>& pieces, index_t columns) const {
    int across = lanes_across(columns, each);
    while (across > line && pieces.view().count * ceil_div(columns, across * each) < enough_warps()) across /= 2;
    return across;
  }

  template <int Flight, class Rows>
  void by_warps(const row_pieces<O>& pieces, const Rows& x, int across, index_t columns,
                const scale_and_store_many<T>& store, const product_ahead& ahead, cudaStream_t stream) {
    const warp_division by = division_for(mean_, across);
    const auto kernel =
        ahead.has_any() ? csr_pieces_kernel<true, Flight, Rows, T, O> : csr_pieces_kernel<false, Flight, Rows, T, O>;
    start("csr.pieces", kernel, pieces.view().count, ceil_div(columns, across * Rows::count), threads, ahead.behind,
          stream, this->a_, pieces.view(), x, by, store, part_sums<T>{parts_.data(), columns}, ahead);
  }
  template <int Across, bool Ahead>
  static auto stream_kernel(bool plain) {
    if constexpr (Across < line) {
      return plain ? csr_pieces_short_kernel<Across, true, Ahead, T, O>
                   : csr_pieces_short_kernel<Across, false, Ahead, T, O>;
    } else {
      return plain ? csr_pieces_stream_kernel<Across, true, Ahead, T, O>
                   : csr_pieces_stream_kernel<Across, false, Ahead, T, O>;
    }
  }
  void by_streams(const row_pieces<O>& pieces, bool in_lines, const wide_rows<T>& x,
                  const scale_and_store_many<T>& store, bool behind, cudaStream_t stream) {
    const strided_vectors all{const_cast<T*>(x.x), x.columns, x.row_stride, 1};
    const product_ahead ahead = ahead_of(this->a_, all, behind, in_lines ? most_ahead_of_lines : most_ahead);
    const bool plain = store.wide && store.beta == T{0} && store.then.bias == nullptr && !store.then.relu;
    const auto start_with = [&]<int Across>() {
      const auto kernel = ahead.has_any() ? stream_kernel<Across, true>(plain) : stream_kernel<Across, false>(plain);
      const row_ends_view ends = ends_->view();
      const std::int64_t warps = pieces.view().count + ceil_div(ends.empties, piece_stream::empties);
      start("csr.pieces.stream", kernel, warps, ceil_div(x.columns, Across * each), piece_stream::threads, ahead.behind,
            stream, this->a_, pieces.view(), ends, x, static_cast<int>(x.row_stride * std::int64_t{sizeof(T)}), store,
            part_sums<T>{parts_.data(), x.columns}, ahead);
    };
    switch (in_lines ? panel_for(pieces, x.columns) : lanes_across(x.columns, each)) {
      case 32:
        return start_with.template operator()<32>();
      case 16:
        return start_with.template operator()<16>();
      case 8:
        return start_with.template operator()<8>();
      case 4:
        return start_with.template operator()<4>();
      case 2:
        return start_with.template operator()<2>();
      default:
        return start_with.template operator()<1>();
    }
  }
  void add_parts(const row_pieces<O>& pieces, index_t columns, const scale_and_store_many<T>& store,
                 cudaStream_t stream) {
    const int width = lanes_across(columns, 1);
    const std::int64_t rows = pieces.counts().rows, panels = ceil_div(columns, width);
    const int of_block = rows < enough_warps() / 2 ? 1 : threads / 32;  // rows
    const launch_shape shape{ceil_div(rows, of_block), threads, 0, panels};
    const part_sums<T> parts{parts_.data(), columns};
    launch("csr.pieces.cut", cut_rows_kernel<T>, shape, starts_early_, stream, pieces.cuts(), pieces.counts().rows,
           of_block, parts, width, store);
  }
  /// A panel of columns for each y of the grid.
  template <class... Parameters, class... Args>
  static void start(const char* name, void (*kernel)(Parameters...), std::int64_t warps, std::int64_t panels, int block,
                    bool behind, cudaStream_t stream, const Args&... args) {
    launch(name, kernel, {ceil_div(warps * 32, block), block, 0, panels}, behind, stream, args...);
  }

  double mean_;        // entries of a row
  index_t longest_;    // row; 0 where it is not known
  bool told_;          // how many columns come
  bool rows_alike_;    // no lane has much more of a row than the others, were rows whole
  bool starts_early_;  // a kernel may, before the one in front of it has ended
  turning_rule turning_;
  std::optional<row_ends<O>> ends_;
  std::optional<division> by_lines_, by_short_;  // of rows as ends_ numbers them
  std::optional<division> by_lanes_;             // of all, where they are not alike
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
