// default: row-wise SpGEMM (Gustavson, ACM TOMS 1978) with an accumulator that suits each row, in two phases: the
// entries of every row are counted, then columns and values are written where they belong. What a row is made with
// follows from its number of products and of 32-column words (product_rows.cuh); each class is a launch. The
// products of an entry are added in the order of A's entries (docs/adr/0008). Bytes a product: 4 to count and 4 +
// sizeof(T) to fill, through L1 and L2; C is written once. Chosen unless another is named.
#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <limits>
#include <tulle/core/buffer.hpp>

#include "core/backends.hpp"
#include "cuda/formats/cub_workspace.cuh"
#include "cuda/formats/launch.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/spgemm/column_words.hpp"
#include "cuda/spgemm/early_report.cuh"
#include "cuda/spgemm/hashed_rows.hpp"
#include "cuda/spgemm/masked.hpp"
#include "cuda/spgemm/row_classes.hpp"
#include "cuda/spgemm/sorted_rows.hpp"
#include "cuda/spgemm/wide_rows.hpp"
#include "cuda/spgemm/word_table.cuh"

namespace tulle::cuda {
namespace {

/// Where the rows of B that A asks for have at most this many entries on average, they are walked several at a time.
constexpr double short_row = 12;
/// Where all the rows of B have at least this many on average, each warp has one to itself. (The mean over those that A
/// asks for says little here: it may come from a few long rows.)
constexpr double long_row = 48;
/// Rows with more products than this are not sorted: where there are few rows a block makes each sooner.
constexpr int largest_sorted = 512, largest_sorted_small = 128;
constexpr std::int64_t most_narrow = std::numeric_limits<std::int32_t>::max();

/// Numbers that the device counts and the host reads. They lie right behind the entries of C's rows, so that a scan of
/// those ends in the first of them.
struct counters {
  index_t scanned;              // entries of C
  index_t most;                 // of a wide row
  index_t first[row_classes];   // rows of each class before the trials
  index_t second[row_classes];  // and what the trials made of theirs
  index_t cursors[2 * row_classes];
  index_t begins[2 * row_classes];
  unsigned long long products;
  unsigned long long words;  // of B
  unsigned long long tasks[wide_tasks::kinds];
  long long entries;  // of C, where they are too many for a scan of 32 bits
};

/// Entries of C that a task has at least, where the device can be filled with more.
constexpr int smallest_chunk = 256;
std::int64_t blocks_to_fill(const context& ctx) { return std::int64_t{4} * ctx.info().multiprocessors; }

struct widen_entry {
  __host__ __device__ long long operator()(index_t n) const { return n; }
};

template <class P>
__global__ void place_offsets(std::int64_t count, const index_t* from, P first, P* to) {
  for (std::int64_t i = first_item(); i < count; i += item_step()) to[i] = first + from[i];
}

template <class T, class O>
class gustavson final : public spgemm_operator {
 public:
  gustavson(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx), a_(p.a.as<T, O>()), b_(p.b.as<T, O>()), report_(ctx) {
    if (a_.rows > 0) mean_a_ = static_cast<double>(a_.nnz) / a_.rows;
    if (b_.rows > 0) mean_b_row_ = products_a_entry_ = static_cast<double>(b_.nnz) / b_.rows;
  }

  void begin(const operand_check& check) override {
    if (a_.rows == 0) return;
    const device_guard guard(ctx_.device());
    reserve();
    counters* const device = counted();
    classify_rows(pattern(), mean_a_, is_small() ? largest_sorted_small : largest_sorted, check,
                  {classes_.data(), is_small() ? rows_.data() : nullptr, device->first, &device->products, entries()},
                  stream());
    if (is_small()) {
      count_listed();
    } else {
      list_rows({nullptr, a_.rows, nullptr, nullptr}, classes_.data(), device->first, device->cursors, device->begins,
                rows_.data(), report_.of(device), stream());
    }
    begun_ = true;
  }

  std::int64_t symbolic() override {
    if (a_.rows == 0) return 0;
    const device_guard guard(ctx_.device());
    if (!begun_) begin({});
    const counters found = report_.wait(counted());
    products_a_entry_ = static_cast<double>(found.products) / std::max(1.0, mean_a_ * a_.rows);
    if (is_small()) {
      place_listed(found.first);
      most_ = found.most;
      nnz_ = found.scanned;
    } else {
      place(found.first, rows_.data(), 0, first_classes);
      nnz_ = count(found);
    }
    classes_ = {};
    return nnz_;
  }

