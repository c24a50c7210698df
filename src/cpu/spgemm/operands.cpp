// Operands of C = A B on the CPU: order of rows, duplicates, values in another order, [alpha A | I] and [B ; beta D].
#include <algorithm>
#include <numeric>

#include "core/backends.hpp"
#include "core/parallel.hpp"
#include "kernels/spgemm_operands.hpp"

namespace tulle::cpu {
namespace {

/// As many threads as are worth waking for so many rows and entries.
int threads_for(const context& ctx, std::int64_t work) {
  constexpr std::int64_t work_a_thread = 1 << 14;
  return static_cast<int>(std::clamp<std::int64_t>(work / work_a_thread, 1, ctx.threads()));
}
int threads_for(const context& ctx, const csr_ref& a) { return threads_for(ctx, a.rows + a.nnz); }

/// Rows begin .. end - 1. Columns that do not exceed the one before are counted in one sweep over all entries, which
/// the compiler turns to vectors; those among them that begin a row are taken off in another.
template <class T, class O>
pattern_counts inspect_columns(csr_view<T, O> a, index_t begin, index_t end) {
  const O first = a.rowptr[begin], last = a.rowptr[end];
  if (first == last) return {};
  std::uint32_t largest = static_cast<std::uint32_t>(a.colind[first]);  // where one is negative, beyond all columns
  O descents = 0;
  for (O k = first + 1; k < last; ++k) {
    largest = std::max(largest, static_cast<std::uint32_t>(a.colind[k]));
    descents += a.colind[k] <= a.colind[k - 1] ? 1 : 0;
  }
  for (index_t r = begin; r < end; ++r) {
    const O k = a.rowptr[r];
    if (k > first && k < a.rowptr[r + 1]) descents -= a.colind[k] <= a.colind[k - 1] ? 1 : 0;
  }
  return {largest < static_cast<std::uint32_t>(a.cols) ? 0u : 1u, static_cast<unsigned long long>(descents)};
}

template <class T, class O>
pattern_counts inspect_one(int threads, csr_view<T, O> a) {
  // Between 0 and nnz, offsets that nowhere fall stay in range.
  if (a.rowptr[0] != 0 || a.rowptr[a.rows] != a.nnz) return {1, 0};
  index_t falls = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : falls)
  for (index_t r = 0; r < a.rows; ++r) falls += a.rowptr[r] > a.rowptr[r + 1] ? 1 : 0;
  if (falls > 0) return {1, 0};
  pattern_counts all;
  parallel_rows(threads, a.rows, a.rowptr, [&](index_t begin, index_t end) {
    const pattern_counts mine = inspect_columns(a, begin, end);
    if (mine.increasing()) return;
#pragma omp critical(tulle_spgemm_inspect)
    {
      all.defects += mine.defects;
      all.descents += mine.descents;
    }
  });
  return all;
}

buffer<pattern_counts> inspect(const context& ctx, std::span<const csr_ref> matrices) {
  buffer<pattern_counts> counts(ctx, matrices.size());
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const csr_ref& a = matrices[i];
    counts.data()[i] = dispatch<type_set::floating>(
        a.types, [&]<class T, class O>() { return inspect_one(threads_for(ctx, a), a.as<T, O>()); });
  }
  return counts;
}

template <class T>
void number_as(int threads, std::int64_t n, T* to) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
}

void number(const context& ctx, scalar_type type, std::int64_t n, void* to) {
  if (type == scalar_type::f64) return number_as(threads_for(ctx, n), n, static_cast<double*>(to));
  number_as(threads_for(ctx, n), n, static_cast<std::int32_t*>(to));
}

template <class T, class O>
folded_pattern fold_typed(const context& ctx, csr_view<T, O> a) {
  const int threads = threads_for(ctx, a.rows + std::int64_t{a.nnz});
  folded_pattern out{buffer<std::byte>(ctx, (static_cast<std::size_t>(a.rows) + 1) * sizeof(O)), {}, {}};
  O* rowptr = reinterpret_cast<O*>(out.rowptr.data());
  const auto first_of_its_column = [&](index_t r, O k) { return k == a.rowptr[r] || a.colind[k] != a.colind[k - 1]; };
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
  for (index_t r = 0; r < a.rows; ++r) {
    O distinct = 0;
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) distinct += first_of_its_column(r, k);
    rowptr[r + 1] = distinct;
  }
  scan_counts(threads, rowptr, a.rows);
  const auto nnz = static_cast<std::size_t>(rowptr[a.rows]);
  out.colind = buffer<index_t>(ctx, nnz);
  out.segments = buffer<std::int64_t>(ctx, nnz + 1);
  out.segments.data()[nnz] = a.nnz;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
  for (index_t r = 0; r < a.rows; ++r) {
    O at = rowptr[r];
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
      if (!first_of_its_column(r, k)) continue;
      out.colind.data()[at] = a.colind[k];
      out.segments.data()[at++] = k;
    }
  }
  return out;
}

