// gustavson: row-wise SpGEMM (Gustavson, ACM TOMS 1978) with an accumulator that suits each row, in two phases: the
// entries of every row are counted (counted_rows.cu), then columns and values are written where they belong. What a row
// is made with follows from its number of products and of 32-column words (product_rows.cuh); each class is a launch,
// those that take whole blocks on streams beside the others. The products of an entry are added in the order of A's
// entries (docs/adr/0008). Bytes per product: 4 to count and 4 + sizeof(T) to fill, through L1 and L2; C is written
// once. Always chosen.
#include <algorithm>
#include <tulle/core/buffer.hpp>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/spgemm/counted_rows.hpp"
#include "cuda/spgemm/row_kernels.hpp"
#include "cuda/spgemm/rowptr.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {

std::unique_ptr<spgemm_operator> make_masked_spgemm(const context& ctx, const spgemm_problem& p);   // masked.cu
std::unique_ptr<spgemm_operator> make_spgemm_further(const context& ctx, const spgemm_problem& p);  // further.cu

namespace {

/// Where the rows of B that A asks for have at most this many entries on average, they are walked several at a time.
constexpr double short_row = 12;
/// Where all the rows of B have at least this many on average, each warp has one to itself. (The mean over those that A
/// asks for says little here: it may come from a few long rows.)
constexpr double long_row = 48;

/// Tasks of wide rows: parts of them with at least so many entries, where the device can be filled with more.
constexpr int smallest_chunk = 256;
std::int64_t blocks_to_fill(const context& ctx) { return std::int64_t{4} * ctx.info().multiprocessors; }

class gustavson final : public spgemm_operator {
 public:
  gustavson(const context& ctx, const spgemm_problem& p) : ctx_(ctx), problem_(p), rows_(ctx, p, side_) {}

  void begin(const operand_check& check) override {
    if (problem_.a.rows == 0) return;
    const device_guard guard(ctx_.device());
    rows_.begin(check);
  }

  std::int64_t symbolic() override {
    if (problem_.a.rows == 0) return 0;
    const device_guard guard(ctx_.device());
    return rows_.count();
  }

  void fill(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    if (problem_.a.rows == 0) return write_first_offset(ctx_, c);
    if (c.offset != problem_.a.types.offset && wide_.empty()) make_wide();
    const product_fill to = fill_of(values, c, true);
    rows_.write_offsets(to.c);
    const bool cut = make_room_for_tasks();
    fill_rows(to, [&](const product_fill& of_wide) {
      fill_columns(of_wide);
      if (cut) cut_wide_rows(of_wide, tasks());
    });
    rows_.free_bitmaps();
    if (to.c.offset != c.offset) narrow_offsets(c);
  }

  void numeric(const spgemm_values& values, const csr_sink& c) override {
    if (problem_.a.rows == 0) return;
    const device_guard guard(ctx_.device());
    if (c.offset != problem_.a.types.offset && wide_.empty()) {
      throw error(status::invalid_argument, "spgemm: C was filled with offsets of another width");
    }
    fill_rows(fill_of(values, c, false), [](const product_fill&) {});
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return rows_.bytes() + tasks_.bytes() + wide_.bytes() + wide_b_.bytes();
  }

 private:
  /// The kernels see offsets of one width: where C's is not that of A and B, those that are 32-bit are widened.
  void make_wide() {
    const auto widened = [&](const matrix_ref& m) {
      const auto* narrow = static_cast<const std::int32_t*>(m.rowptr);
      return formats<float, std::int32_t>().widen_offsets(ctx_, narrow, static_cast<std::size_t>(m.rows) + 1);
    };
    if (problem_.a.types.offset == offset_type::i64) {
      wide_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(problem_.a.rows) + 1);
    } else {
      buffer<std::int64_t> of_a = widened(problem_.a);
      wide_b_ = widened(problem_.b);
      wide_ = std::move(of_a);
    }
  }
  [[nodiscard]] product_fill fill_of(const spgemm_values& values, csr_sink c, bool columns) {
    product_ref product = rows_.product();
    if (c.offset != product.types.offset && c.offset == offset_type::i64) {
      product = product_ref(problem_);
      product.a_rowptr = wide_.data();
      product.b_rowptr = wide_b_.data();
      product.types.offset = offset_type::i64;
    } else if (c.offset != product.types.offset) {
      c.rowptr = wide_.data();
      c.offset = offset_type::i64;
    }
    return {product, values, c, columns, native(ctx_)};
  }
  void narrow_offsets(const csr_sink& c) const {
    const auto narrow = formats<float, std::int64_t>().narrow_offsets(ctx_, wide_.data(), wide_.size());
    copy_bytes(ctx_, c.rowptr, memory_space::device, narrow.data(), memory_space::device, narrow.bytes());
  }

