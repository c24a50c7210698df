// gustavson for c64, c128, i64 and bool: C row by row (Gustavson, ACM TOMS 4, 1978).
//
// Method: a thread takes 64 rows of A at a time. It counts the columns that the rows of B have together by the row that
// saw a column last; then it adds the products of a row in sums of its own, one for each column of B, notes columns as
// they are first seen, sorts them and writes their sums in that order. New numbers need the sums alone. Products of an
// entry are added in the order of A's entries (docs/adr/0008-one-order-of-summation.md). Bytes per product: sizeof(T) +
// 4 of B, and a sum from a cache; counting reads 4 of them once more.
#include <algorithm>

#include "core/parallel.hpp"
#include "kernels/further_types.hpp"
#include "kernels/spgemm.hpp"

namespace tulle::cpu {
namespace {

using namespace further;

constexpr std::int64_t rows_at_once = 64;

template <class N>
class further_gustavson final : public spgemm_operator {
 public:
  further_gustavson(const context& ctx, const spgemm_problem& p)
      : p_(p),
        of_a_(p.a.rowptr, p.a.types.offset),
        of_b_(p.b.rowptr, p.b.types.offset),
        threads_(threads_for(ctx, p.a)),
        ends_(ctx, static_cast<std::size_t>(p.a.rows) + 1),
        seen_(ctx, of_all_threads()),
        sums_(ctx, of_all_threads()) {}

  std::int64_t symbolic() override {
    for_rows(true, [&](index_t* seen, N*, index_t i) {
      std::int64_t count = 0;
      for_products(i, [&](std::int64_t, std::int64_t l) {
        index_t& row = seen[p_.b.colind[l]];
        count += row != i;
        row = i;
      });
      ends_.data()[i + 1] = count;
    });
    scan_counts(threads_, ends_.data(), std::int64_t{p_.a.rows});
    return ends_.data()[p_.a.rows];
  }

  void fill(const spgemm_values& values, const csr_sink& c) override {
    const auto write = [&](auto* rowptr) {
      using O = std::remove_reference_t<decltype(*rowptr)>;
      for (index_t i = 0; i <= p_.a.rows; ++i) rowptr[i] = static_cast<O>(c.first + ends_.data()[i]);
    };
    c.offset == offset_type::i64 ? write(static_cast<std::int64_t*>(c.rowptr))
                                 : write(static_cast<std::int32_t*>(c.rowptr));
    const auto *const a = static_cast<const N*>(values.a), *const b = static_cast<const N*>(values.b);
    for_rows(true, [&](index_t* seen, N* sums, index_t i) {
      index_t* const first = c.colind + c.first + ends_.data()[i];
      index_t* last = first;
      for_products(i, [&](std::int64_t k, std::int64_t l) {
        const index_t column = p_.b.colind[l];
        if (seen[column] != i) {
          seen[column] = i;
          sums[column] = N::zero();
          *last++ = column;
        }
        sums[column] = multiply_add(sums[column], scaled(values.alpha, a[k]), b[l]);
      });
      std::sort(first, last);
      N* to = static_cast<N*>(c.values) + (first - c.colind);
      for (const index_t* column = first; column < last; ++column) *to++ = sums[*column];
    });
  }

  void numeric(const spgemm_values& values, const csr_sink& c) override {
    const auto *const a = static_cast<const N*>(values.a), *const b = static_cast<const N*>(values.b);
    for_rows(false, [&](index_t*, N* sums, index_t i) {
      const std::int64_t first = c.first + ends_.data()[i], last = c.first + ends_.data()[i + 1];
      for (std::int64_t k = first; k < last; ++k) sums[c.colind[k]] = N::zero();
      for_products(i, [&](std::int64_t k, std::int64_t l) {
        N& sum = sums[p_.b.colind[l]];
        sum = multiply_add(sum, scaled(values.alpha, a[k]), b[l]);
      });
      for (std::int64_t k = first; k < last; ++k) static_cast<N*>(c.values)[k] = sums[c.colind[k]];
    });
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return ends_.bytes() + seen_.bytes() + sums_.bytes();
  }

 private:
  [[nodiscard]] std::size_t of_all_threads() const {
    return static_cast<std::size_t>(p_.b.cols) * static_cast<std::size_t>(threads_);
  }

  /// f(the row that saw a column last, the sums of columns, row), the first two of the thread that takes the row.
  template <class F>
  void for_rows(bool forget, const F& f) {
    parallel_chunks(threads_, p_.a.rows, rows_at_once, [&](int part, auto next) {
      index_t* const seen = seen_.data() + std::int64_t{p_.b.cols} * part;
      N* const sums = sums_.data() + std::int64_t{p_.b.cols} * part;
      if (forget) std::fill_n(seen, p_.b.cols, index_t{-1});
      next([&](index_t i) { f(seen, sums, i); });
    });
  }

  /// f(entry of A, entry of B) for the products of a row.
  template <class F>
  [[gnu::always_inline]] void for_products(index_t row, const F& f) const {
    for (std::int64_t k = of_a_[row], end = of_a_[row + 1]; k < end; ++k) {
      for (std::int64_t l = of_b_[p_.a.colind[k]], last = of_b_[p_.a.colind[k] + 1]; l < last; ++l) f(k, l);
    }
  }

  spgemm_problem p_;
  row_offsets of_a_, of_b_;
  int threads_;
  buffer<std::int64_t> ends_;  // of the rows of C, from 0 on
  buffer<index_t> seen_;       // columns of B for each thread
  buffer<N> sums_;             // columns of B for each thread
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_further(const context& ctx, const spgemm_problem& p) {
  return further::dispatch(p.a.types.value, [&]<class N>() -> std::unique_ptr<spgemm_operator> {
    return std::make_unique<further_gustavson<N>>(ctx, p);
  });
}

}  // namespace tulle::cpu
