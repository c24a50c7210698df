// The writer for c64, c128, i64 and bool.
#include <fmt/format.h>

#include <charconv>
#include <complex>
#include <string>
#include <tulle/io/matrix_market.hpp>
#include <tulle/ops/matrix.hpp>

#include "formats/matrix_arrays.hpp"
#include "io/output_file.hpp"
#include "kernels/further_types.hpp"

namespace tulle::matrix_market {

void write_further(const std::filesystem::path& file, const matrix_ref& a, bool symmetric, mm_field wish);

namespace {

constexpr std::size_t full = std::size_t{1} << 20;
constexpr std::size_t longest_line = 96;

template <class T>
char* append(char* p, T number, char after) {
  p = std::to_chars(p, p + 32, number).ptr;
  *p = after;
  return p + 1;
}

template <class R>
char* append_value(char* p, further::complex_number<R> v) {
  return append(append(p, v.re, ' '), v.im, '\n');
}
char* append_value(char* p, further::wrapping v) { return append(p, static_cast<std::int64_t>(v.bits), '\n'); }
char* append_value(char* p, further::truth v) { return append(p, v.bit == 0 ? 0 : 1, '\n'); }

bool same(double x, double y) { return x == y || (x != x && y != y); }
template <class R>
bool same(further::complex_number<R> x, further::complex_number<R> y) {
  return same(double{x.re}, double{y.re}) && same(double{x.im}, double{y.im});
}
bool same(further::wrapping x, further::wrapping y) { return x.bits == y.bits; }
bool same(further::truth x, further::truth y) { return (x.bit == 0) == (y.bit == 0); }

/// Whether sorted A is its transpose, or with `sign` -1 the conjugate of that.
template <class N>
bool equals_transpose(const matrix_ref& a, const matrix_ref& transposed, int sign) {
  const further::row_offsets rows(a.rowptr, a.types.offset), columns(transposed.rowptr, transposed.types.offset);
  for (index_t r = 0; r < a.rows; ++r) {
    if (rows[r + 1] != columns[r + 1]) return false;
  }
  for (std::int64_t k = 0; k < a.nnz; ++k) {
    const N mirrored = further::conjugated(sign, static_cast<const N*>(transposed.values)[k]);
    if (a.colind[k] != transposed.colind[k] || !same(static_cast<const N*>(a.values)[k], mirrored)) return false;
  }
  return true;
}

/// "symmetric" or "hermitian", whichever the matrix is; throws INVALID_ARGUMENT where it is neither.
template <class N>
const char* symmetry_of(const context& host, const matrix_ref& a) {
  const bool complex = is_complex(a.types.value);
  if (a.rows == a.cols) {
    const matrix_ref transposed = transpose(host, a).matrix, sorted = transpose(host, transposed).matrix;
    if (equals_transpose<N>(sorted, transposed, 1)) return "symmetric";
    if (complex && equals_transpose<N>(sorted, transposed, -1)) return "hermitian";
  }
  throw error(status::invalid_argument, fmt::format("symmetric: the {} x {} matrix is not symmetric{}", a.rows, a.cols,
                                                    complex ? ", nor hermitian" : ""));
}

template <class N>
void write_entries(detail::output_file& out, const matrix_ref& a, bool lower_only, bool pattern) {
  const further::row_offsets rowptr(a.rowptr, a.types.offset);
  std::string text(full + longest_line, '\0');
  char* p = text.data();
  const auto flush = [&] {
    out.write({text.data(), static_cast<std::size_t>(p - text.data())});
    p = text.data();
  };
  for (index_t r = 0; r < a.rows; ++r) {
    for (std::int64_t k = rowptr[r]; k < rowptr[r + 1]; ++k) {
      if (lower_only && a.colind[k] > r) continue;
      p = append(p, std::int64_t{r} + 1, ' ');
      p = append(p, std::int64_t{a.colind[k]} + 1, pattern ? '\n' : ' ');
      if (!pattern) p = append_value(p, static_cast<const N*>(a.values)[k]);
      if (p >= text.data() + full) flush();
    }
  }
  flush();
}

}  // namespace

void write_further(const std::filesystem::path& file, const matrix_ref& given, bool symmetric, mm_field wish) {
  const context host = context::cpu();
  const matrix_ref here = given.space == memory_space::host ? given : clone(host, given);
  const matrix_ref a = to_csr(host, here);
  further::dispatch(a.types.value, [&]<class N>() {
    const char* const symmetry = symmetric ? symmetry_of<N>(host, a) : "general";
    const auto* const values = static_cast<const N*>(a.values);
    const bool pattern = wish == mm_field::pattern && !is_complex(a.types.value) &&
                         std::all_of(values, values + a.nnz, [](N v) { return same(v, N::one()); });
    std::int64_t count = 0;
    const further::row_offsets rowptr(a.rowptr, a.types.offset);
    for (index_t r = 0; symmetric && r < a.rows; ++r) {
      count += std::count_if(a.colind + rowptr[r], a.colind + rowptr[r + 1], [r](index_t c) { return c <= r; });
    }
    detail::output_file out(file);
    out.write(fmt::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n",
                          is_complex(a.types.value) ? "complex" : pattern ? "pattern" : "integer", symmetry, a.rows, a.cols,
                          symmetric ? count : a.nnz));
    write_entries<N>(out, a, symmetric, pattern);
    out.commit();
  });
}

}  // namespace tulle::matrix_market
