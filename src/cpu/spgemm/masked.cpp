// gustavson with a mask: only the entries that M names, in M's order.
//
// Method: Milakovic et al., "Parallel algorithms for masked sparse matrix-matrix products" (PPoPP 2022), the MSA and
// hash accumulators. One thread takes a row of A and marks the columns of the row of M, in a window of flags or in a
// hash table where they are few in a wide range; products that fall on a mark are added and recorded; M's row, walked
// again, gives the columns in order. Bytes per product: 4 of a column and a flag, sizeof(T) where it falls on a mark;
// the pass is made twice, once to count. Chosen for every product with a mask.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <tulle/core/buffer.hpp>

#include "core/parallel.hpp"
#include "cpu/spgemm/hash_table.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "cpu/spgemm/sink.hpp"
#include "cpu/spgemm/window.hpp"

namespace tulle::cpu {
namespace {

/// Of the columns that a row may have: no flag, named by the mask, met by a product.
enum mark : std::uint8_t { unwanted, wanted, hit };

/// Columns of one row in order.
struct row_pattern {
  const index_t* colind;
  std::int64_t size;
};

template <scalar T, offset O>
class masked final : public spgemm_operator {
 public:
  masked(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx), product_{p.a.as<T, O>(), p.b.as<T, O>()}, mask_(p.mask->as<T, O>()) {}

  std::int64_t symbolic() override {
    const index_t rows = product_.a.rows;
    offsets_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(rows) + 1);
    const std::int64_t hashed = measure();
    scan_counts(ctx_.threads(), offsets_.data(), rows);
    schedule_ = row_schedule(ctx_, rows, offsets_.data());
    allocate_scratch(hashed);
    for_each_row([&](const scratch_space& s, index_t i) {
      std::int64_t n = 0;
      accumulate(product_, s, i, mask_row(i), [&](index_t, bool met, sum_of<T>) { n += met ? 1 : 0; });
      offsets_.data()[i + 1] = n;
    });
    scan_counts(schedule_.threads(), offsets_.data(), rows);
    return offsets_.data()[rows];
  }

  void fill(const spgemm_values& v, const csr_sink& c) override {
    const row_product<T, O> p = product_.with(v);
    for_each_row([&](const scratch_space& s, index_t i) {
      write_offsets(offsets_.data(), i, std::int64_t{i} + 1, c);
      std::int64_t at = c.first + offsets_.data()[i];
      accumulate(p, s, i, mask_row(i), [&](index_t column, bool met, sum_of<T> sum) {
        if (!met) return;
        c.colind[at] = column;
        static_cast<T*>(c.values)[at++] = static_cast<T>(sum);
      });
    });
    const std::int64_t rows = product_.a.rows;
    write_offsets(offsets_.data(), rows, rows + 1, c);
  }

  /// With C's pattern for a mask.
  void numeric(const spgemm_values& v, const csr_sink& c) override {
    const row_product<T, O> p = product_.with(v);
    for_each_row([&](const scratch_space& s, index_t i) {
      const std::int64_t from = c.first + offsets_.data()[i], size = offsets_.data()[i + 1] - offsets_.data()[i];
      T* values = static_cast<T*>(c.values) + from;
      accumulate(p, s, i, {c.colind + from, size},
                 [&](index_t, bool, sum_of<T> sum) { *values++ = static_cast<T>(sum); });
    });
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return offsets_.bytes() + schedule_.bytes() + scratch_.bytes();
  }

 private:
  struct scratch_space {
    sum_of<T>* sums;      // of a window, 0 between rows
    std::uint8_t* marks;  // of a window, `unwanted` between rows
    hash_table<T> table;
  };

  template <class F>
  void for_each_row(F f) {
    schedule_.run([&](int thread, int, index_t begin, index_t end) {
      const scratch_space s = scratch(thread);
      for (index_t i = begin; i < end; ++i) f(s, i);
    });
  }

  static std::size_t window_bytes(index_t cols) {
    return (static_cast<std::size_t>(std::min(cols, widest_window)) * (sizeof(T) + 1) + 63) / 64 * 64;
  }
  [[nodiscard]] row_pattern mask_row(index_t i) const {
    return {mask_.colind + mask_.rowptr[i], static_cast<std::int64_t>(mask_.rowptr[i + 1] - mask_.rowptr[i])};
  }

  static column_span span_of_row(row_pattern m) { return {m.colind[0], m.colind[m.size - 1]}; }
  /// Places that a row takes in the hash table; 0 where windows do.
  static std::int64_t hashed_entries(row_pattern m) {
    if (m.size == 0) return 0;
    const std::int64_t span = span_of_row(m).size();
    return span > widest_window && m.size < span / sparse_span ? m.size : 0;
  }

