// default: every row by the accumulator that suits it.
//
// Method: Gustavson's row-wise product (ACM TOMS 4(3), 1978) with accumulators chosen by row, as in Nagasaka et al.,
// "High-performance sparse matrix-matrix products on Intel KNL and multicore architectures" (ICPP 2018). An exact count,
// then columns and values; both walk the rows in parts of about equal work. One thread takes a row of A and adds into
//   single  no accumulator: a row of A with one entry scales a row of B;
//   tiny    a sorted list, up to 32 products;
//   window  flags and sums for a range of columns, that flags for 64 columns make quick to look through;
//   hash    a hash table, where the products are few in a range too wide for a window;
//   wide    one window after another, where they are many.
// The products of an entry are added in the order of A's entries, so that bits depend on neither threads nor panels.
// `numeric` finds a row's columns in C: no flags, no sorting. Bytes a product: 4 + sizeof(T) of B, twice 4 with the count.
// Chosen always.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <tulle/core/buffer.hpp>

#include "cpu/spgemm/hash_table.hpp"
#include "cpu/spgemm/masked.hpp"
#include "cpu/spgemm/operands.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "cpu/spgemm/sink.hpp"
#include "cpu/spgemm/tiny_rows.hpp"
#include "cpu/spgemm/window.hpp"

namespace tulle::cpu {
namespace {

/// Products for a column of a row's span from which windows are cheaper than a hash table.
constexpr std::int64_t sparse_span = 16;

enum class row_kind : std::uint8_t { single, tiny, window, hash, wide };

template <scalar T, offset O>
class adaptive final : public spgemm_operator {
 public:
  adaptive(const context& ctx, const spgemm_problem& p) : ctx_(ctx), product_{p.a.as<T, O>(), p.b.as<T, O>()} {}

  std::int64_t symbolic() override {
    const index_t rows = product_.a.rows;
    offsets_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(rows) + 1);
    kinds_ = buffer<row_kind>(ctx_, static_cast<std::size_t>(rows));
    const std::int64_t hashed = classify();
    scan_counts(ctx_.threads(), offsets_.data(), rows);
    schedule_ = row_schedule(ctx_, rows, offsets_.data());
    allocate_scratch(hashed);
    schedule_.run([this](int thread, index_t begin, index_t end) { count(scratch(thread), begin, end); });
    scan_counts(schedule_.threads(), offsets_.data(), rows);
    return offsets_.data()[rows];
  }

  void fill(double alpha, const csr_sink& c) override {
    write_offsets(schedule_.threads(), offsets_.data(), product_.a.rows, c);
    product_.alpha = static_cast<T>(alpha);
    schedule_.run([&](int thread, index_t begin, index_t end) {
      fill(scratch(thread), begin, end, c.colind + c.first, static_cast<T*>(c.values) + c.first);
    });
  }

  void numeric(double alpha, const void* a_values, const void* b_values, const csr_sink& c) override {
    spgemm_operands<T, O> p = product_;
    p.a.values = static_cast<const T*>(a_values);
    p.b.values = static_cast<const T*>(b_values);
    p.alpha = static_cast<T>(alpha);
    schedule_.run([&](int thread, index_t begin, index_t end) {
      numeric(p, scratch(thread), begin, end, c.colind + c.first, static_cast<T*>(c.values) + c.first);
    });
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return offsets_.bytes() + kinds_.bytes() + schedule_.bytes() + scratch_.bytes();
  }

  static std::size_t bound(const context& ctx, const spgemm_problem& p, const spgemm_work& work) {
    const auto rows = static_cast<std::size_t>(p.a.rows);
    const auto threads = static_cast<std::size_t>(ctx.threads());
    const std::int64_t hashed = p.b.cols > widest_window ? std::max(std::min<std::int64_t>(work.most_products, most_hashed(p.b.cols)),
                                                                    tiny_products) : 0;
    return (rows + 1) * sizeof(std::int64_t) + rows + row_schedule::most_cuts(ctx.threads()) * sizeof(index_t) +
           threads * (window_layout(p.b.cols).bytes(sizeof(T)) + hash_layout{static_cast<std::size_t>(hashed)}.bytes(sizeof(T)));
  }

 private:
  struct scratch_space {
    window<T> wide;
    hash_table<T> table;
  };

