/// @file
/// The scalar, index and offset types that tulle is built for, and the key that names a combination at run time.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

/// All of the C++ API.
namespace tulle {

/// Row and column numbers. Dimensions stay below 2^31; counts of nonzeros may pass it (see offset_type).
using index_t = std::int32_t;

/// c64 and c128 are complex numbers of two f32 and of two f64 (std::complex, as NumPy names them by their bits); i64 wraps
/// modulo 2^64; boolean is one byte, 0 or 1, whose sum is "or" and whose product is "and".
enum class scalar_type : std::uint8_t {
  f32,      ///< float
  f64,      ///< double
  i32,      ///< std::int32_t, modulo 2^32
  i64,      ///< std::int64_t, modulo 2^64
  c64,      ///< std::complex<float>
  c128,     ///< std::complex<double>
  boolean,  ///< bool, one byte
};
/// Of positions among the nonzeros: 32 bits, or 64 where there may be 2^31 of them.
enum class offset_type : std::uint8_t {
  i32,  ///< std::int32_t
  i64,  ///< std::int64_t
};
/// Where work runs.
enum class backend_kind : std::uint8_t {
  cpu,   ///< threads of this process
  cuda,  ///< a CUDA device
};
/// Where arrays are.
enum class memory_space : std::uint8_t {
  host,    ///< memory that the CPU reads
  device,  ///< memory of a CUDA device
};

/// c64 and c128.
template <class T>
concept complex_scalar = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// What values of matrices and vectors may be.
template <class T>
concept scalar = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
                 std::same_as<T, std::int64_t> || complex_scalar<T> || std::same_as<T, bool>;

/// Those that plain loops compute with: SpMV, products and operations on matrices, and nothing else.
template <class T>
concept further_scalar = scalar<T> && (complex_scalar<T> || std::same_as<T, std::int64_t> || std::same_as<T, bool>);

/// What positions among the nonzeros may be.
template <class O>
concept offset = std::same_as<O, std::int32_t> || std::same_as<O, std::int64_t>;

/// Number of rows and columns of a matrix.
struct shape {
  index_t rows = 0;  ///< below 2^31
  index_t cols = 0;  ///< below 2^31
  /// Member by member.
  friend bool operator==(const shape&, const shape&) = default;
};

/// The types that a matrix is stored in.
struct type_key {
  scalar_type value = scalar_type::f64;   ///< of the entries
  offset_type offset = offset_type::i32;  ///< of rowptr or what stands for it
  /// Member by member.
  friend bool operator==(const type_key&, const type_key&) = default;
};

/// The types of one operation: of the matrix, of its vectors and of the sums.
struct operation_types {
  scalar_type value = scalar_type::f64;   ///< of the matrix's entries
  offset_type offset = offset_type::i32;  ///< of the matrix's offsets
  scalar_type vector = value;             ///< of x and y
  scalar_type sum = vector;               ///< of the sums, before they are stored
  /// Member by member.
  friend bool operator==(const operation_types&, const operation_types&) = default;

  constexpr operation_types() noexcept = default;
  /// Vectors and sums of the matrix's own type.
  constexpr operation_types(type_key matrix) noexcept : operation_types(matrix, matrix.value) {}
  /// Vectors and sums of another type.
  constexpr operation_types(type_key matrix, scalar_type vectors) noexcept
      : value(matrix.value), offset(matrix.offset), vector(vectors), sum(vectors) {}

  /// The matrix's two alone.
  [[nodiscard]] constexpr type_key matrix() const noexcept { return {value, offset}; }
};

/// The offsets that hold `nnz` entries: 4 bytes where kernels may count a little past the end of a row in them.
constexpr offset_type offsets_for(std::int64_t nnz) {
  return nnz <= std::numeric_limits<std::int32_t>::max() - (1 << 16) ? offset_type::i32 : offset_type::i64;
}

/// The name at run time of a type that is known when compiling: scalar_type_of<double> is scalar_type::f64.
template <scalar T>
inline constexpr scalar_type scalar_type_of = std::same_as<T, float>                  ? scalar_type::f32
                                              : std::same_as<T, double>               ? scalar_type::f64
                                              : std::same_as<T, std::int32_t>         ? scalar_type::i32
                                              : std::same_as<T, std::int64_t>         ? scalar_type::i64
                                              : std::same_as<T, std::complex<float>>  ? scalar_type::c64
                                              : std::same_as<T, std::complex<double>> ? scalar_type::c128
                                                                                      : scalar_type::boolean;
/// The same for offsets.
template <offset O>
inline constexpr offset_type offset_type_of = std::same_as<O, std::int32_t> ? offset_type::i32 : offset_type::i64;

/// The same for a matrix of T with offsets O.
template <scalar T, offset O>
inline constexpr type_key type_key_of{scalar_type_of<T>, offset_type_of<O>};

/// Bytes of one value.
constexpr std::size_t size_of(scalar_type t) {
  switch (t) {
    case scalar_type::f64:
    case scalar_type::i64:
    case scalar_type::c64: return 8;
    case scalar_type::c128: return 16;
    case scalar_type::boolean: return 1;
    case scalar_type::f32:
    case scalar_type::i32: break;
  }
  return 4;
}
/// Real numbers with a point: what solvers, dot products and Jacobi steps are for.
constexpr bool is_floating(scalar_type t) { return t == scalar_type::f32 || t == scalar_type::f64; }
/// c64 or c128.
constexpr bool is_complex(scalar_type t) { return t == scalar_type::c64 || t == scalar_type::c128; }
/// Bytes of one offset.
constexpr std::size_t size_of(offset_type t) { return t == offset_type::i64 ? 8 : 4; }

/// "f32", "f64", "i32", "i64", "c64", "c128", "bool".
constexpr std::string_view name(scalar_type t) {
  constexpr std::string_view names[] = {"f32", "f64", "i32", "i64", "c64", "c128", "bool"};
  return names[static_cast<std::size_t>(t)];
}
/// "i32", "i64".
constexpr std::string_view name(offset_type t) { return t == offset_type::i32 ? "i32" : "i64"; }
/// "cpu", "cuda".
constexpr std::string_view name(backend_kind b) { return b == backend_kind::cpu ? "cpu" : "cuda"; }
/// "host", "device".
constexpr std::string_view name(memory_space s) { return s == memory_space::host ? "host" : "device"; }

}  // namespace tulle
