#include "cpu/spmv/csr_many.hpp"

#include <algorithm>
#include <type_traits>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "cpu/spmv/transpose_block.hpp"

namespace tulle::cpu {
namespace {

constexpr int widest_by_column = 8;
constexpr int staged = 64;  // rows of a column-major X or Y that move together: lines of a vector follow each other
constexpr std::int64_t near_bytes = 1 << 19;  // of a matrix that need not be asked for ahead

/// Sums of `Width` vectors in registers of `Register` bytes: GCC keeps arrays that are as wide on the stack, and so it
/// does vectors that are wider than the machine's.
template <scalar V, int Width, int Register>
struct register_sums {
  using sum = sum_of<V>;
  static constexpr std::size_t bytes = std::min<std::size_t>(Register, Width * sizeof(V));
  static constexpr int each = bytes / sizeof(V), count = Width / each;
  typedef sum vec __attribute__((vector_size(bytes), aligned(sizeof(V)), may_alias));
  vec part[count] = {};

  [[gnu::always_inline]] void add(sum value, const V* at) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) part[i] += value * *reinterpret_cast<const vec*>(at + i * each);
  }
  [[gnu::always_inline]] void add(const register_sums& other) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) part[i] += other.part[i];
  }
  [[gnu::always_inline]] void copy_to(sum* to) const {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) *reinterpret_cast<vec*>(to + i * each) = part[i];
  }
  [[gnu::always_inline]] void store(const many_output<V>& y, index_t row) const {
    if (y.overwrites) {
      V* const to = y.at(row, 0);
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i) *reinterpret_cast<vec*>(to + i * each) = y.out.alpha * part[i];
    } else {
      sum all[Width];
      copy_to(all);
      y.template store<Width>(row, all);
    }
  }
};

/// The same as an array, for vectors that are read one element at a time.
template <scalar V, int Width>
struct array_sums {
  using sum = sum_of<V>;
  sum part[Width] = {};

  [[gnu::always_inline]] void add(const array_sums& other) {
    for (int j = 0; j < Width; ++j) part[j] += other.part[j];
  }
  [[gnu::always_inline]] void copy_to(sum* to) const { std::copy_n(part, Width, to); }
  [[gnu::always_inline]] void store(const many_output<V>& y, index_t row) const { y.template store<Width>(row, part); }
};

/// `Width` neighbouring vectors. ByRow: their elements of one row lie together; else `stride` apart.
template <scalar V, int Width, bool ByRow, int Register = 64>
struct chunk {
  using sums = std::conditional_t<ByRow, register_sums<V, Width, Register>, array_sums<V, Width>>;
  const V* x;
  std::int64_t stride;  // from one row to the next, or from one vector to the next

  template <int Other>
  [[nodiscard]] chunk<V, Width, ByRow, Other> with_registers_of() const {
    return {x, stride};
  }
  template <scalar T>
  [[gnu::always_inline]] void add(sums& to, T value, index_t column) const {
    if constexpr (ByRow) {
      to.add(static_cast<sum_of<V>>(value), x + column * stride);
    } else {
      for (int j = 0; j < Width; ++j) {
        to.part[j] += static_cast<sum_of<V>>(value) * static_cast<sum_of<V>>(x[column + j * stride]);
      }
    }
  }
};

/// The products of some entries of a row. Two sums side by side where one would keep an addition waiting for the one
/// before.
template <scalar T, offset O, scalar V, int Width, bool ByRow, int Register>
[[gnu::always_inline]] inline void sum_entries(const csr_view<T, O>& a, O begin, O end, bool far,
                                               const chunk<V, Width, ByRow, Register>& x,
                                               typename chunk<V, Width, ByRow, Register>::sums& sum) {
  constexpr int unrolled = 4;
  constexpr bool apart = Width * sizeof(V) <= 128;
  typename chunk<V, Width, ByRow, Register>::sums other;
  O k = begin;
  for (; end - k >= unrolled; k += unrolled) {
    if (far) prefetch_stream(a.values + k, a.colind + k);
#pragma GCC unroll 4
    for (int i = 0; i < unrolled; ++i) x.add(apart && i % 2 == 1 ? other : sum, a.values[k + i], a.colind[k + i]);
  }
#pragma GCC unroll 3
  for (int i = 0; i < unrolled - 1; ++i) {
    if (k + i < end) x.add(apart && i % 2 == 1 ? other : sum, a.values[k + i], a.colind[k + i]);
  }
  if constexpr (apart) sum.add(other);
}

