// The writer: coordinate format, shortest digits that read back to the same number.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <tulle/core/status.hpp>
#include <tulle/formats/convert.hpp>
#include <tulle/io/matrix_market.hpp>

#include "core/instantiate.hpp"
#include "formats/matrix_arrays.hpp"
#include "io/output_file.hpp"
#include "kernels/types.hpp"

namespace tulle {
namespace matrix_market {

void write_further(const std::filesystem::path& file, const matrix_ref& a, bool symmetric,
                   mm_field wish);  // write_further.cpp

namespace {

constexpr std::size_t full = std::size_t{1} << 20;
constexpr std::size_t longest_line = 64;

/// Throws INVALID_ARGUMENT naming the first entry whose mirror image is missing or different.
template <scalar T, offset O>
void check_symmetric(csr_view<T, O> a) {
  if (a.rows != a.cols) {
    throw error(status::invalid_argument, fmt::format("symmetric: a {} x {} matrix is not square", a.rows, a.cols));
  }
  const context ctx = context::cpu();
  const csc<T, O> transposed = to_csc(ctx, a);              // the rows of the transpose, sorted
  const csr<T, O> sorted = to_csr(ctx, transposed.view());  // the rows of the matrix, sorted
  for (index_t r = 0; r < a.rows; ++r) {
    const O end = sorted.rowptr.data()[r + 1];
    const O mirrored_end = transposed.colptr.data()[r + 1];
    for (O k = sorted.rowptr.data()[r]; k < end; ++k) {
      const index_t col = sorted.colind.data()[k];
      const T x = sorted.values.data()[k], y = transposed.values.data()[k];
      const bool same = x == y || (x != x && y != y);
      if (k < mirrored_end && transposed.rowind.data()[k] == col && same) continue;
      throw error(status::invalid_argument,
                  fmt::format("symmetric: A is not symmetric: row {} is not the same as column {} (near column {})", r,
                              r, col));
    }
    if (end != mirrored_end) {
      throw error(status::invalid_argument,
                  fmt::format("symmetric: A is not symmetric: column {} has entries that row {} lacks", r, r));
    }
  }
}

template <scalar T, offset O>
std::int64_t count_lower(csr_view<T, O> a) {
  std::int64_t count = 0;
  for (index_t r = 0; r < a.rows; ++r) {
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) count += a.colind[k] <= r;
  }
  return count;
}

/// The field that was wished for, or the narrowest above it that holds the values.
template <scalar T, offset O>
mm_field field_for(csr_view<T, O> a, mm_field wish) {
  const auto all = [&](auto holds) { return std::all_of(a.values, a.values + a.nnz, holds); };
  if (wish == mm_field::pattern && all([](T v) { return v == T{1}; })) return wish;
  if constexpr (std::integral<T>) {
    return mm_field::integer;
  } else {
    constexpr T largest = static_cast<T>(std::int64_t{1} << 53);
    const auto whole = [](T v) { return std::abs(v) <= largest && v == std::trunc(v) && !(v == 0 && std::signbit(v)); };
    return wish != mm_field::real && all(whole) ? mm_field::integer : mm_field::real;
  }
}

const char* name_of(mm_field field) {
  return std::array{"real", "integer", "pattern", "complex"}[static_cast<std::size_t>(field)];
}

template <class T>
char* append(char* p, T number, char after) {
  p = std::to_chars(p, p + longest_line, number).ptr;
  *p = after;
  return p + 1;
}

template <scalar T>
char* append_value(char* p, T value, mm_field field) {
  if (field == mm_field::pattern) {
    p[-1] = '\n';
    return p;
  }
  if (field == mm_field::integer) return append(p, static_cast<std::int64_t>(value), '\n');
  return append(p, value, '\n');
}

template <scalar T, offset O>
void write_entries(detail::output_file& out, csr_view<T, O> a, bool lower_only, mm_field field) {
  std::string text(full + longest_line, '\0');
  char* p = text.data();
  for (index_t r = 0; r < a.rows; ++r) {
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
      if (lower_only && a.colind[k] > r) continue;
      p = append(p, std::int64_t{r} + 1, ' ');
      p = append(p, std::int64_t{a.colind[k]} + 1, ' ');
      p = append_value(p, a.values[k], field);
      if (p < text.data() + full) continue;
      out.write({text.data(), static_cast<std::size_t>(p - text.data())});
      p = text.data();
    }
  }
  out.write({text.data(), static_cast<std::size_t>(p - text.data())});
}

}  // namespace
}  // namespace matrix_market

template <scalar T, offset O>
void write_matrix_market(const std::filesystem::path& file, csr_view<T, O> a, bool symmetric, mm_field field) {
  if (a.space != memory_space::host)
    throw error(status::invalid_argument, "a: in device memory; copy it to the host first");
  if (symmetric) matrix_market::check_symmetric(a);
  field = matrix_market::field_for(a, field);
  detail::output_file out(file);
  out.write(fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n", matrix_market::name_of(field),
                        symmetric ? "symmetric" : "general", a.rows, a.cols,
                        symmetric ? matrix_market::count_lower(a) : static_cast<std::int64_t>(a.nnz)));
  matrix_market::write_entries(out, a, symmetric, field);
  out.commit();
}

void write_matrix_market(const std::filesystem::path& file, const matrix_ref& a, bool symmetric, mm_field field) {
  if (a.format != matrix_format::csr && a.format != matrix_format::csc) {
    throw error(status::unsupported,
                fmt::format("write_matrix_market: the matrix is {}: make a CSR of it", name(a.format)));
  }
  if (is_further(a.types.value)) return matrix_market::write_further(file, a, symmetric, field);
  const context host = context::cpu();
  if (a.space == memory_space::host) check_matrix(host, "the matrix", a);  // else the copy is checked
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    if (a.format == matrix_format::csc) {
      const csr<T, O> columns = clone(host, transposed(a).as<T, O>());
      return write_matrix_market(file, to_csr(host, transpose(columns.view())).view(), symmetric, field);
    }
    if (a.space == memory_space::host) return write_matrix_market(file, a.as<T, O>(), symmetric, field);
    const csr<T, O> here = clone(host, a.as<T, O>());
    write_matrix_market(file, here.view(), symmetric, field);
  });
}

#define TULLE_INSTANTIATE(T, O) \
  template void write_matrix_market<T, O>(const std::filesystem::path&, csr_view<T, O>, bool, mm_field);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle
