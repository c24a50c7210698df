// The first phase of gustavson: the rows of C by class, and the entries of each. No values are read.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "cuda/runtime/host_report.cuh"
#include "cuda/runtime/side_stream.hpp"
#include "cuda/runtime/stream.hpp"
#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {

/// Numbers that the device counts and the host reads.
struct row_counters {
  wide_entries of_wide;
  index_t first[row_classes];   // rows of each class before the trials
  index_t second[row_classes];  // and what the trials made of theirs
  index_t cursors[2 * row_classes];
  index_t begins[2 * row_classes];
  unsigned long long products;
  unsigned long long words;        // of B
  unsigned long long least_words;  // of B, as the check of the operands says
  unsigned long long tasks[wide_tasks::kinds];
  long long entries;  // of C
};

/// Where there are many rows for less than a block, those for whole blocks run beside them.
struct side_streams {
  side_stream wide, bucketed;
};

class counted_rows {
 public:
  /// `side` outlives it.
  counted_rows(const context& ctx, const spgemm_problem& p, side_streams& side);

  /// What can be done before the host knows whether the operands are sound.
  void begin(const operand_check& check);
  /// nnz(C). Waits. Once.
  std::int64_t count();

  // What is known then.
  [[nodiscard]] std::int64_t nnz() const { return nnz_; }
  [[nodiscard]] const wide_entries& of_wide() const { return of_wide_; }
  /// Mean length of the rows of B that A asks for.
  [[nodiscard]] double mean_b() const { return products_per_entry_; }
  [[nodiscard]] const row_list& list(row_class c) const { return lists_[c]; }
  [[nodiscard]] sorted_lists sorted() const;
  [[nodiscard]] const bucketed_lists& bucketed() const { return bucketed_; }
  /// Rows of all wide classes, which lie side by side.
  [[nodiscard]] row_list wide_list() const;
  /// Those of them whose columns are not in bitmaps.
  [[nodiscard]] row_list without_bitmaps() const;
  /// Whether there are such rows, and enough others that a second stream costs less than it saves.
  [[nodiscard]] bool wide_ones_beside() const;
  [[nodiscard]] bool bucketed_ones_beside() const;
  /// With the words of B, where they were made.
  [[nodiscard]] const product_ref& product() const { return product_; }
  /// Of list(wide), or empty; of list(hub).
  [[nodiscard]] const uint4* bitmaps() const { return bitmaps_.data(); }
  [[nodiscard]] const uint4* hub_bitmaps() const { return hub_bitmaps_.data(); }
  /// Once the columns are written.
  void free_bitmaps() { bitmaps_ = {}, hub_bitmaps_ = {}; }
  /// How many tasks of wide rows there are, for the device to count.
  [[nodiscard]] unsigned long long* tasks() { return counters_.data()->tasks; }
  void write_offsets(const csr_sink& c);

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  [[nodiscard]] cudaStream_t stream() const { return native(ctx_); }
  [[nodiscard]] class_limits limits() const;
  [[nodiscard]] bool is_small() const;
  void reserve();
  void count_listed();
  [[nodiscard]] row_list listed(int c, index_t most, const index_t* counted = nullptr) const;
  void count_by_class(const row_counters& found);
  void place(const index_t (&counts)[row_classes], const index_t* rows, int from, int to);
  void put_in_buckets();
  void set_hubs_apart();
  void join_trials();
  void leave_out_trials();
  void count_lists();
  [[nodiscard]] uint4* keep_bitmaps();
  [[nodiscard]] bool others_beside() const;
  void try_as_hashed(index_t tried);
  [[nodiscard]] bool compress(const row_counters& found);

  context ctx_;
  side_streams& side_;
  product_ref product_;
  index_t b_rows_;
  std::int64_t b_nnz_;
  double mean_a_ = 0;  // entries of a row
  double mean_b_row_ = 0;
  double products_per_entry_ = 0;  // of A; that of a mean row of B until the products are counted

  bool begun_ = false;
  buffer<index_t> entries_;  // of each row of C, and 0; their offsets where scanned_
  buffer<row_counters> counters_;
  host_report<row_counters> report_;
  buffer<std::uint8_t> classes_;  // of the rows, until they are counted
  buffer<index_t> rows_;          // by class
  buffer<index_t> tried_;         // those that were tried as hashed rows, by class
  row_list lists_[row_classes] = {};
  bucketed_lists bucketed_ = {};
  buffer<std::byte> word_ends_;  // of B; empty where it has no words
  buffer<uint2> words_;
  buffer<uint4> bitmaps_, hub_bitmaps_;
  bool scanned_ = false;
  std::int64_t nnz_ = 0;
  wide_entries of_wide_ = {};
};

}  // namespace tulle::cuda