/// Stores `rows` rows of `Width` sums, row by row in `held`, as rows of Y from `first` on, but for `skip` rows that are
/// another part's.
template <scalar V, int Width>
[[gnu::always_inline]] inline void store_held(const V* held, index_t skip, index_t rows, index_t first,
                                              const many_output<V>& y) {
  constexpr index_t block = turned_block<V>;
  index_t turned = 0;
  if constexpr (Width % block == 0 && is_floating(scalar_type_of<V>)) {
    if (skip == 0 && y.row_stride == 1 && y.out.beta == 0 && !y.act.acts()) {
      turned = rows / block * block;
      for (int j = 0; j < Width; j += block) {
        for (index_t i = 0; i < turned; i += block) {
          turn_block<true>(held + i * Width + j, Width, y.at(first + i, j), y.vector_stride, y.out.alpha);
        }
      }
    }
  }
  for (int j = 0; j < Width; ++j) {
    for (index_t i = std::max(skip, turned); i < rows; ++i) {
      y.store(first + i, j, static_cast<sum_of<V>>(held[i * Width + j]));
    }
  }
}

/// Rows of a column-major Y are held back until some of them can be stored together, whole lines at a time.
template <scalar T, offset O, scalar V, int Width, bool ByRow, int Register>
[[gnu::always_inline]] inline void take(const csr_view<T, O>& a, many_part<V>& p, chunk<V, Width, ByRow, Register> x,
                                        const many_output<V>& y) {
  const bool far =
      static_cast<std::int64_t>(a.nnz) * static_cast<std::int64_t>(sizeof(T) + sizeof(index_t)) > near_bytes;
  const bool at_once = y.vector_stride == 1 || Width == 1;
  V held[staged * Width];
  auto entry = static_cast<O>(p.begin);
  for (index_t first = p.first; first < p.last; first += staged) {
    const index_t rows = std::min<index_t>(staged, p.last - first);
    many_output<V> out = at_once ? y : many_output<V>{{1, 0}, held, Width, 1};
    if (at_once) out.y = y.at(first, 0);
    const bool continues = first == p.first && p.continues;
    for (index_t i = 0; i < rows; ++i) {
      const O end = a.rowptr[first + i + 1];
      typename chunk<V, Width, ByRow, Register>::sums sum;
      sum_entries(a, entry, end, far, x, sum);
      if (i == 0 && continues) {
        sum.copy_to(p.head);
      } else {
        sum.store(out, i);
      }
      entry = end;
    }
    if (at_once) continue;
    store_held<V, Width>(held, continues ? 1 : 0, rows, first, y);
  }
  typename chunk<V, Width, ByRow, Register>::sums sum;
  sum_entries(a, entry, static_cast<O>(p.end), far, x, sum);
  sum.copy_to(p.tail);
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
  for_each_part(count, [&](int i) {
    many_part<V>& part = parts[static_cast<std::size_t>(i)];
    const auto by = [&]<int Register>(std::integral_constant<int, Register>) __attribute__((always_inline)) {
      take(a, part, x.template with_registers_of<Register>(), y);
    };
#if TULLE_X86
    if (level == isa::avx512) {
      return run_avx512([&]() __attribute__((always_inline)) { by(std::integral_constant<int, 64>{}); });
    }
    if (level == isa::avx2) {
      return run_avx2([&]() __attribute__((always_inline)) { by(std::integral_constant<int, 32>{}); });
    }
#endif
    (void)level;
    by(std::integral_constant<int, 16>{});
  });
  join<V, Width>(parts, y);
}

