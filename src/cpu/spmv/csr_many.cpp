#include "cpu/spmv/csr_many.hpp"

#include <algorithm>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"

namespace tulle::cpu {
namespace {

constexpr int unrolled = 4;
constexpr int ahead = 8;                            // entries whose row of X is asked for before its turn
constexpr std::int64_t near_bytes = 1 << 19;        // of X, below which its rows are near enough
constexpr int widest_by_column = 8;

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
  [[gnu::always_inline]] void ask_for(index_t column) const {
    const auto* const row = reinterpret_cast<const char*>(x + column * stride);
#pragma GCC unroll 4
    for (std::size_t byte = 0; byte < Width * sizeof(V); byte += 64) __builtin_prefetch(row + byte);
  }
};

/// Independent accumulators of each vector: in narrow chunks an addition need not wait for the one before.
template <scalar V, int Width>
constexpr int accumulators = Width * sizeof(V) > 128 ? 1 : Width * sizeof(V) > 64 ? 2 : 4;

/// Fetch: rows of X that come next are asked for.
template <bool Fetch, scalar T, offset O, scalar V, int Width, bool ByRow>
[[gnu::always_inline]] inline void add_entries(const csr_view<T, O>& a, O begin, O end, chunk<V, Width, ByRow> x,
                                               sum_of<V>* sum) {
  constexpr int apart = accumulators<V, Width>;
  sum_of<V> partial[apart * Width] = {};
  const auto fetch = [&](O k) __attribute__((always_inline)) {
    if constexpr (Fetch) {
      if (k + ahead < a.nnz) x.ask_for(a.colind[k + ahead]);
    }
  };
  O k = begin;
  for (; end - k >= unrolled; k += unrolled) {
    prefetch_stream(a.values + k, a.colind + k);
#pragma GCC unroll 4
    for (int i = 0; i < unrolled; ++i) {
      fetch(k + i);
      x.add(partial + i % apart * Width, a.values[k + i], a.colind[k + i]);
    }
  }
#pragma GCC unroll 3
  for (int i = 0; i < unrolled - 1; ++i) {
    if (k + i < end) {
      fetch(k + i);
      x.add(partial + i % apart * Width, a.values[k + i], a.colind[k + i]);
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < apart; ++t) {
#pragma omp simd
    for (int j = 0; j < Width; ++j) sum[j] += partial[t * Width + j];
  }
}

template <bool Fetch, scalar T, offset O, scalar V, int Width, bool ByRow>
[[gnu::always_inline]] inline void take(const csr_view<T, O>& a, many_part<V>& p, chunk<V, Width, ByRow> x,
                                        const many_output<V>& y) {
  auto entry = static_cast<O>(p.begin);
  for (index_t row = p.first; row < p.last; ++row) {
    const O end = a.rowptr[row + 1];
    sum_of<V> sum[Width] = {};
    add_entries<Fetch>(a, entry, end, x, sum);
    if (row == p.first && p.continues) {
      std::copy_n(sum, Width, p.head);
    } else {
      y.template store<Width>(row, sum);
    }
    entry = end;
  }
  sum_of<V> sum[Width] = {};
  add_entries<Fetch>(a, entry, static_cast<O>(p.end), x, sum);
  std::copy_n(sum, Width, p.tail);
}

/// The pieces of cut rows in the order of the parts.
template <scalar T, int Width>
void join(const std::vector<many_part<T>>& parts, const many_output<T>& y) {
  sum_of<T> sum[Width] = {};
  for (const many_part<T>& p : parts) {
    const bool ends_row = p.last > p.first;
    if (ends_row && p.continues) {
      for (int j = 0; j < Width; ++j) sum[j] += p.head[j];
      y.template store<Width>(p.first, sum);
    }
    for (int j = 0; j < Width; ++j) sum[j] = ends_row ? p.tail[j] : sum[j] + p.tail[j];
  }
}

template <scalar T, offset O, scalar V, int Width, bool ByRow>
void multiply(const csr_view<T, O>& a, std::vector<many_part<V>>& parts, isa level, chunk<V, Width, ByRow> x,
              const many_output<V>& y) {
  const int count = static_cast<int>(parts.size());
  const bool far = ByRow && a.cols * x.stride * static_cast<std::int64_t>(sizeof(V)) > near_bytes;
  for_each_part(count, [&](int i) {
    with_isa(
        level, [&]() __attribute__((always_inline)) {
          many_part<V>& part = parts[static_cast<std::size_t>(i)];
          if constexpr (ByRow && Width * sizeof(V) >= 32) {
            if (far) return take<true>(a, part, x, y);
          }
          take<false>(a, part, x, y);
        });
  });
  join<V, Width>(parts, y);
}

}  // namespace

template <scalar T, scalar V, offset O>
csr_many<T, V, O>::csr_many(csr_view<T, O> a, int threads) : parts_(static_cast<std::size_t>(threads)) {
  for (int i = 0; i < threads; ++i) parts_[static_cast<std::size_t>(i)] = {merge_path_part(a, i, threads)};
}

/// The vectors [first, first + width) of X, row by row.
template <scalar T, scalar V, offset O>
const V* csr_many<T, V, O>::turned(csr_view<T, O> a, const strided_vectors& x, index_t first, index_t width) {
  const auto size = static_cast<std::size_t>(a.cols) * static_cast<std::size_t>(std::min(x.count, many_width<V>));
  if (panel_.size() < size) panel_.resize(size);
  const V* const from = static_cast<const V*>(x.data) + first * x.vector_stride;
  constexpr index_t block = 64 / sizeof(V);  // rows: a line of each vector
  parallel_for(static_cast<int>(parts_.size()), (a.cols + block - 1) / block, [&](index_t b) {
    const index_t begin = b * block, end = std::min(a.cols, begin + block);
    for (index_t j = 0; j < width; ++j) {
      const V* const vector = from + j * x.vector_stride;
      V* const to = panel_.data() + j;
      for (index_t i = begin; i < end; ++i) to[std::int64_t{i} * width] = vector[i * x.row_stride];
    }
  });
  return panel_.data();
}

template <scalar T, scalar V, offset O>
void csr_many<T, V, O>::run(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta,
                            const strided_vectors& y, const many_finish& finish) {
  const auto pass = [&]<int Width, bool ByRow>(const V* from, std::int64_t stride, const many_output<V>& to) {
    multiply<T, O, V, Width, ByRow>(a, parts_, isa_, {from, stride}, to);
  };
  constexpr int widest = many_width<V>;
  many_output<V> to = output_of<V>(alpha, beta, y, finish);
  if (x.vector_stride == 1) return in_chunks<V, true, widest>(0, x, to, pass);
  const bool repays = x.count > 1 && a.nnz / 2 >= a.cols;
  if (!repays) return in_chunks<V, false, widest_by_column>(0, x, to, pass);
  for (index_t first = 0; first < x.count; first += widest) {
    const index_t width = std::min<index_t>(widest, x.count - first);
    const strided_vectors panel{const_cast<V*>(turned(a, x, first, width)), width, width, 1};
    in_chunks<V, true, widest>(0, panel, to, pass);
    to.y += widest * to.vector_stride;
    to.act = to.act.from(widest);
  }
}

#define TULLE_INSTANTIATE(T, O) template class csr_many<T, T, O>;
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE
template class csr_many<float, double, std::int32_t>;
template class csr_many<float, double, std::int64_t>;

}  // namespace tulle::cpu
