// gustavson: row-wise SpGEMM (Gustavson, ACM TOMS 1978) with an accumulator that suits each row, in two phases: the
// entries of every row are counted (counted_rows.cu), then columns and values are written where they belong. What a row
// is made with follows from its number of products and of 32-column words (product_rows.cuh); each class is a launch.
// The products of an entry are added in the order of A's entries (docs/adr/0008). Bytes per product: 4 to count and 4 +
// sizeof(T) to fill, through L1 and L2; C is written once. Always chosen.
#include <algorithm>
#include <tulle/core/buffer.hpp>

#include "kernels/backends.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/spgemm/counted_rows.hpp"
#include "cuda/spgemm/hashed_rows.hpp"
#include "cuda/spgemm/masked.hpp"
#include "cuda/spgemm/sorted_rows.hpp"
#include "cuda/spgemm/wide_rows.hpp"

namespace tulle::cuda {
namespace {

/// Where the rows of B that A asks for have at most this many entries on average, they are walked several at a time.
constexpr double short_row = 12;
/// Where all the rows of B have at least this many on average, each warp has one to itself. (The mean over those that A
/// asks for says little here: it may come from a few long rows.)
constexpr double long_row = 48;

/// Tasks of wide rows: parts of them with at least so many entries, where the device can be filled with more.
constexpr int smallest_chunk = 256;
std::int64_t blocks_to_fill(const context& ctx) { return std::int64_t{4} * ctx.info().multiprocessors; }

template <class T, class O>
class gustavson final : public spgemm_operator {
 public:
  gustavson(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx),
        a_(p.a.as<T, O>()),
        b_(p.b.as<T, O>()),
        rows_(ctx, pattern(), std::int64_t{a_.nnz}, b_.rows, std::int64_t{b_.nnz}) {}

  void begin(const operand_check& check) override {
    if (a_.rows == 0) return;
    const device_guard guard(ctx_.device());
    rows_.begin(check);
  }

  std::int64_t symbolic() override {
    if (a_.rows == 0) return 0;
    const device_guard guard(ctx_.device());
    return rows_.count();
  }

  void fill(double alpha, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    if (c.offset == offset_type_of<O>) {
      fill_as(pattern(), rows_.words(), alpha, c);
    } else if constexpr (std::is_same_v<O, std::int32_t>) {
      if (wide_a_.empty()) {
        wide_a_ = widened(a_);
        wide_b_ = widened(b_);
      }
      fill_as(wide_pattern(), wide_words(), alpha, c);
    } else {
      fill_narrow(alpha, c);
    }
  }

