#include "cpu/spmv/csr_many.hpp"

#include <algorithm>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"

namespace tulle::cpu {
namespace {

/// `Width` neighbouring vectors. ByRow: their elements of one row lie together; else `stride` apart.
template <scalar V, int Width, bool ByRow>
struct chunk {
  const V* x;
  std::int64_t stride;  // from one row to the next, or from one vector to the next

  template <scalar T>
  [[gnu::always_inline]] void add(sum_of<V>* sum, T value, index_t column) const {
    const V* at = ByRow ? x + column * stride : x + column;
#pragma omp simd
    for (int j = 0; j < Width; ++j) {
      sum[j] += static_cast<sum_of<V>>(value) * static_cast<sum_of<V>>(at[ByRow ? j : j * stride]);
    }
  }
};

/// Writes the vectors of a chunk.
template <scalar T, int Width>
struct chunk_output : many_output<T> {
  [[gnu::always_inline]] void store(index_t row, const sum_of<T>* sum) const {
    for (int j = 0; j < Width; ++j) this->out.store(this->at(row, j), sum[j]);
  }
};

/// Independent accumulators of each vector: in narrow chunks an addition need not wait for the one before.
template <int Width>
constexpr int accumulators = Width >= 16 ? 1 : Width == 8 ? 2 : 4;

template <scalar T, offset O, scalar V, int Width, bool ByRow>
[[gnu::always_inline]] inline void add_entries(csr_view<T, O> a, O begin, O end, chunk<V, Width, ByRow> x,
                                               sum_of<V>* sum) {
  constexpr int unrolled = 8;
  sum_of<V> partial[accumulators<Width> * Width] = {};
  O k = begin;
  for (; end - k >= unrolled; k += unrolled) {
    prefetch_stream(a.values + k, a.colind + k);
    for (int i = 0; i < unrolled; ++i) x.add(partial + i % accumulators<Width> * Width, a.values[k + i], a.colind[k + i]);
  }
  for (; k < end; ++k) x.add(partial, a.values[k], a.colind[k]);
  for (int j = 0; j < Width; ++j) {
    for (int t = 0; t < accumulators<Width>; ++t) sum[j] += partial[t * Width + j];
  }
}

template <scalar T, offset O, scalar V, int Width, bool ByRow>
[[gnu::always_inline]] inline void take(csr_view<T, O> a, many_part<V>& p, chunk<V, Width, ByRow> x,
                                        chunk_output<V, Width> y) {
  auto entry = static_cast<O>(p.begin);
  for (index_t row = p.first; row < p.last; ++row) {
    const O end = a.rowptr[row + 1];
    sum_of<V> sum[Width] = {};
    add_entries(a, entry, end, x, sum);
    if (row == p.first && p.continues) {
      std::copy_n(sum, Width, p.head);
    } else {
      y.store(row, sum);
    }
    entry = end;
  }
  sum_of<V> sum[Width] = {};
  add_entries(a, entry, static_cast<O>(p.end), x, sum);
  std::copy_n(sum, Width, p.tail);
}

/// The pieces of cut rows in the order of the parts.
template <scalar T, int Width>
void join(const std::vector<many_part<T>>& parts, chunk_output<T, Width> y) {
  sum_of<T> sum[Width] = {};
  for (const many_part<T>& p : parts) {
    const bool ends_row = p.last > p.first;
    if (ends_row && p.continues) {
      for (int j = 0; j < Width; ++j) sum[j] += p.head[j];
      y.store(p.first, sum);
    }
    for (int j = 0; j < Width; ++j) sum[j] = ends_row ? p.tail[j] : sum[j] + p.tail[j];
  }
}

template <scalar T, offset O, scalar V, int Width, bool ByRow>
void multiply(csr_view<T, O> a, std::vector<many_part<V>>& parts, isa level, chunk<V, Width, ByRow> x,
              chunk_output<V, Width> y) {
  const int count = static_cast<int>(parts.size());
  for_each_part(count, [&](int i) {
    with_isa(
        level, [&]() __attribute__((always_inline)) { take(a, parts[static_cast<std::size_t>(i)], x, y); });
  });
  join<V, Width>(parts, y);
}

}  // namespace

template <scalar T, scalar V, offset O>
csr_many<T, V, O>::csr_many(csr_view<T, O> a, int threads) : parts_(static_cast<std::size_t>(threads)) {
  for (int i = 0; i < threads; ++i) parts_[static_cast<std::size_t>(i)] = {merge_path_part(a, i, threads)};
}

template <scalar T, scalar V, offset O>
void csr_many<T, V, O>::run(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta,
                            const strided_vectors& y) {
  in_chunks<V>(alpha, x, beta, y,
               [&]<int Width, bool ByRow>(const V* from, std::int64_t stride, const many_output<V>& to) {
                 multiply<T, O, V, Width, ByRow>(a, parts_, isa_, {from, stride}, {to});
               });
}

#define TULLE_INSTANTIATE(T, O) template class csr_many<T, T, O>;
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE
template class csr_many<float, double, std::int32_t>;
template class csr_many<float, double, std::int64_t>;

}  // namespace tulle::cpu
