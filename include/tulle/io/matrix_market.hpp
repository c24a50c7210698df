/// @file
/// Matrix Market files (Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935, 1996).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle {

/// What a file says that its values are; `double` reads as real.
enum class mm_field : std::uint8_t {
  real,     ///< numbers with a point; `double` reads as this
  integer,  ///< whole numbers
  pattern,  ///< places alone; every value is 1
  complex,  ///< pairs of numbers
};
/// What a file says that it holds of the matrix: all of it, or its lower triangle.
enum class mm_symmetry : std::uint8_t {
  general,         ///< all entries are there
  symmetric,       ///< a_ji = a_ij
  skew_symmetric,  ///< a_ji = -a_ij
  hermitian,       ///< a_ji is the conjugate of a_ij; of real numbers it reads as `symmetric`
};

/// How a file is read.
struct matrix_market_options {
  bool strict = false;  ///< refuse duplicates, and diagonal entries of skew-symmetric matrices
  int threads = 0;      ///< 0: as many as OpenMP would use
};

/// What reading a file taught, beyond the matrix.
struct matrix_market_info {
  mm_field field = mm_field::real;              ///< as the banner says
  mm_symmetry symmetry = mm_symmetry::general;  ///< as the banner says
  bool array = false;                           ///< dense `array` format
  std::int64_t stored_entries = 0;              ///< entry lines in the file
  std::int64_t duplicates_summed = 0;           ///< entries that were added to one at the same place
  std::int64_t bytes = 0;                       ///< of text, after decompression
  double seconds = 0;                           ///< from opening to the finished CSR
  std::string note;                             ///< one sentence a person should see, or empty
};

/// Reads `.mtx`, `.mtx.gz`, `.mtx.zst` or `.mtx.xz` (told apart by content; "-" is standard input) into a CSR with
/// sorted rows, symmetry expanded, and duplicates summed. Array files give every element. Memory follows what the file
/// holds, not what its header claims. Throws FILE_IO (cannot be opened or read, became shorter meanwhile),
/// INVALID_FORMAT (with the line number), UNSUPPORTED (complex values as real ones; xz where liblzma was not built in),
/// OVERFLOW (a dimension, an index or a value that does not fit), OUT_OF_MEMORY.
/// T is f32, f64, i32, i64, c64 or c128.
template <scalar T>
csr<T> read_matrix_market(const std::filesystem::path& file, const matrix_market_options& options = {},
                          matrix_market_info* info = nullptr);

/// The same from text in memory; `name` stands for the file in messages.
template <scalar T>
csr<T> parse_matrix_market(std::string_view text, std::string_view name, const matrix_market_options& options = {},
                           matrix_market_info* info = nullptr);

/// Entries as a coordinate file lists them.
template <scalar T>
struct mm_entries {
  index_t rows = 0;        ///< of the matrix
  index_t cols = 0;        ///< of the matrix
  std::int64_t count = 0;  ///< of entries; the arrays have room for so many or more
  buffer<index_t> row;     ///< of each entry, from 0
  buffer<index_t> col;     ///< of each entry, from 0
  buffer<T> values;        ///< of each entry; 1 in a pattern
};

/// Reads the entries in the order of the file, duplicates one by one, and after them the mirror images of those off the
/// diagonal where the file has symmetry. By rows where the file is an array, and where reading is strict: then these
/// are the entries of `read_matrix_market`. Files, memory and errors as there. T is f32, f64, i32, i64 or c128.
template <scalar T>
mm_entries<T> read_matrix_market_entries(const std::filesystem::path& file, const matrix_market_options& options = {},
                                         matrix_market_info* info = nullptr);

/// The same from text in memory; `name` stands for the file in messages.
template <scalar T>
mm_entries<T> parse_matrix_market_entries(std::string_view text, std::string_view name,
                                          const matrix_market_options& options = {},
                                          matrix_market_info* info = nullptr);

/// Writes coordinate format, shortest digits that read back to the same number; `.gz`, `.zst` and `.xz` names are
/// compressed, and "-" is standard output. `symmetric` writes the lower triangle only: the matrix must be symmetric
/// (else INVALID_ARGUMENT). `field` is what the banner says where the values allow it: a pattern where all are 1,
/// integers where all are whole numbers of at most 2^53; else the next wider one, and integer for i32, i64 and bool,
/// complex for c64 and c128, where `symmetric` writes a symmetric or, else, a hermitian matrix.
template <scalar T, offset O>
void write_matrix_market(const std::filesystem::path& file, csr_view<T, O> a, bool symmetric = false,
                         mm_field field = mm_field::real);

/// The same for a matrix of any types in CSR or CSC, on the host or on a device: a product goes to a file as it is.
/// Throws UNSUPPORTED for other formats.
void write_matrix_market(const std::filesystem::path& file, const matrix_ref& a, bool symmetric = false,
                         mm_field field = mm_field::real);

template <further_scalar T, offset O>
void write_matrix_market(const std::filesystem::path& file, csr_view<T, O> a, bool symmetric = false,
                         mm_field field = mm_field::real) {
  write_matrix_market(file, matrix_ref(a), symmetric, field);
}

}  // namespace tulle