  static std::int64_t most_hashed(index_t cols) { return cols / sparse_span; }

  /// Kinds, and the work of row i in offsets_[i + 1]. Returns the most products of a row that needs a table.
  std::int64_t classify() {
    const csr_view<T, O>&a = product_.a, &b = product_.b;
    std::int64_t hashed = b.cols > widest_window ? tiny_products : 0;
    std::int64_t* work = offsets_.data();
    row_kind* kinds = kinds_.data();
#pragma omp parallel for num_threads(ctx_.threads()) schedule(static) reduction(max : hashed) if (a.rows > 4096)
    for (index_t i = 0; i < a.rows; ++i) {
      std::int64_t products = 0;
      for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) products += b.rowptr[a.colind[k] + 1] - b.rowptr[a.colind[k]];
      const std::int64_t entries = a.rowptr[i + 1] - a.rowptr[i];
      kinds[i] = kind_of(i, entries, products);
      if (kinds[i] == row_kind::hash) hashed = std::max(hashed, products);
      work[i + 1] = products + 2 * entries + 4;
    }
    return hashed;
  }

  [[nodiscard]] row_kind kind_of(index_t i, std::int64_t entries, std::int64_t products) const {
    if (entries == 1) return row_kind::single;
    if (products <= tiny_products) return row_kind::tiny;
    if (product_.b.cols <= widest_window) return row_kind::window;
    const std::int64_t span = span_of(product_, i).size();
    if (span <= widest_window) return row_kind::window;
    return products < span / sparse_span ? row_kind::hash : row_kind::wide;
  }

  void allocate_scratch(std::int64_t hashed) {
    const window_layout wide(product_.b.cols);
    hash_ = {static_cast<std::size_t>(hashed)};
    scratch_bytes_ = wide.bytes(sizeof(T)) + hash_.bytes(sizeof(T));
    scratch_ = buffer<std::byte>(ctx_, scratch_bytes_ * static_cast<std::size_t>(schedule_.threads()));
#pragma omp parallel for num_threads(schedule_.threads()) schedule(static, 1)
    for (int thread = 0; thread < schedule_.threads(); ++thread) {
      std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
      std::fill_n(memory, wide.bytes(sizeof(T)), std::byte{0});
      std::fill_n(scratch(thread).table.slots, hash_.slots(), hash_table<T>::free_slot);
    }
  }

  scratch_space scratch(int thread) {
    std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
    const window_layout wide(product_.b.cols);
    return {wide.at<T>(memory), hash_.at<T>(memory + wide.bytes(sizeof(T)))};
  }