  /// The most that `numeric` puts there: C's row, a part of the mask's, may be sparse where that is not.
  static std::int64_t hashed_of_product(row_pattern m, std::int64_t products) {
    if (m.size == 0) return 0;
    const std::int64_t span = span_of_row(m).size();
    return span > widest_window ? std::min({m.size, products, span / sparse_span}) : 0;
  }

  /// The work of row i in offsets_[i + 1]. Returns the most places in a table.
  std::int64_t measure() {
    const csr_view<T, O>& a = product_.a;
    std::int64_t* work = offsets_.data();
    const auto measure_row = [&](index_t i, std::int64_t& hashed) {
      const row_pattern m = mask_row(i);
      const std::int64_t products = m.size == 0 ? 0 : product_.products(i);
      work[i + 1] = m.size == 0 ? 1 : products + 2 * (a.rowptr[i + 1] - a.rowptr[i]) + 2 * m.size;
      hashed = std::max({hashed, hashed_entries(m), hashed_of_product(m, products)});
    };
    return parallel_reduce(row_schedule::threads_for(ctx_.threads(), a), a.rows, 1024, std::int64_t{0}, measure_row,
                           [](std::int64_t& all, std::int64_t mine) { all = std::max(all, mine); });
  }

  void allocate_scratch(std::int64_t hashed) {
    const std::size_t wide = window_bytes(product_.b.cols);
    hash_ = {static_cast<std::size_t>(hashed)};
    scratch_bytes_ = wide + hash_.bytes(sizeof(T));
    scratch_ = buffer<std::byte>(ctx_, scratch_bytes_ * static_cast<std::size_t>(schedule_.threads()));
    for_each_part(schedule_.threads(), [&](int thread) {
      std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
      std::fill_n(memory, wide, std::byte{0});
      std::fill_n(scratch(thread).table.slots, hash_.slots(), hash_table<T>::free_slot);
    });
  }

  scratch_space scratch(int thread) {
    std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
    const auto columns = static_cast<std::size_t>(std::min(product_.b.cols, widest_window));
    return {reinterpret_cast<sum_of<T>*>(memory), reinterpret_cast<std::uint8_t*>(memory + columns * sizeof(T)),
            hash_.at<T>(memory + window_bytes(product_.b.cols))};
  }

  /// f(column, met by a product, sum) for the columns of m in order.
  template <class F>
  static void accumulate(const row_product<T, O>& p, const scratch_space& s, index_t i, row_pattern m, F f) {
    if (m.size == 0) return;
    if (hashed_entries(m) > 0) return by_table(p, s.table, i, m, f);
    p.for_each_window(i, span_of_row(m), [&](index_t base, index_t last, auto for_each) {
      const std::int64_t here = std::upper_bound(m.colind, m.colind + m.size, last) - m.colind;
      for (std::int64_t k = 0; k < here; ++k) s.marks[m.colind[k] - base] = wanted;
      const auto width = static_cast<std::uint32_t>(last - base);
      for_each([&](index_t at, O l, sum_of<T> factor) {
        if (static_cast<std::uint32_t>(at) > width || s.marks[at] == unwanted) return;
        s.marks[at] = hit;
        s.sums[at] += p.times_b(factor, l);
      });
      for (std::int64_t k = 0; k < here; ++k) {
        const index_t at = m.colind[k] - base;
        f(m.colind[k], s.marks[at] == hit, s.sums[at]);
        s.marks[at] = unwanted;
        s.sums[at] = 0;
      }
      m.colind += here;
      m.size -= here;
    });
  }

  /// The lower half of a key is its slot; a place is inverted, so negative, once a product met it.
  template <class F>
  static void by_table(const row_product<T, O>& p, const hash_table<T>& table, index_t i, row_pattern m, F f) {
    index_t size = 0;
    for (std::int64_t k = 0; k < m.size; ++k) table.insert(m.colind[k], size);
    p.for_each_product(i, [&](index_t column, sum_of<T> value) {
      auto& slot = table.slots[table.find(column)];
      if (slot.column == -1) return;
      if (slot.place >= 0) slot.place = ~slot.place;
      table.sums[~slot.place] += value;
    });
    for (index_t k = 0; k < size; ++k) {
      const auto& slot = table.slots[table.keys[k] & 0xffffffffu];
      f(m.colind[k], slot.place < 0, table.sums[k]);
    }
    table.clear(size);
  }

  context ctx_;
  row_product<T, O> product_;
  csr_view<T, O> mask_;
  buffer<std::int64_t> offsets_;  // rows + 1, from 0
  row_schedule schedule_;
  hash_layout hash_{0};
  std::size_t scratch_bytes_ = 0;  // of one thread
  buffer<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_masked(const context& ctx, const spgemm_problem& p) {
  return make_operator<masked>(ctx, p);
}

}  // namespace tulle::cpu