  void numeric(double alpha, const void* a, const void* b, const csr_sink& c) override {
    if (a_.rows == 0) return;
    const device_guard guard(ctx_.device());
    if (c.offset == offset_type_of<O>) {
      values(pattern(), rows_.words(), values_of<O>(alpha, a, b, c), false);
    } else if constexpr (std::is_same_v<O, std::int32_t>) {
      if (wide_a_.empty()) throw error(status::invalid_argument, "spgemm: C was filled with offsets of another width");
      values(wide_pattern(), wide_words(), values_of<std::int64_t>(alpha, a, b, c), false);
    } else {
      if (wide_c_.empty()) throw error(status::invalid_argument, "spgemm: C was filled with offsets of another width");
      values(pattern(), rows_.words(), values_of<O>(alpha, a, b, with_wide_offsets(c)), false);
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return rows_.bytes() + tasks_.bytes() + wide_a_.bytes() + wide_b_.bytes() + wide_c_.bytes();
  }

 private:
  [[nodiscard]] cudaStream_t stream() const { return native(ctx_); }
  [[nodiscard]] wide_launch device() const { return {ctx_.info().multiprocessors, ctx_.info().shared_bytes}; }
  [[nodiscard]] product_pattern<O> pattern() const {
    return {a_.rows, b_.cols, a_.rowptr, a_.colind, b_.rowptr, b_.colind};
  }
  [[nodiscard]] product_pattern<std::int64_t> wide_pattern() const {
    return {a_.rows, b_.cols, wide_a_.data(), a_.colind, wide_b_.data(), b_.colind};
  }
  [[nodiscard]] word_rows<std::int64_t> wide_words() const {
    return {wide_b_.data(), wide_b_.data() + 1, nullptr, b_.colind};
  }
  buffer<std::int64_t> widened(csr_view<T, O> m) {
    return formats<T, O>().widen_offsets(ctx_, m.rowptr, static_cast<std::size_t>(m.rows) + 1);
  }

  template <class P>
  product_values<sum_of<T>, P> values_of(double alpha, const void* a, const void* b, const csr_sink& c) const {
    return values_of_product<T>(alpha, a, b, static_cast<const P*>(c.rowptr), c);
  }
  [[nodiscard]] csr_sink with_wide_offsets(csr_sink c) {
    c.offset = offset_type::i64;
    c.rowptr = wide_c_.data();
    return c;
  }

  /// A C of 32-bit offsets from A and B of 64-bit ones: the kernels see 64-bit offsets of the operator's own.
  void fill_narrow(double alpha, const csr_sink& c) {
    const auto count = static_cast<std::size_t>(a_.rows) + 1;
    if (wide_c_.empty()) wide_c_ = buffer<O>(ctx_, count);
    fill_as(pattern(), rows_.words(), alpha, with_wide_offsets(c));
    const auto narrow = formats<T, O>().narrow_offsets(ctx_, wide_c_.data(), count);
    copy_bytes(ctx_, c.rowptr, memory_space::device, narrow.data(), memory_space::device, narrow.bytes());
  }

  template <class P>
  void fill_as(const product_pattern<P>& m, const word_rows<P>& b, double alpha, const csr_sink& c) {
    auto* const rowptr = static_cast<P*>(c.rowptr);
    const auto first = static_cast<P>(c.first);
    if (a_.rows == 0) {
      return copy_bytes(ctx_, rowptr, memory_space::device, &first, memory_space::host, sizeof(first));
    }
    rows_.write_offsets(first, rowptr);
    fill_columns(m, b, rowptr, c.colind);
    cut_rows(rowptr);
    values(m, b, values_of<P>(alpha, a_.values, b_.values, c), true);
  }

  /// Columns of the wide rows.
  template <class P>
  void fill_columns(const product_pattern<P>& m, const word_rows<P>& b, const P* rowptr, index_t* colind) {
    buffer<uint4>& bitmaps = rows_.bitmaps();
    const row_list left = bitmaps.empty() ? rows_.wide_list() : rows_.list(wide_counted);
    fill_wide_columns(m, b, static_cast<float>(rows_.mean_b()), left, device(), rowptr, colind, stream());
    if (bitmaps.empty()) return;
    fill_kept_columns(rows_.list(wide), bitmaps.data(), m.cols, rowptr, colind, stream());
    bitmaps = {};
  }

  /// Tasks of the wide rows, small ones where there would be too few to fill the device.
  template <class P>
  void cut_rows(const P* c_rowptr) {
    const row_list list = rows_.wide_list();
    const std::int64_t share = rows_.nnz() / blocks_to_fill(ctx_);
    chunk_ = static_cast<int>(std::clamp<std::int64_t>(share, smallest_chunk, wide_chunk));
    if (rows_.most() <= std::min(chunk_, narrow_chunk) || !tasks_.empty()) return;
    tasks_ = buffer<wide_task>(ctx_, static_cast<std::size_t>(most_wide_tasks(list.most, rows_.nnz(), chunk_)));
    cut_wide_rows(list, c_rowptr, tasks(), stream());
  }
  [[nodiscard]] wide_tasks tasks() {
    return {rows_.wide_list(), tasks_.data(), rows_.wide_list().most, rows_.nnz(), rows_.tasks(), chunk_};
  }

  template <class P>
  void values(const product_pattern<P>& m, const word_rows<P>& b, const product_values<sum_of<T>, P>& v, bool columns) {
    fill_sorted(m, v, rows_.sorted(), columns, stream());
    for (const row_class c : {hashed_256, hashed_376, hashed_480}) {
      fill_hashed(m, b, v, rows_.mean_b() <= short_row, c, rows_.list(c), columns, stream());
    }
    if (rows_.wide_list().most == 0) return;
    const bool long_rows = static_cast<double>(b_.nnz) >= long_row * b_.rows;
    long_rows ? fill_by_owners(m, v, tasks(), stream()) : fill_by_turns(m, v, tasks(), stream());
  }

  context ctx_;
  csr_view<T, O> a_, b_;
  counted_rows<O> rows_;
  int chunk_ = wide_chunk;
  buffer<wide_task> tasks_;
  buffer<std::int64_t> wide_a_, wide_b_;  // offsets, where C needs 64 bits and A and B do not
  buffer<O> wide_c_;                      // and the other way round
};

}  // namespace

std::unique_ptr<spgemm_operator> make_gustavson(const context& ctx, const spgemm_problem& p) {
  if (p.mask) return make_masked_spgemm(ctx, p);
  return dispatch<type_set::all>(p.a.types, [&]<class T, class O>() -> std::unique_ptr<spgemm_operator> {
    return std::make_unique<gustavson<T, O>>(ctx, p);
  });
}

support supports_gustavson(const spgemm_problem&, const device_info&) { return {}; }

}  // namespace tulle::cuda
