// The readers: text, header, entries, CSR, and what there is to note about them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tulle/io/matrix_market.hpp>
#include <utility>
#include <vector>

#include "core/instantiate.hpp"
#include "io/matrix_market_assemble.hpp"
#include "io/matrix_market_open.hpp"

namespace tulle {
namespace matrix_market {
namespace {

enum class occurrence { second, last };

/// Number of the line that has (row, col), or its mirror image, for the second or the last time.
template <class E>
std::int64_t line_of_repeated(const source& file, const header& h, std::vector<segment> segments, occurrence wanted,
                              std::int64_t row, std::int64_t col) {
  file.require_text();
  std::vector<char> held = room_for_lines(file, segments);
  const bool general = h.symmetry == mm_symmetry::general;
  int seen = 0;
  std::int64_t line = h.size_line;
  for (segment& s : segments) {
    const auto count = static_cast<std::size_t>(std::exchange(s.count, 0));
    std::vector<E> entries(count);
    parser_for<E>(h)(lines_of(file, s, held).value(), h, entries.data(), s);
    for (std::size_t k = 0; k < count; ++k) {
      const bool direct = entries[k].row == row && entries[k].col == col;
      const bool mirrored = !general && entries[k].row == col && entries[k].col == row;
      if (!direct && !mirrored) continue;
      ++seen;
      line = line_of_entry(file, s, static_cast<std::int64_t>(k));
      if (wanted == occurrence::second && seen == 2) return line;
    }
  }
  return line;
}

template <scalar T>
std::int64_t count_diagonal(const csr<T>& a) {
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const index_t* colind = a.colind.data();
    count += std::binary_search(colind + a.rowptr.data()[r], colind + a.rowptr.data()[r + 1], static_cast<index_t>(r));
  }
  return count;
}

std::string count_of(std::int64_t count, std::string_view what) {
  return fmt::format("{} {} {}", count, what, count == 1 ? "entry" : "entries");
}

void add_note(matrix_market_info& info, const std::string& text) {
  info.note += (info.note.empty() ? "" : "; ") + text;
}

/// Row offsets take 8 bytes per row whatever the file holds, so a header alone must not ask for gigabytes of them.
void check_rows(const source& file, const header& h) {
  constexpr std::size_t always_allowed = std::size_t{1} << 27;
  constexpr std::size_t bytes_per_character = 32;
  const std::size_t offsets = (static_cast<std::size_t>(h.rows) + 1) * sizeof(std::int64_t);
  if (offsets <= std::max(always_allowed, bytes_per_character * file.size())) return;
  fail(status::out_of_memory, file, h.size_line,
       fmt::format(
           "{} rows for {} would take {} bytes of row offsets; up to {} or {} bytes per byte of text are allowed",
           h.rows, count_of(h.entries, "stored"), offsets, always_allowed, bytes_per_character));
}

/// Adds duplicates up, or refuses them.
template <class E, scalar T>
void settle_duplicates(const context& ctx, const source& file, const header& h, const std::vector<segment>& segments,
                       bool strict, csr<T>& a, matrix_market_info& info) {
  const duplicates found = find_duplicates(ctx, a);
  if (found.count == 0) return;
  if (strict) {
    fail(status::invalid_format, file,
         line_of_repeated<E>(file, h, segments, occurrence::second, found.first_row, found.first_col),
         fmt::format("entry ({}, {}) is there twice, which strict reading refuses", found.first_row + 1,
                     found.first_col + 1));
  }
  const bool general = h.symmetry == mm_symmetry::general;
  overflows sums;
  a = sum_duplicates(ctx, a, sums);
  if (std::integral<T> && sums.count > 0) {
    fail(status::overflow, file,
         line_of_repeated<E>(file, h, segments, occurrence::last, sums.first_row, sums.first_col),
         fmt::format("the duplicates of entry ({}, {}), of which this is the last, add up to more than {} holds",
                     sums.first_row + 1, sums.first_col + 1, name(scalar_type_of<T>)));
  }
  info.duplicates_summed = general ? found.count : found.lower;
  add_note(info, "summed " + count_of(info.duplicates_summed, "duplicate"));
  if (const std::int64_t count = general ? sums.count : sums.lower; count > 0) {
    add_note(info, fmt::format("{} of the sums overflowed to infinity", count));
  }
}

/// What a file with symmetry has that it need not have.
template <scalar T>
void note_symmetry(const header& h, const std::vector<segment>& segments, const csr<T>& a, matrix_market_info& info) {
  std::int64_t upper = 0;
  for (const segment& s : segments) upper += s.upper;
  const bool skew = h.symmetry == mm_symmetry::skew_symmetric;
  if (upper > 0) {
    add_note(info, fmt::format("mirrored {} of a {} file", count_of(upper, "upper"),
                               h.symmetry == mm_symmetry::hermitian ? "hermitian"
                               : skew                               ? "skew-symmetric"
                                                                    : "symmetric"));
  }
  if (const std::int64_t kept = skew ? count_diagonal(a) : 0; kept > 0) {
    add_note(info, fmt::format("kept {} of a skew-symmetric matrix", count_of(kept, "diagonal")));
  }
}

/// Calls wrong(row) for the first row of a sorted hermitian matrix whose diagonal is not real.
template <scalar T, class F>
void check_real_diagonal(const header& h, const csr<T>& a, F wrong) {
  if constexpr (complex_scalar<T>) {
    if (h.symmetry != mm_symmetry::hermitian) return;
    for (index_t r = 0; r < a.rows; ++r) {
      const index_t* const begin = a.colind.data() + a.rowptr.data()[r];
      const index_t* const end = a.colind.data() + a.rowptr.data()[r + 1];
      const index_t* const at = std::lower_bound(begin, end, r);
      if (at != end && *at == r && a.values.data()[at - a.colind.data()].imag() != 0) wrong(r);
    }
  }
}

std::string not_real(index_t r) {
  return fmt::format("entry ({0}, {0}) of a hermitian matrix has an imaginary part: its diagonal is real", r + 1);
}

template <scalar T, class E>
csr<T> read_coordinates(const context& ctx, const source& file, const header& h, bool strict,
                        matrix_market_info& info) {
  entry_list<E> list = parse_entries<E>(ctx, file, h);
  check_rows(file, h);
  bool repeats = false;
  csr<T> a = assemble_coordinates<T>(ctx, h, list, repeats);
  list.entries = {};
  if (repeats) settle_duplicates<E>(ctx, file, h, list.segments, strict, a, info);
  if (h.symmetry != mm_symmetry::general) note_symmetry(h, list.segments, a, info);
  check_real_diagonal(h, a, [&](index_t r) {
    fail(status::invalid_format, file, line_of_repeated<E>(file, h, list.segments, occurrence::last, r, r), not_real(r));
  });
  return a;
}

template <scalar T>
csr<T> read_array(const context& ctx, const source& file, const header& h) {
  value_list<T> values = parse_values<T>(ctx, file, h);
  check_rows(file, h);
  csr<T> a = assemble_array(ctx, h, std::move(values));
  check_real_diagonal(h, a, [&](index_t r) { fail(status::invalid_format, file, h.size_line, not_real(r)); });
  return a;
}

}  // namespace

template <scalar T>
csr<T> parse_csr(const source& file, const matrix_market_options& options, matrix_market_info& info) {
  const context ctx = context_for(file, options);
  const header h = opened_header<T>(file, options, info);
  if (h.array) return read_array<T>(ctx, file, h);
  if (h.field == mm_field::pattern) return read_coordinates<T, pattern_entry>(ctx, file, h, options.strict, info);
  return read_coordinates<T, valued_entry<T>>(ctx, file, h, options.strict, info);
}

}  // namespace matrix_market