folded_pattern fold(const context& ctx, const csr_ref& a) {
  return dispatch<type_set::floating>(a.types, [&]<class T, class O>() { return fold_typed(ctx, a.as<T, O>()); });
}

template <class T, class At>
void gather_from(int threads, const value_gather& g, At at) {
  const T* from = static_cast<const T*>(g.from);
  T* to = static_cast<T*>(g.to);
  const T scale = static_cast<T>(g.scale);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < g.count; ++i) {
    const std::int64_t begin = g.segments ? g.segments[i] : i, end = g.segments ? g.segments[i + 1] : i + 1;
    T sum = from[at(begin)];
    for (std::int64_t j = begin + 1; j < end; ++j) sum += from[at(j)];
    to[i] = scale * sum;
  }
}

template <class T>
void gather_typed(int threads, const value_gather& g) {
  if (g.scale == 0) {
    std::fill_n(static_cast<T*>(g.to), g.count, T{0});
  } else if (g.positions == nullptr) {
    gather_from<T>(threads, g, [](std::int64_t j) { return j; });
  } else if (g.position_type == scalar_type::f64) {
    const auto* positions = static_cast<const double*>(g.positions);
    gather_from<T>(threads, g, [=](std::int64_t j) { return static_cast<std::int64_t>(positions[j]); });
  } else {
    const auto* positions = static_cast<const std::int32_t*>(g.positions);
    gather_from<T>(threads, g, [=](std::int64_t j) { return std::int64_t{positions[j]}; });
  }
}

void gather(const context& ctx, const value_gather& g) {
  const int threads = threads_for(ctx, g.count);
  g.type == scalar_type::f64 ? gather_typed<double>(threads, g) : gather_typed<float>(threads, g);
}

void append_identity(const context& ctx, const csr_ref& a, void* rowptr, index_t* colind) {
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    const auto from = a.as<T, O>();
    O* to = static_cast<O*>(rowptr);
    to[0] = 0;
#pragma omp parallel for num_threads(threads_for(ctx, a)) schedule(static)
    for (index_t r = 0; r < from.rows; ++r) {
      to[r + 1] = from.rowptr[r + 1] + r + 1;
      std::copy(from.colind + from.rowptr[r], from.colind + from.rowptr[r + 1], colind + from.rowptr[r] + r);
      colind[from.rowptr[r + 1] + r] = from.cols + r;
    }
  });
}

void fill_beside_identity(const context& ctx, const csr_ref& a, double alpha, void* values) {
  dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    const auto from = a.as<T, O>();
    const T scale = static_cast<T>(alpha);
    T* to = static_cast<T*>(values);
#pragma omp parallel for num_threads(threads_for(ctx, a)) schedule(static)
    for (index_t r = 0; r < from.rows; ++r) {
      for (O k = from.rowptr[r]; k < from.rowptr[r + 1]; ++k) to[k + r] = scale * from.values[k];
      to[from.rowptr[r + 1] + r] = T{1};
    }
  });
}

void append_offsets(const context& ctx, const csr_ref& below, std::int64_t first, void* to) {
  dispatch<type_set::floating>(below.types, [&]<class T, class O>() {
    const O* from = static_cast<const O*>(below.rowptr);
    O* out = static_cast<O*>(to);
#pragma omp parallel for num_threads(threads_for(ctx, below.rows)) schedule(static)
    for (std::int64_t i = 0; i <= below.rows; ++i) out[i] = static_cast<O>(first + from[i]);
  });
}

}  // namespace

const spgemm_operand_kernels& spgemm_operands() {
  static constexpr spgemm_operand_kernels table = {
      .inspect = inspect,
      .number = number,
      .fold = fold,
      .gather = gather,
      .append_identity = append_identity,
      .fill_beside_identity = fill_beside_identity,
      .append_offsets = append_offsets,
  };
  return table;
}

}  // namespace tulle::cpu