  void count(const scratch_space& s, index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) offsets_.data()[i + 1] = count(s, i);
  }

  [[nodiscard]] std::int64_t count(const scratch_space& s, index_t i) const {
    const spgemm_operands<T, O>& p = product_;
    switch (kinds_.data()[i]) {
      case row_kind::single: {
        const index_t r = p.a.colind[p.a.rowptr[i]];
        return p.b.rowptr[r + 1] - p.b.rowptr[r];
      }
      case row_kind::tiny: return tiny_row<T>(p, i).count();
      case row_kind::hash: return s.table.count(p, i);
      default: break;
    }
    std::int64_t n = 0;
    for_each_window(p, i, span_of(p, i), [&](index_t base, index_t last, auto for_each) {
      for_each([&](index_t at, O, T) { s.wide.mark(at); });
      n += s.wide.count(0, last - base);
    });
    return n;
  }

  void fill(const scratch_space& s, index_t begin, index_t end, index_t* colind, T* values) const {
    for (index_t i = begin; i < end; ++i) fill_row(s, i, colind + offsets_.data()[i], values + offsets_.data()[i]);
  }

  void fill_row(const scratch_space& s, index_t i, index_t* colind, T* values) const {
    const spgemm_operands<T, O>& p = product_;
    switch (kinds_.data()[i]) {
      case row_kind::single:
        p.for_each_product(i, [&](index_t column, T value) {
          *colind++ = column;
          *values++ = T{0} + value;
        });
        return;
      case row_kind::tiny: return tiny_row<T>(p, i).store(colind, values);
      case row_kind::hash: return s.table.fill(p, i, colind, values);
      default: break;
    }
    for_each_window(p, i, span_of(p, i), [&](index_t base, index_t last, auto for_each) {
      for_each([&](index_t at, O l, T scale) {
        s.wide.mark(at);
        s.wide.sums[at] += scale * p.b.values[l];
      });
      const std::int64_t n = s.wide.store(base, 0, last - base, colind, values);
      colind += n;
      values += n;
    });
  }

  void numeric(const spgemm_operands<T, O>& p, const scratch_space& s, index_t begin, index_t end, const index_t* colind,
               T* values) const {
    const std::int64_t* offsets = offsets_.data();
    for (index_t i = begin; i < end; ++i) {
      const std::int64_t n = offsets[i + 1] - offsets[i];
      if (n > 0) numeric_row(p, s, i, colind + offsets[i], n, values + offsets[i]);
    }
  }

  void numeric_row(const spgemm_operands<T, O>& p, const scratch_space& s, index_t i, const index_t* colind, std::int64_t n,
                   T* values) const {
    if (kinds_.data()[i] == row_kind::single) {
      p.for_each_product(i, [&](index_t, T value) { *values++ = T{0} + value; });
      return;
    }
    const column_span span{colind[0], colind[n - 1]};
    if (span.size() > widest_window && kinds_.data()[i] != row_kind::wide) return s.table.numeric(p, i, colind, n, values);
    for_each_window(p, i, span, [&](index_t base, index_t last, auto for_each) {
      for_each([&](index_t at, O l, T scale) { s.wide.sums[at] += scale * p.b.values[l]; });
      const std::int64_t here = std::upper_bound(colind, colind + n, last) - colind;
      s.wide.store(base, colind, here, values);
      colind += here;
      values += here;
      n -= here;
    });
  }

  /// f(base, last, for_each) for the windows that cover a span; for_each(g) calls g(column - base, entry of B, alpha a_ik) for
  /// the products of row i in columns base .. last.
  template <class F>
  static void for_each_window(const spgemm_operands<T, O>& p, index_t i, column_span span, F f) {
    if (span.size() <= widest_window) {
      if (span.size() <= 0) return;
      f(span.first, span.last, [&](auto g) {
        for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
          const T scale = p.alpha * p.a.values[k];
          const index_t r = p.a.colind[k];
          for (O l = p.b.rowptr[r]; l < p.b.rowptr[r + 1]; ++l) g(p.b.colind[l] - span.first, l, scale);
        }
      });
      return;
    }
    for (std::int64_t from = span.first; from <= span.last; from += widest_window) {
      const auto base = static_cast<index_t>(from);
      const auto last = static_cast<index_t>(std::min<std::int64_t>(from + widest_window - 1, span.last));
      f(base, last, [&](auto g) {
        for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
          const T scale = p.alpha * p.a.values[k];
          const O end = p.b.rowptr[p.a.colind[k] + 1];
          const index_t* begin = p.b.colind + p.b.rowptr[p.a.colind[k]];
          for (O l = static_cast<O>(std::lower_bound(begin, p.b.colind + end, base) - p.b.colind); l < end && p.b.colind[l] <= last; ++l) {
            g(p.b.colind[l] - base, l, scale);
          }
        }
      });
    }
  }

  context ctx_;
  spgemm_operands<T, O> product_;
  buffer<std::int64_t> offsets_;  // rows + 1, from 0
  buffer<row_kind> kinds_;        // rows
  row_schedule schedule_;
  hash_layout hash_{0};
  std::size_t scratch_bytes_ = 0;  // of one thread
  buffer<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_default(const context& ctx, const spgemm_problem& p) {
  if (p.mask) return make_spgemm_masked(ctx, p);
  return dispatch<type_set::floating>(p.a.types, [&]<class T, class O>() -> std::unique_ptr<spgemm_operator> {
    return std::make_unique<adaptive<T, O>>(ctx, p);
  });
}

std::size_t bound_spgemm_default(const context& ctx, const spgemm_problem& p, const spgemm_work& work) {
  if (p.mask) return bound_spgemm_masked(ctx, p, work);
  return dispatch<type_set::floating>(p.a.types, [&]<class T, class O>() { return adaptive<T, O>::bound(ctx, p, work); });
}

}  // namespace tulle::cpu
