// The first phase of gustavson: rows by class, and the entries of each. Up to 4096 rows are counted before the host
// knows how many are in each class; of more rows, those with many products are tried as hashed rows first, where the
// columns of B share words. Bytes per product: 4, or 8 per word.
#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <limits>
#include <numeric>
#include <utility>

#include "cuda/runtime/cub_workspace.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spgemm/counted_rows.hpp"
#include "cuda/spgemm/rowptr.cuh"
#include "cuda/spgemm/word_table.cuh"

namespace tulle::cuda {
namespace {

/// Rows with more products than this are not sorted: where there are few rows a block makes each sooner.
constexpr int largest_sorted = 512, largest_sorted_small = 128;
constexpr std::int64_t most_narrow = std::numeric_limits<std::int32_t>::max();
/// Words of B per column up to which words are worth making.
constexpr double most_words = 0.6;
/// Wider bitmaps of few rows are made between a row's first and last column.
constexpr index_t most_narrow_columns = index_t{1} << 17;

struct widen_entry {
  __host__ __device__ long long operator()(index_t n) const { return n; }
};

/// Takes over the sum of a scan, if there was one, and hands the counters to the host. One block.
__global__ void finish_count(const index_t* sum, long long* entries, word_copy report) {
  if (sum != nullptr && threadIdx.x == 0) *entries = *sum;
  __syncthreads();
  report.run();
}

}  // namespace

counted_rows::counted_rows(const context& ctx, const spgemm_problem& p, side_streams& side)
    : ctx_(ctx), side_(side), product_(p), b_rows_(p.b.rows), b_nnz_(p.b.nnz), report_(ctx) {
  if (p.a.rows > 0) mean_a_ = static_cast<double>(p.a.nnz) / p.a.rows;
  if (b_rows_ > 0) mean_b_row_ = products_per_entry_ = static_cast<double>(b_nnz_) / b_rows_;
}

void counted_rows::begin(const operand_check& check) {
  reserve();
  row_counters* const device = counters_.data();
  classify_rows(product_, mean_a_, limits(), check,
                {classes_.data(), is_small() ? rows_.data() : nullptr, device->first, &device->products,
                 &device->least_words, entries_.data()},
                stream());
  if (is_small()) {
    count_listed();
  } else {
    list_rows({nullptr, product_.rows, nullptr, nullptr}, classes_.data(), device->first, device->cursors,
              device->begins, rows_.data(), report_.of(device), stream());
  }
  begun_ = true;
}

std::int64_t counted_rows::count() {
  if (!begun_) begin({});
  const row_counters found = report_.wait(counters_.data());
  products_per_entry_ = static_cast<double>(found.products) / std::max(1.0, mean_a_ * product_.rows);
  if (is_small()) {
    for (int c = sorted_8; c < first_classes; ++c) lists_[c] = listed(c, found.first[c]);
    leave_out_trials();
    of_wide_ = found.of_wide;
    nnz_ = found.entries;
  } else {
    place(found.first, rows_.data(), 0, first_classes);
    count_by_class(found);
  }
  classes_ = {};
  return nnz_;
}

class_limits counted_rows::limits() const {
  if (is_small()) return {largest_sorted_small, 0};
  return {largest_sorted, largest_bucketed(ctx_.info())};
}

/// Few rows: trials, or waiting to know how many rows each class has, would take longer than they save.
bool counted_rows::is_small() const {
  return product_.rows <= most_listed && std::int64_t{product_.rows} * product_.cols <= most_narrow;
}

void counted_rows::reserve() {
  const auto rows = static_cast<std::size_t>(product_.rows);
  entries_ = buffer<index_t>(ctx_, rows + 1);
  counters_ = device_value<row_counters>(ctx_);
  if (is_small()) {
    rows_ = buffer<index_t>(ctx_, rows * first_classes);
  } else {
    classes_ = buffer<std::uint8_t>(ctx_, rows);
    rows_ = buffer<index_t>(ctx_, rows);
  }
}

/// All classes at once, their sizes known to the device alone.
void counted_rows::count_listed() {
  row_counters* const device = counters_.data();
  for (int c = sorted_8; c < trial_512; ++c) lists_[c] = listed(c, product_.rows, device->first + c);
  lists_[trial] = listed(trial, product_.rows, device->first + trial);
  leave_out_trials();
  count_lists();
  scan_listed(product_.rows, entries_.data(), &device->entries, report_.of(device), stream());
  scanned_ = true;
}

/// Rows of a class as classify_rows lists them.
row_list counted_rows::listed(int c, index_t most, const index_t* counted) const {
  return {rows_.data() + std::int64_t{c} * product_.rows, most, counted, nullptr};
}

void counted_rows::count_by_class(const row_counters& found) {
  row_counters* const device = counters_.data();
  const index_t tried = std::accumulate(found.first + trial_512, found.first + first_classes, index_t{0});
  const bool tries =
      tried > 0 && product_.rows > most_listed && product_.cols <= most_hashed_columns && compress(found);
  if (!tries) {
    set_hubs_apart();
    put_in_buckets();
  }
  join_trials();
  if (tries) {
    try_as_hashed(tried);
  } else {  // few columns share a word: no row would fit the table
    leave_out_trials();
  }
  count_lists();
  scanned_ = found.products <= static_cast<unsigned long long>(most_narrow);
  if (scanned_) {
    with_workspace(ctx_, "cub::DeviceScan", [&](void* workspace, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(workspace, bytes, entries_.data(), std::int64_t{product_.rows} + 1,
                                           stream());
    });
  } else {
    with_workspace(ctx_, "cub::DeviceReduce", [&](void* workspace, std::size_t& bytes) {
      return cub::DeviceReduce::TransformReduce(workspace, bytes, entries_.data(), &device->entries, product_.rows,
                                                ::cuda::std::plus<long long>{}, widen_entry{}, 0ll, stream());
    });
  }
  launch("spgemm: finish_count", finish_count, {1}, stream(),
         scanned_ ? std::as_const(entries_).data() + product_.rows : nullptr, &device->entries, report_.of(device));
  const row_counters now = report_.wait(device);
  if (tries) place(now.second, tried_.data(), first_classes, row_classes);
  of_wide_ = now.of_wide;
  nnz_ = now.entries;
}

/// Lists of the classes [from, to), one after the other in `rows`.
void counted_rows::place(const index_t (&counts)[row_classes], const index_t* rows, int from, int to) {
  for (int c = from; c < to; ++c) {
    lists_[c] = {rows, counts[c], nullptr, nullptr};
    rows += counts[c];
  }
}

/// Where rows with more products than the buckets hold are few, and bitmaps long; else bitmaps take less.
void counted_rows::put_in_buckets() {
  if (lists_[trial].most > 0 || (lists_[hub].most > 0 && product_.cols <= most_narrow_columns)) return;
  for (int c = trial_768; c < trial; ++c) bucketed_.of[c - trial_768] = std::exchange(lists_[c], {});
}

/// Few rows of more products than the buckets hold.
void counted_rows::set_hubs_apart() {
  const std::size_t bytes = kept_bytes(lists_[trial].most, product_.cols);
  if (bytes == 0 || !are_few_hubs(lists_[trial].most, ctx_.info())) return;
  lists_[hub] = std::exchange(lists_[trial], {});
  hub_bitmaps_ = buffer<uint4>(ctx_, bytes / sizeof(uint4));
}

void counted_rows::leave_out_trials() {
  lists_[sorted_512] = lists_[trial_512];
  lists_[wide] = lists_[trial];
}

/// What no bucket takes is of class trial: the classes lie side by side.
void counted_rows::join_trials() {
  for (int c = trial - 1; c >= trial_768; --c) {
    const row_list list = std::exchange(lists_[c], {});
    if (list.most > 0) lists_[trial] = {list.rows, lists_[trial].most + list.most, nullptr, nullptr};
  }
}

bool counted_rows::others_beside() const {
  const auto many = [](const row_list& list) { return list.most > most_listed; };
  const sorted_lists few_products = sorted();
  return std::ranges::any_of(few_products.of, many) || many(lists_[hashed_256]) || many(lists_[hashed_376]) ||
         many(lists_[hashed_480]);
}

bool counted_rows::wide_ones_beside() const { return wide_list().most > 0 && others_beside(); }

bool counted_rows::bucketed_ones_beside() const {
  return std::ranges::any_of(bucketed_.of, [](const row_list& l) { return l.most > 0; }) && others_beside();
}

void counted_rows::count_lists() {
  uint4* const kept = keep_bitmaps();
  const side_work of_wide_ones(side_.wide, stream(), wide_ones_beside());
  const side_work of_bucketed(side_.bucketed, stream(), bucketed_ones_beside());
  wide_entries* const of_wide = &counters_.data()->of_wide;
  count_hubs(product_, lists_[hub], ctx_.info(), entries_.data(), of_wide, hub_bitmaps_.data(), of_wide_ones.stream());
  count_wide(product_, static_cast<float>(mean_b()), lists_[wide], ctx_.info(), entries_.data(), of_wide, kept,
             of_wide_ones.stream());
  count_bucketed(product_, bucketed_, entries_.data(), of_bucketed.stream());
  count_sorted(product_, sorted(), entries_.data(), stream());
}

/// Room for the bitmaps of the wide rows that are about to be counted; null where they would take too much, or where
/// few of a small matrix's rows, whose number is not known yet, will be wide.
uint4* counted_rows::keep_bitmaps() {
  const bool few =
      is_small() && (product_.cols > most_narrow_columns || mean_a_ * mean_b_row_ < largest_sorted_small / 2);
  const std::size_t bytes = few ? 0 : kept_bytes(lists_[wide].most, product_.cols);
  bitmaps_ = buffer<uint4>(ctx_, bytes / sizeof(uint4));
  return bitmaps_.data();
}

void counted_rows::try_as_hashed(index_t tried) {
  row_counters* const device = counters_.data();
  for (const row_class c : {trial_512, trial}) {
    try_hashed(product_, c, lists_[c], entries_.data(), &device->of_wide, classes_.data(), stream());
  }
  const row_list from{lists_[trial_512].most > 0 ? lists_[trial_512].rows : lists_[trial].rows, tried, nullptr,
                      nullptr};
  tried_ = buffer<index_t>(ctx_, static_cast<std::size_t>(tried));
  index_t* const begins = device->begins + row_classes;
  count_classes(from, classes_.data(), device->second, stream());
  list_rows(from, classes_.data(), device->second, device->cursors + row_classes, begins, tried_.data(), {}, stream());
  lists_[sorted_512] = {tried_.data(), lists_[trial_512].most, device->second + sorted_512, begins + sorted_512};
  lists_[wide] = {tried_.data(), lists_[trial].most, device->second + wide, begins + wide};
}

/// B by words, where several columns share one; else false. Room is left for as many words as columns, which spares a
/// pass that counts them.
bool counted_rows::compress(const row_counters& found) {
  const double most = most_words * static_cast<double>(b_nnz_);
  if (static_cast<double>(found.least_words) > most) return false;
  buffer<std::byte> ends(ctx_, static_cast<std::size_t>(b_rows_) * size_of(product_.types.offset));
  buffer<uint2> words(ctx_, static_cast<std::size_t>(b_nnz_));
  auto* const count = &counters_.data()->words;
  fill_words(product_, b_rows_, ends.data(), words.data(), count, stream());
  if (static_cast<double>(read_back(ctx_, count)) > most) return false;
  word_ends_ = std::move(ends);
  words_ = std::move(words);
  product_.word_ends = word_ends_.data();
  product_.words = words_.data();
  return true;
}

sorted_lists counted_rows::sorted() const {
  return {{lists_[sorted_8], lists_[sorted_16], lists_[sorted_32], lists_[sorted_64], lists_[sorted_128],
           lists_[sorted_256], lists_[sorted_512]}};
}

row_list counted_rows::wide_list() const {
  const row_list* first = lists_ + wide_counted;
  while (first->most == 0 && first < lists_ + hub) ++first;
  return {first->rows, lists_[wide_counted].most + lists_[wide].most + lists_[hub].most, nullptr, nullptr};
}

row_list counted_rows::without_bitmaps() const {
  if (!bitmaps_.empty()) return lists_[wide_counted];
  const row_list all = wide_list();
  return {all.rows, all.most - (hub_bitmaps_.empty() ? 0 : lists_[hub].most), nullptr, nullptr};
}

void counted_rows::write_offsets(const csr_sink& c) {
  if (scanned_) return cuda::write_offsets(ctx_, product_.rows, std::as_const(entries_).data(), c);
  const auto scan = [&]<class P>(P* rowptr) {  // nnz(C) may be beyond 32 bits
    with_workspace(ctx_, "cub::DeviceScan", [&](void* workspace, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveScan(workspace, bytes, entries_.data(), rowptr, ::cuda::std::plus<P>{},
                                            static_cast<P>(c.first), std::int64_t{product_.rows} + 1, stream());
    });
  };
  c.offset == offset_type::i64 ? scan(static_cast<std::int64_t*>(c.rowptr))
                               : scan(static_cast<std::int32_t*>(c.rowptr));
}

std::size_t counted_rows::bytes() const noexcept {
  return entries_.bytes() + counters_.bytes() + classes_.bytes() + rows_.bytes() + tried_.bytes() + word_ends_.bytes() +
         words_.bytes() + bitmaps_.bytes() + hub_bitmaps_.bytes();
}

}  // namespace tulle::cuda