template <scalar T>
csr<T> parse_matrix_market(std::string_view text, std::string_view name, const matrix_market_options& options,
                           matrix_market_info* info) {
  return matrix_market::of_text(text, name, info, [&](const matrix_market::source& file, matrix_market_info& learnt) {
    return matrix_market::parse_csr<T>(file, options, learnt);
  });
}

template <scalar T>
csr<T> read_matrix_market(const std::filesystem::path& file, const matrix_market_options& options,
                          matrix_market_info* info) {
  return matrix_market::of_file(file, options, info,
                                [&](const matrix_market::source& opened, matrix_market_info& learnt) {
                                  return matrix_market::parse_csr<T>(opened, options, learnt);
                                });
}

#define TULLE_INSTANTIATE(T)                                                                               \
  template csr<T> matrix_market::parse_csr<T>(const matrix_market::source&, const matrix_market_options&,  \
                                              matrix_market_info&);                                        \
  template csr<T> read_matrix_market<T>(const std::filesystem::path&, const matrix_market_options&,        \
                                        matrix_market_info*);                                              \
  template csr<T> parse_matrix_market<T>(std::string_view, std::string_view, const matrix_market_options&, \
                                         matrix_market_info*);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

namespace {

/// c64: read as c128, each part rounded once more.
csr<std::complex<float>> narrowed(const context& ctx, std::string_view name, csr<std::complex<double>> a) {
  const std::int64_t nnz = a.nnz();
  buffer<std::complex<float>> values(ctx, static_cast<std::size_t>(nnz));
  for (std::int64_t k = 0; k < nnz; ++k) {
    const std::complex<double> v = a.values.data()[k];
    const std::complex<float> to(static_cast<float>(v.real()), static_cast<float>(v.imag()));
    if ((std::isinf(to.real()) && std::isfinite(v.real())) || (std::isinf(to.imag()) && std::isfinite(v.imag()))) {
      throw error(status::overflow, fmt::format("{}: value {} {} does not fit c64", name, v.real(), v.imag()));
    }
    values.data()[k] = to;
  }
  return {a.rows, a.cols, std::move(a.rowptr), std::move(a.colind), std::move(values)};
}

}  // namespace

template <>
csr<std::complex<float>> read_matrix_market(const std::filesystem::path& file, const matrix_market_options& options,
                                            matrix_market_info* info) {
  return narrowed(context::cpu(1), file.string(), read_matrix_market<std::complex<double>>(file, options, info));
}

template <>
csr<std::complex<float>> parse_matrix_market(std::string_view text, std::string_view name,
                                             const matrix_market_options& options, matrix_market_info* info) {
  return narrowed(context::cpu(1), name, parse_matrix_market<std::complex<double>>(text, name, options, info));
}

}  // namespace tulle