  static product_fill on(const side_work& work, product_fill to) {
    to.stream = work.stream();
    return to;
  }
  /// `prepare`: what the values of wide rows need first.
  template <class Prepare>
  void fill_rows(const product_fill& to, Prepare prepare) {
    const side_work wide_work(side_.wide, to.stream, rows_.wide_ones_beside());
    const side_work bucketed_work(side_.bucketed, to.stream, rows_.bucketed_ones_beside());
    const product_fill of_wide = on(wide_work, to);
    prepare(of_wide);
    fill_wide_values(of_wide);
    fill_bucketed(on(bucketed_work, to), rows_.bucketed());
    fill_sorted(to, rows_.sorted());
    for (const row_class c : {hashed_256, hashed_376, hashed_480}) {
      fill_hashed(to, rows_.mean_b() <= short_row, c, rows_.list(c));
    }
  }

  /// Columns of the wide rows.
  void fill_columns(const product_fill& to) {
    if (rows_.hub_bitmaps() != nullptr) fill_kept_columns(to, rows_.list(hub), rows_.hub_bitmaps());
    if (rows_.bitmaps() != nullptr) fill_kept_columns(to, rows_.list(wide), rows_.bitmaps());
    fill_wide_columns(to, static_cast<float>(rows_.mean_b()), rows_.without_bitmaps(), ctx_.info());
  }

  /// For the tasks of the wide rows, small ones where there would be too few to fill the device. Whether they are still
  /// to be cut.
  bool make_room_for_tasks() {
    const std::int64_t share = rows_.nnz() / blocks_to_fill(ctx_);
    chunk_ = static_cast<int>(std::clamp<std::int64_t>(share, smallest_chunk, wide_chunk));
    if (rows_.of_wide().most <= std::min(chunk_, narrow_chunk) || !tasks_.empty()) return false;
    const std::int64_t most = most_wide_tasks(rows_.wide_list().most, wide_entries(), chunk_);
    tasks_ = buffer<wide_task>(ctx_, static_cast<std::size_t>(most));
    return true;
  }
  [[nodiscard]] std::int64_t wide_entries() const { return static_cast<std::int64_t>(rows_.of_wide().all); }
  [[nodiscard]] wide_tasks tasks() {
    return {rows_.wide_list(), tasks_.data(), rows_.wide_list().most, wide_entries(), rows_.tasks(), chunk_};
  }

  void fill_wide_values(const product_fill& to) {
    if (rows_.wide_list().most == 0) return;
    const bool long_rows = static_cast<double>(problem_.b.nnz) >= long_row * problem_.b.rows;
    long_rows ? fill_from_long_rows(to, tasks()) : fill_from_short_rows(to, tasks());
  }

  context ctx_;
  spgemm_problem problem_;
  side_streams side_;
  counted_rows rows_;
  int chunk_ = wide_chunk;
  buffer<wide_task> tasks_;
  buffer<std::int64_t> wide_, wide_b_;  // offsets: of A and B, or of C, where they are not of the width that C has
};

}  // namespace

std::unique_ptr<spgemm_operator> make_gustavson(const context& ctx, const spgemm_problem& p) {
  if (is_further(p.a.types.value)) return make_spgemm_further(ctx, p);
  if (p.mask) return make_masked_spgemm(ctx, p);
  return std::make_unique<gustavson>(ctx, p);
}

}  // namespace tulle::cuda
