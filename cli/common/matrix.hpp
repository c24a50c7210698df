// Matrices that commands read, describe and write.
#pragma once

#include <fmt/format.h>

#include <new>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/io/generate.hpp>
#include <tulle/io/matrix_market.hpp>

#include "options.hpp"
#include "output.hpp"
#include "values.hpp"

namespace tulle::cli {

/// What every record of a matrix begins with.
struct matrix_facts {
  std::string name;
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t nnz = 0;
};
json to_json(const matrix_facts& a);
/// "cant: 62,451 x 62,451, 4,007,383 nonzeros".
std::string headline(const matrix_facts& a);
json to_json(const csr_stats& stats);

/// A matrix named on the command line: a file, "-" (a file on stdin, compressed or not) or "gen:NAME:key=value,...".
struct named_matrix {
  matrix_ref matrix;  // owns its arrays: a CSR in host memory with 64-bit offsets and values of the precision, or c128
  std::string name;   // short: "cant" or the generator spec
  matrix_market_info info;  // of a file

  [[nodiscard]] matrix_facts facts() const { return {name, matrix.rows, matrix.cols, matrix.nnz}; }
  template <scalar T>
  [[nodiscard]] csr_view<T, std::int64_t> view() const {
    return matrix.as<T, std::int64_t>();
  }
};
/// Throws INVALID_ARGUMENT where standard input was taken before.
void take_stdin();
/// Notes (duplicates summed and the like) go to stderr. A complex file is read as c128 where no precision was asked
/// for.
named_matrix load(const std::string& spec, const run_options& o);
/// The same for what has no complex values: such a file is UNSUPPORTED.
named_matrix load_real(const std::string& spec, const run_options& o, std::string_view command = "bench");
/// Returns f(); where memory does not suffice, the message begins with the name of what it was for.
template <class F>
decltype(auto) in_memory_for(std::string_view name, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw error(status::out_of_memory, fmt::format("{}: out of memory", name));
  } catch (const error& e) {
    if (e.code() != status::out_of_memory) throw;
    throw error(status::out_of_memory, fmt::format("{}: {}", name, e.what()));
  }
}
/// All statistics of such a matrix.
csr_stats statistics(const matrix_ref& a, const run_options& o);
/// What bins of the largest blocks that are nine tenths full would cost; nothing where there are no such blocks.
std::optional<bin_padding> padding_in_bins(const matrix_ref& a, const csr_stats& stats, const run_options& o);
/// Millions of bytes of text a second; 0 for a generator.
double read_rate(const matrix_market_info& info);

/// A dense vector of `size` elements from an n x 1 (or 1 x n) matrix as `load` takes it; `argument` names the option in
/// the message of INVALID_DIMENSIONS.
template <scalar T>
std::vector<stored<T>> load_vector(const std::string& spec, index_t size, std::string_view argument,
                                   const run_options& o);

inline constexpr const char* output_help = "File to write: .mtx, .mtx.gz, .mtx.xz or .mtx.zst; - is stdout";
/// Writes a matrix as write_matrix_market does and notes how fast that went. Throws FILE_IO, and
/// reader_gone for "-".
void write_matrix(const std::string& file, const matrix_ref& a, bool symmetric = false, mm_field wish = mm_field::real);
/// Notes that a file was written, and its size; nothing of "", of "-" and of what is no file, like /dev/null.
void note_written(const std::string& file);
/// write_file; also throws reader_gone for "-".
void write_text(const std::string& file, std::string_view text);
/// Writes a Matrix Market array of `columns` columns, one after the other in x, shortest digits that read back to the
/// same number. Throws FILE_IO, and reader_gone for "-".
template <scalar T>
void write_vector(const std::string& file, host_span<const T> x, index_t columns = 1);

/// The same with 64-bit offsets.
matrix_ref widened(const matrix_ref& a);
/// The transpose of such a matrix, as such a matrix.
matrix_ref transposed(const matrix_ref& a, const run_options& o);

struct matrix_entry {
  index_t row = 0, col = 0;
};
/// The first entry of such a matrix, square and of real values, that differs from its mirror image or has none.
std::optional<matrix_entry> first_asymmetry(const matrix_ref& a);

/// 64-bit hash of the structure and values of a CSR in host memory (FNV-1a), as 16 hex digits, for records.
std::string matrix_hash(const matrix_ref& a);

/// Fewest bytes that y = alpha A x + beta y has to move: values, 32-bit columns, offsets as narrow as nnz allows, x
/// read once, y written once, and read once where beta is not 0; the last three for each of `vectors` right-hand sides.
double compulsory_bytes(const csr_stats& stats, std::size_t value_bytes, bool reads_y = false, index_t vectors = 1);

/// Calls f(view) with a CSR of values T as a typed view.
template <scalar T, class F>
decltype(auto) with_view(const matrix_ref& a, F&& f) {
  return a.types.offset == offset_type::i32 ? f(a.as<T, std::int32_t>()) : f(a.as<T, std::int64_t>());
}
/// The matrix itself where it is on the host, else a copy there.
matrix_ref on_host(const matrix_ref& a);
/// A CSR of the host, with 64-bit offsets, in the memory of a context, with offsets that must hold its nonzeros. On the
/// CPU its arrays stay where they are but for narrowed offsets: the host matrix must outlive this.
matrix_ref place(const context& ctx, const matrix_ref& host, offset_type offsets);

}  // namespace tulle::cli