  void fill(double alpha, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    if (c.offset == offset_type_of<O>) {
      fill_as(pattern(), word_view(), alpha, c);
    } else if constexpr (std::is_same_v<O, std::int32_t>) {
      if (wide_a_.empty()) {
        wide_a_ = widened(a_);
        wide_b_ = widened(b_);
      }
      fill_as(wide_pattern(), wide_word_view(), alpha, c);
    } else {
      fill_narrow(alpha, c);
    }
  }

  void numeric(double alpha, const void* a, const void* b, const csr_sink& c) override {
    if (a_.rows == 0) return;
    const device_guard guard(ctx_.device());
    if (c.offset == offset_type_of<O>) {
      values(pattern(), word_view(), values_of<O>(alpha, a, b, c), false);
    } else if constexpr (std::is_same_v<O, std::int32_t>) {
      if (wide_a_.empty()) throw error(status::invalid_argument, "spgemm: C was filled with offsets of another width");
      values(wide_pattern(), wide_word_view(), values_of<std::int64_t>(alpha, a, b, c), false);
    } else {
      if (wide_c_.empty()) throw error(status::invalid_argument, "spgemm: C was filled with offsets of another width");
      values(pattern(), word_view(), values_of<O>(alpha, a, b, with_wide_offsets(c)), false);
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return classes_.bytes() + counts_.bytes() + rows_.bytes() + tried_.bytes() + word_ends_.bytes() + bitmaps_.bytes() +
           words_.bytes() + tasks_.bytes() + wide_a_.bytes() + wide_b_.bytes() + wide_c_.bytes();
  }

 private:
  [[nodiscard]] cudaStream_t stream() const { return native(ctx_.stream()); }
  [[nodiscard]] bool short_rows() const { return products_a_entry_ <= short_row; }
  [[nodiscard]] wide_launch device() const { return {ctx_.info().multiprocessors, ctx_.info().shared_bytes}; }
  [[nodiscard]] float mean_b() const { return static_cast<float>(products_a_entry_); }
  [[nodiscard]] product_pattern<O> pattern() const {
    return {a_.rows, b_.cols, a_.rowptr, a_.colind, b_.rowptr, b_.colind};
  }
  [[nodiscard]] product_pattern<std::int64_t> wide_pattern() const {
    return {a_.rows, b_.cols, wide_a_.data(), a_.colind, wide_b_.data(), b_.colind};
  }
  [[nodiscard]] word_rows<O> word_view() const {
    if (words_.empty()) return {b_.rowptr, b_.rowptr + 1, nullptr, b_.colind};
    return {b_.rowptr, word_ends_.data(), words_.data(), b_.colind};
  }

  [[nodiscard]] word_rows<std::int64_t> wide_word_view() const {
    return {wide_b_.data(), wide_b_.data() + 1, nullptr, b_.colind};
  }

  buffer<std::int64_t> widened(csr_view<T, O> m) {
    return formats<T, O>().widen_offsets(ctx_, m.rowptr, static_cast<std::size_t>(m.rows) + 1);
  }

  /// Few rows: trials, or waiting to know how many rows each class has, would take longer than they save.
  [[nodiscard]] bool is_small() const {
    return a_.rows <= most_listed && std::int64_t{a_.rows} * b_.cols <= most_narrow;
  }

  void reserve() {
    const auto rows = static_cast<std::size_t>(a_.rows);
    const std::size_t lead = (rows * sizeof(index_t) + alignof(counters) - 1) / alignof(counters);
    counts_ = buffer<std::uint64_t>(ctx_, lead + (sizeof(counters) + 7) / 8);
    counted_ = lead;
    if (is_small()) {
      rows_ = buffer<index_t>(ctx_, rows * first_classes);
    } else {
      classes_ = buffer<std::uint8_t>(ctx_, rows);
      rows_ = buffer<index_t>(ctx_, rows);
    }
    fill_bytes(ctx_, counted(), memory_space::device, 0, sizeof(counters));
  }
  [[nodiscard]] counters* counted() { return reinterpret_cast<counters*>(counts_.data() + counted_); }
  /// Of each row of C, and 0; their offsets where scanned_.
  [[nodiscard]] index_t* entries() { return &counted()->scanned - a_.rows; }

  /// All classes at once, their sizes known to the device alone.
  void count_listed() {
    counters* const device = counted();
    for (int c = sorted_8; c < first_classes; ++c) {
      lists_[c] = {rows_.data() + std::int64_t{c} * a_.rows, a_.rows, device->first + c, nullptr};
    }
    lists_[trial_512] = {};
    leave_out_trials();
    count_rows();
    scan_listed(a_.rows, entries(), report_.of(device), stream());
    scanned_ = true;
  }
  void place_listed(const index_t (&counts)[row_classes]) {
    for (int c = sorted_8; c < first_classes; ++c) {
      lists_[c] = {rows_.data() + std::int64_t{c} * a_.rows, counts[c], nullptr, nullptr};
    }
    leave_out_trials();
  }

  std::int64_t count(const counters& found) {
    counters* const device = counted();
    const index_t tried = found.first[trial_512] + found.first[trial];
    const bool tries = tried > 0 && a_.rows > most_listed && b_.cols <= most_hashed_columns && compress();
    if (tries) {
      try_as_hashed(tried);
    } else {  // few columns share a word: no row would fit the table
      leave_out_trials();
    }
    count_rows();
    if (found.products <= static_cast<unsigned long long>(most_narrow)) {
      with_workspace(ctx_, "cub::DeviceScan", [&](void* workspace, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(workspace, bytes, entries(), std::int64_t{a_.rows} + 1, stream());
      });
      scanned_ = true;
    } else {
      with_workspace(ctx_, "cub::DeviceReduce", [&](void* workspace, std::size_t& bytes) {
        return cub::DeviceReduce::TransformReduce(workspace, bytes, entries(), &device->entries, a_.rows,
                                                  ::cuda::std::plus<long long>{}, widen_entry{}, 0ll, stream());
      });
    }
    const counters now = read_back(ctx_, device);
    if (tries) place(now.second, tried_.data(), first_classes, row_classes);
    most_ = now.most;
    return scanned_ ? now.scanned : now.entries;
  }

  /// Lists of the classes [from, to), one after the other in `rows`.
  void place(const index_t (&counts)[row_classes], const index_t* rows, int from, int to) {
    for (int c = from; c < to; ++c) {
      lists_[c] = {rows, counts[c], nullptr, nullptr};
      rows += counts[c];
    }
  }
  void leave_out_trials() {
    lists_[sorted_512] = lists_[trial_512];
    lists_[wide] = lists_[trial];
  }

  void count_rows() {
    count_sorted(pattern(), sorted(), entries(), stream());
    count_wide(pattern(), word_view(), mean_b(), lists_[wide], device(), entries(), &counted()->most, keep_bitmaps(),
               stream());
  }
  /// Room for the bitmaps of the wide rows that are about to be counted; null where they would take too much, or where
  /// few of a small matrix's rows, whose number is not known yet, will be wide.
  [[nodiscard]] uint4* keep_bitmaps() {
    const bool few = is_small() && mean_a_ * mean_b_row_ < largest_sorted_small / 2;
    const std::size_t bytes = few ? 0 : kept_bytes(lists_[wide].most, b_.cols);
    bitmaps_ = buffer<uint4>(ctx_, bytes / sizeof(uint4));
    return bitmaps_.data();
  }
  [[nodiscard]] sorted_lists sorted() const {
    return {{lists_[sorted_8], lists_[sorted_16], lists_[sorted_32], lists_[sorted_64], lists_[sorted_128],
             lists_[sorted_256], lists_[sorted_512]}};
  }

  void try_as_hashed(index_t tried) {
    for (const row_class c : {trial_512, trial}) {
      try_hashed(pattern(), word_view(), c, lists_[c], entries(), &counted()->most, classes_.data(), stream());
    }
    counters* const device = counted();
    const row_list from{lists_[trial_512].most > 0 ? lists_[trial_512].rows : lists_[trial].rows, tried, nullptr,
                        nullptr};
    tried_ = buffer<index_t>(ctx_, static_cast<std::size_t>(tried));
    index_t* const begins = device->begins + row_classes;
    count_classes(from, classes_.data(), device->second, stream());
    list_rows(from, classes_.data(), device->second, device->cursors + row_classes, begins, tried_.data(), {},
              stream());
    lists_[sorted_512] = {tried_.data(), lists_[trial_512].most, device->second + sorted_512, begins + sorted_512};
    lists_[wide] = {tried_.data(), lists_[trial].most, device->second + wide, begins + wide};
  }

  /// B by words, where several columns share one; else false. Room is left for as many words as columns, which spares a
  /// pass that counts them.
  bool compress() {
    word_ends_ = buffer<O>(ctx_, static_cast<std::size_t>(b_.rows));
    words_ = buffer<uint2>(ctx_, static_cast<std::size_t>(b_.nnz));
    auto* const words = &counted()->words;
    fill_words(b_.rows, b_.rowptr, b_.colind, word_ends_.data(), words_.data(), words, stream());
    if (static_cast<double>(read_back(ctx_, words)) <= 0.6 * static_cast<double>(b_.nnz)) return true;
    words_ = {};
    word_ends_ = {};
    return false;
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
    fill_as(pattern(), word_view(), alpha, with_wide_offsets(c));
    const auto narrow = formats<T, O>().narrow_offsets(ctx_, wide_c_.data(), count);
    copy_bytes(ctx_, c.rowptr, memory_space::device, narrow.data(), memory_space::device, narrow.bytes());
  }

  template <class P>
  void fill_as(const product_pattern<P>& m, const word_rows<P>& b, double alpha, const csr_sink& c) {
    auto* const rowptr = static_cast<P*>(c.rowptr);
    if (a_.rows == 0) return fill_value(rowptr, static_cast<P>(c.first));
    const auto count = std::int64_t{a_.rows} + 1;
    if (scanned_) {
      launch_items(ctx_, "spgemm: place_offsets", place_offsets<P>, count, count, entries(), static_cast<P>(c.first),
                   rowptr);
    } else {
      with_workspace(ctx_, "cub::DeviceScan", [&](void* workspace, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(workspace, bytes, entries(), rowptr, ::cuda::std::plus<P>{},
                                              static_cast<P>(c.first), count, stream());
      });
    }
    fill_columns(m, b, rowptr, c.colind);
    cut_rows(rowptr);
    values(m, b, values_of<P>(alpha, a_.values, b_.values, c), true);
  }

  void fill_value(auto* to, auto value) {
    copy_bytes(ctx_, to, memory_space::device, &value, memory_space::host, sizeof(value));
  }

  /// Columns of the wide rows.
  template <class P>
  void fill_columns(const product_pattern<P>& m, const word_rows<P>& b, const P* rowptr, index_t* colind) {
    if (bitmaps_.empty()) return fill_wide_columns(m, b, mean_b(), wide_list(), device(), rowptr, colind, stream());
    fill_wide_columns(m, b, mean_b(), lists_[wide_counted], device(), rowptr, colind, stream());
    fill_kept_columns(lists_[wide], bitmaps_.data(), m.cols, rowptr, colind, stream());
    bitmaps_ = {};
  }

  /// Both classes lie side by side.
  [[nodiscard]] row_list wide_list() const {
    const row_list &counted = lists_[wide_counted], &other = lists_[wide];
    return {counted.most > 0 ? counted.rows : other.rows, counted.most + other.most, nullptr, nullptr};
  }

  /// Tasks of the wide rows, small ones where there would be too few to fill the device.
  template <class P>
  void cut_rows(const P* c_rowptr) {
    const row_list list = wide_list();
    const std::int64_t share = nnz_ / blocks_to_fill(ctx_);
    chunk_ = static_cast<int>(std::clamp<std::int64_t>(share, smallest_chunk, wide_chunk));
    if (most_ <= std::min(chunk_, narrow_chunk) || !tasks_.empty()) return;
    tasks_ = buffer<wide_task>(ctx_, static_cast<std::size_t>(most_wide_tasks(list.most, nnz_, chunk_)));
    cut_wide_rows(list, c_rowptr, tasks(), stream());
  }
  [[nodiscard]] wide_tasks tasks() {
    return {wide_list(), tasks_.data(), wide_list().most, nnz_, counted()->tasks, chunk_};
  }

  template <class P>
  void values(const product_pattern<P>& m, const word_rows<P>& b, const product_values<sum_of<T>, P>& v, bool columns) {
    fill_sorted(m, v, sorted(), columns, stream());
    for (const row_class c : {hashed_256, hashed_376, hashed_480})
      fill_hashed(m, b, v, short_rows(), c, lists_[c], columns, stream());
    if (wide_list().most == 0) return;
    mean_b_row_ >= long_row ? fill_by_owners(m, v, tasks(), stream()) : fill_by_turns(m, v, tasks(), stream());
  }

  context ctx_;
  csr_view<T, O> a_, b_;
  double mean_a_ = 0;
  double mean_b_row_ = 0;
  double products_a_entry_ = 0;  // mean length of the rows of B that A asks for, once the products are counted
  std::int64_t nnz_ = 0;         // of C
  buffer<std::uint8_t> classes_;
  buffer<std::uint64_t> counts_;  // the entries of each row of C, then the counters
  std::size_t counted_ = 0;       // where those begin
  bool scanned_ = false;
  early_report<counters> report_;
  bool begun_ = false;
  index_t most_ = 0;       // entries of a wide row of C
  buffer<index_t> rows_;   // by class
  buffer<index_t> tried_;  // those that were tried as hashed rows, by class
  row_list lists_[row_classes] = {};
  buffer<O> word_ends_;
  buffer<uint2> words_;
  buffer<uint4> bitmaps_;  // of lists_[wide]
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
