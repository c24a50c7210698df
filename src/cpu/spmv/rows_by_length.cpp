#include "cpu/spmv/rows_by_length.hpp"

#include <cstdint>

#include "cpu/spmv/rows.hpp"

namespace tulle::cpu {
namespace {

#if TULLE_X86
/// Rows of one length, known when this is compiled: no branch depends on it.
template <int Length, scalar T, offset O, scalar V, class Finish>
[[gnu::always_inline, TULLE_AVX2FMA]] inline void take_rows(const csr_view<T, O>& a, index_t first,
                                                            const std::uint8_t* rows, int count, const V* x,
                                                            Finish& out) {
  for (int i = 0; i < count; ++i) {
    const index_t row = first + rows[i];
    const O begin = a.rowptr[row];
    out(row, row_sum_avx2<false>(a.values + begin, a.colind + begin, x, O{0}, O{Length}));
  }
}

/// Rows of a length that a run has in common, or of the longest class.
template <scalar T, offset O, scalar V, class Finish>
[[gnu::always_inline, TULLE_AVX2FMA]] inline void take_long_rows(const csr_view<T, O>& a, index_t first,
                                                                 const std::uint8_t* rows, int count, const V* x,
                                                                 Finish& out) {
  for (int i = 0; i < count; ++i) {
    const index_t row = first + rows[i];
    out(row, row_sum_avx2<false>(a.values, a.colind, x, a.rowptr[row], a.rowptr[row + 1]));
  }
}

template <scalar T, offset O, scalar V, class Finish>
[[TULLE_AVX2FMA]] void take_all(csr_view<T, O> a, const row_order& order, index_t first, const V* x, Finish& out) {
  Finish mine = out;
  for (std::size_t w = 0; w < order.windows(); ++w, first += row_order::window) {
    const std::uint8_t* rows = order.rows(w);
    for (const row_order::run* run = order.begin(w); run != order.end(w); rows += run->count, ++run) {
      const int count = run->count;
      switch (run->length) {
#define TULLE_ROWS_OF(N)                          \
  case N:                                         \
    take_rows<N>(a, first, rows, count, x, mine); \
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
          take_long_rows(a, first, rows, count, x, mine);
      }
    }
  }
  put_back(out, mine);
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
