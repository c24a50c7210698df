#include "cpu/spmv/rows_by_length.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/spmv/rows.hpp"

namespace tulle::cpu {
namespace {

#if TULLE_X86
/// The entries of the window behind the one that is summed, asked for while it is: in this order a processor foresees
/// no reads. Each row asks for one of 256 parts.
class window_ahead {
 public:
  /// Where caches do not hold A, and rows are not so short that asking costs more. Zen 3, one thread, time over that
  /// without: of 4 million entries 0.44 to 1.0 (2 to 3 a row 0.8 to 1.2, fewer 1.05 to 1.24), of 600,000 0.9 to 1.2.
  template <scalar T, offset O>
  static bool pays(const csr_view<T, O>& a) {
    constexpr std::int64_t least_bytes = 16 << 20, least_mean = 2;
    return a.nnz >= least_mean * a.rows &&
           a.nnz * static_cast<std::int64_t>(sizeof(T) + sizeof(index_t)) >= least_bytes;
  }

  template <scalar T, offset O>
  window_ahead(const csr_view<T, O>& a, index_t first, index_t last)
      : value_(reinterpret_cast<const char*>(a.values + a.rowptr[first])),
        column_(reinterpret_cast<const char*>(a.colind + a.rowptr[first])) {
    const std::int64_t entries = a.rowptr[last] - a.rowptr[first];
    value_step_ = entries * static_cast<std::int64_t>(sizeof(T)) / row_order::window;
    column_step_ = entries * static_cast<std::int64_t>(sizeof(index_t)) / row_order::window;
  }
  [[gnu::always_inline]] void ask() {
    __builtin_prefetch(value_);
    __builtin_prefetch(column_);
    value_ += value_step_, column_ += column_step_;
  }

 private:
  const char *value_, *column_;
  std::int64_t value_step_, column_step_;
};
/// Where caches hold A.
struct nothing_ahead {
  template <scalar T, offset O>
  nothing_ahead(const csr_view<T, O>&, index_t, index_t) {}
  [[gnu::always_inline]] void ask() {}
};

/// Rows of one length, known when this is compiled: no branch depends on it.
template <int Length, scalar T, offset O, scalar V, class Finish, class Ahead>
[[gnu::always_inline, TULLE_AVX2FMA]] inline void take_rows(const csr_view<T, O>& a, index_t first,
                                                            const std::uint8_t* rows, int count, const V* x,
                                                            Finish& out, Ahead& next) {
  for (int i = 0; i < count; ++i) {
    next.ask();
    const index_t row = first + rows[i];
    const O begin = a.rowptr[row];
    out(row, row_sum_avx2<false>(a.values + begin, a.colind + begin, x, O{0}, O{Length}));
  }
}

/// Rows of a length that a run has in common, or of the longest class.
template <scalar T, offset O, scalar V, class Finish, class Ahead>
[[gnu::always_inline, TULLE_AVX2FMA]] inline void take_long_rows(const csr_view<T, O>& a, index_t first,
                                                                 const std::uint8_t* rows, int count, const V* x,
                                                                 Finish& out, Ahead& next) {
  for (int i = 0; i < count; ++i) {
    next.ask();
    const index_t row = first + rows[i];
    out(row, row_sum_avx2<false>(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}

template <class Ahead, scalar T, offset O, scalar V, class Finish>
[[TULLE_AVX2FMA]] void take_all(csr_view<T, O> a, const row_order& order, index_t first, const V* x, Finish& out) {
  Finish mine = out;
  const index_t last = first + static_cast<index_t>(order.size());
  for (std::size_t w = 0; w < order.windows(); ++w, first += row_order::window) {
    const std::uint8_t* rows = order.rows(w);
    const index_t behind = std::min(first + row_order::window, last);
    Ahead next(a, behind, std::min(behind + row_order::window, last));
    for (const row_order::run* run = order.begin(w); run != order.end(w); rows += run->count, ++run) {
      const int count = run->count;
      switch (run->length) {
#define TULLE_ROWS_OF(N)                                \
  case N:                                               \
    take_rows<N>(a, first, rows, count, x, mine, next); \
    break;
        TULLE_ROWS_OF(0)
        TULLE_ROWS_OF(1)
        TULLE_ROWS_OF(2)
        TULLE_ROWS_OF(3)
        TULLE_ROWS_OF(4)
        TULLE_ROWS_OF(5)
        TULLE_ROWS_OF(6)
        TULLE_ROWS_OF(7)
        TULLE_ROWS_OF(8)
#undef TULLE_ROWS_OF
        default:
          take_long_rows(a, first, rows, count, x, mine, next);
      }
    }
  }
  put_back(out, mine);
}

template <scalar T, offset O, scalar V, class Finish>
void take_all(csr_view<T, O> a, const row_order& order, index_t first, const V* x, Finish& out) {
  if (window_ahead::pays(a)) return take_all<window_ahead>(a, order, first, x, out);
  take_all<nothing_ahead>(a, order, first, x, out);
}
#endif

}  // namespace

template <scalar T, offset O, scalar V>
void multiply_rows_by_length(csr_view<T, O> a, const row_order& order, index_t first, const V* x, scaled<V>& out) {
#if TULLE_X86
  if (out.out.alpha == 1 && out.out.beta == 0 && out.order == nullptr) {
    stored_sums<V> store{out.y};
    return take_all(a, order, first, x, store);
  }
  take_all(a, order, first, x, out);
#else
  multiply_rows(row_path::plain, a, first, first + static_cast<index_t>(order.size()), x, out);
#endif
}

#define TULLE_INSTANTIATE(T, V, O) \
  template void multiply_rows_by_length(csr_view<T, O>, const row_order&, index_t, const V*, scaled<V>&);
TULLE_INSTANTIATE(float, float, std::int32_t)
TULLE_INSTANTIATE(float, float, std::int64_t)
TULLE_INSTANTIATE(double, double, std::int32_t)
TULLE_INSTANTIATE(double, double, std::int64_t)
TULLE_INSTANTIATE(float, double, std::int32_t)
TULLE_INSTANTIATE(float, double, std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cpu
