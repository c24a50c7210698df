// The readers: text, header, entries, CSR, and what there is to note about them.
#include <tulle/io/matrix_market.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/instantiate.hpp"
#include "io/matrix_market_assemble.hpp"
#include "io/matrix_market_text.hpp"

namespace tulle {
namespace matrix_market {
namespace {

/// Number of the line that has (row, col), or its mirror image, for the second time.
template <class E>
std::int64_t line_of_second(const source& file, const header& h, std::vector<segment> segments,
                            std::int64_t row, std::int64_t col) {
  const terminated_text text(file, segments);
  const bool general = h.symmetry == mm_symmetry::general;
  bool seen = false;
  for (segment& s : segments) {
    const auto count = static_cast<std::size_t>(std::exchange(s.count, 0));
    std::vector<E> entries(count);
    parser_for<E>(h)(text[s], h, entries.data(), s);
    for (std::size_t k = 0; k < count; ++k) {
      const bool direct = entries[k].row == row && entries[k].col == col;
      const bool mirrored = !general && entries[k].row == col && entries[k].col == row;
      if (!direct && !mirrored) continue;
      if (seen) return line_of_entry(file, s, static_cast<std::int64_t>(k));
      seen = true;
    }
  }
  return h.size_line;
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

/// Row offsets take 8 bytes per row whatever the file holds, so a header alone must not ask for gigabytes of them.
void check_rows(const source& file, const header& h) {
  constexpr std::size_t always_allowed = std::size_t{1} << 30;
  constexpr std::size_t bytes_per_character = 64;
  const std::size_t offsets = (static_cast<std::size_t>(h.rows) + 1) * sizeof(std::int64_t);
  if (offsets <= std::max(always_allowed, bytes_per_character * file.text.size())) return;
  fail(status::out_of_memory, file, h.size_line,
       fmt::format("{} rows for {} would take {} bytes of row offsets; up to {} or {} bytes per byte of text are allowed",
                   h.rows, count_of(h.entries, "stored"), offsets, always_allowed, bytes_per_character));
}

template <scalar T, class E>
csr<T> read_coordinates(const context& ctx, const source& file, const header& h, bool strict,
                        matrix_market_info& info) {
  entry_list<E> list = parse_entries<E>(ctx, file, h);
  bool repeats = false;
  check_rows(file, h);
  csr<T> a = assemble_coordinates<T>(ctx, h, list, repeats);
  list.entries = {};
  const duplicates found = repeats ? find_duplicates(ctx, a) : duplicates{};
  if (found.count > 0 && strict) {
    fail(status::invalid_format, file, line_of_second<E>(file, h, list.segments, found.first_row, found.first_col),
         fmt::format("entry ({}, {}) is there twice, which strict reading refuses", found.first_row + 1,
                     found.first_col + 1));
  }
  if (found.count > 0) {
    a = sum_duplicates(ctx, a, file);
    info.duplicates_summed = h.symmetry == mm_symmetry::general ? found.count : found.lower;
    info.note = "summed " + count_of(info.duplicates_summed, "duplicate");
  }
  if (h.symmetry == mm_symmetry::skew_symmetric) {
    if (const std::int64_t kept = count_diagonal(a); kept > 0) {
      info.note += fmt::format("{}kept {} of a skew-symmetric matrix", info.note.empty() ? "" : "; ",
                               count_of(kept, "diagonal"));
    }
  }
  return a;
}

/// No more threads than there are pieces of text worth one.
context context_for(const source& file, int threads) {
  if (threads < 0) throw error(status::invalid_argument, fmt::format("threads: {} is negative; 0 means all", threads));
  constexpr std::size_t bytes_per_thread = std::size_t{1} << 15;
  const context all = context::cpu(threads);
  const std::size_t useful = file.text.size() / bytes_per_thread + 1;
  return useful < static_cast<std::size_t>(all.threads()) ? context::cpu(static_cast<int>(useful)) : all;
}

template <scalar T>
csr<T> parse(const source& file, const matrix_market_options& options, matrix_market_info& info) {
  try {
    const context ctx = context_for(file, options.threads);
    header h = read_header(file);
    h.no_diagonal = options.strict && h.symmetry == mm_symmetry::skew_symmetric;
    info.field = h.field;
    info.symmetry = h.symmetry;
    info.array = h.array;
    info.stored_entries = h.entries;
    info.bytes = static_cast<std::int64_t>(file.text.size());
    if (h.array) return assemble_array(ctx, h, parse_values<T>(ctx, file, h));
    if (h.field == mm_field::pattern) return read_coordinates<T, pattern_entry>(ctx, file, h, options.strict, info);
    return read_coordinates<T, valued_entry<T>>(ctx, file, h, options.strict, info);
  } catch (const std::bad_alloc&) {
    throw error(status::out_of_memory, fmt::format("{}: no memory to read it", file.name));
  }
}

/// parse, and what there is to know of the file where the caller asks for it.
template <scalar T>
csr<T> parse_timed(const source& file, const matrix_market_options& options, matrix_market_info* info,
                   std::chrono::steady_clock::time_point start) {
  matrix_market_info learnt;
  csr<T> a = parse<T>(file, options, learnt);
  learnt.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (info != nullptr) *info = std::move(learnt);
  return a;
}

}  // namespace
}  // namespace matrix_market

template <scalar T>
csr<T> parse_matrix_market(std::string_view text, std::string_view name, const matrix_market_options& options,
                           matrix_market_info* info) {
  return matrix_market::parse_timed<T>({text, name}, options, info, std::chrono::steady_clock::now());
}

template <scalar T>
csr<T> read_matrix_market(const std::filesystem::path& file, const matrix_market_options& options,
                          matrix_market_info* info) {
  const auto start = std::chrono::steady_clock::now();
  const matrix_market::file_text text(file);
  return matrix_market::parse_timed<T>({text.view(), file.string()}, options, info, start);
}

#define TULLE_INSTANTIATE(T)                                                                               \
  template csr<T> read_matrix_market<T>(const std::filesystem::path&, const matrix_market_options&,        \
                                        matrix_market_info*);                                              \
  template csr<T> parse_matrix_market<T>(std::string_view, std::string_view, const matrix_market_options&, \
                                         matrix_market_info*);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

}  // namespace tulle