/// Rows [begin, end) of `width` vectors from `from` on, row by row into `panel`.
template <scalar V>
[[gnu::always_inline]] inline void turn_rows(const V* from, const strided_vectors& x, index_t begin, index_t end,
                                             index_t width, V* panel) {
  constexpr index_t block = turned_block<V>;
  const bool in_blocks = x.row_stride == 1;
  const index_t vectors = in_blocks ? width / block * block : 0, rows = (end - begin) / block * block;
  for (index_t j = 0; j < vectors; j += block) {
    for (index_t i = begin; i < begin + rows; i += block) {
      turn_block<false>(from + j * x.vector_stride + i, x.vector_stride, panel + std::int64_t{i} * width + j, width, 0);
    }
  }
  for (index_t j = 0; j < width; ++j) {
    const V* const vector = from + j * x.vector_stride;
    for (index_t i = begin + (j < vectors ? rows : 0); i < end; ++i) {
      panel[std::int64_t{i} * width + j] = vector[i * x.row_stride];
    }
  }
}

}  // namespace

/// Vectors of X that are turned at a time: 64 bytes of a row, more where the panel stays in a cache; none where it
/// would not pay, or not be used.
template <scalar T, scalar V, offset O>
index_t csr_many<T, V, O>::vectors_at_once(csr_view<T, O> a, const spmv_options& told) {
  if (a.nnz < a.cols || told.columns == 1) return 0;
  if (told.columns == 0 && told.effort == spmv_effort::none) return 0;
  if (told.columns > 1 && told.columns_order == vector_order::row_major) return 0;
  const std::int64_t row = sizeof(V) * std::int64_t{a.cols};
  std::int64_t width = 64 / sizeof(V);
  while (width < many_width<V> && 2 * width * row <= near_bytes) width *= 2;
  const std::int64_t matrix = static_cast<std::int64_t>(a.nnz) * static_cast<std::int64_t>(sizeof(T) + sizeof(index_t));
  if (told.columns == 0 && width * row > std::max(matrix, near_bytes)) return 0;
  return static_cast<index_t>(width);
}

template <scalar T, scalar V, offset O>
int csr_many<T, V, O>::threads_of(csr_view<T, O> a, int most, const spmv_options& told) {
  const std::int64_t work = std::int64_t{a.rows} + static_cast<std::int64_t>(a.nnz);
  return told.columns > 1 ? threads_for_products(most, work, told.columns, sizeof(V)) : threads_for_product(most, work);
}

template <scalar T, scalar V, offset O>
csr_many<T, V, O>::csr_many(const context& ctx, csr_view<T, O> a, int most, const spmv_options& told)
    : parts_(static_cast<std::size_t>(threads_of(a, most, told))),
      at_once_(vectors_at_once(a, told)),
      panel_(ctx, static_cast<std::size_t>(at_once_) * static_cast<std::size_t>(a.cols)) {
  const int threads = static_cast<int>(parts_.size());
  for (int i = 0; i < threads; ++i) parts_[static_cast<std::size_t>(i)] = {merge_path_part(a, i, threads)};
}

/// The vectors [first, first + width) of X, row by row.
template <scalar T, scalar V, offset O>
const V* csr_many<T, V, O>::turned(csr_view<T, O> a, const strided_vectors& x, index_t first, index_t width) {
  const V* const from = static_cast<const V*>(x.data) + first * x.vector_stride;
  parallel_for(static_cast<int>(parts_.size()), (a.cols + staged - 1) / staged, [&](index_t b) {
    const index_t begin = b * staged, end = std::min(a.cols, begin + staged);
    with_isa(
        isa_, [&]() __attribute__((always_inline)) { turn_rows(from, x, begin, end, width, panel_.data()); });
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
  if (x.count == 1 || at_once_ == 0) return in_chunks<V, false, widest_by_column>(0, x, to, pass);
  for (index_t first = 0; first < x.count; first += at_once_) {
    const index_t width = std::min(at_once_, x.count - first);
    const strided_vectors panel{const_cast<V*>(turned(a, x, first, width)), width, width, 1};
    in_chunks<V, true, widest>(0, panel, to, pass);
    to.y += at_once_ * to.vector_stride;
    to.act = to.act.from(at_once_);
  }
}

#define TULLE_INSTANTIATE(T, O) template class csr_many<T, T, O>;
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE
template class csr_many<float, double, std::int32_t>;
template class csr_many<float, double, std::int64_t>;

}  // namespace tulle::cpu
