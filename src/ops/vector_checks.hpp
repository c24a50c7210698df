// What the vectors of a call are held to, whichever operation it is: type, memory, size, no overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <tulle/core/status.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/ops/linear_operator.hpp>

namespace tulle::detail {

/// Throws INVALID_ARGUMENT where values are i32 and the factor is no such number, or f32 and it is beyond them. NaN and
/// infinity pass.
void check_factor(std::string_view name, double factor, scalar_type type);

/// For the time of a call: the vector is not copied.
struct named_vector {
  std::string_view name;
  const const_vector_ref& vector;
};

inline bool is_strided(const const_vector_ref& v) { return v.stride != 1 && v.size > 1; }
/// Throws UNSUPPORTED where the elements of one of them are apart.
void require_no_stride(std::string_view what, std::initializer_list<named_vector> vectors);

inline bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && x < y + b_bytes && y < x + a_bytes;
}
[[noreturn]] void refuse_overlap(std::string_view a, std::string_view b);
/// From the first byte to the one after the last.
inline std::size_t span_of(const const_vector_ref& v) {
  return v.size == 0 ? 0 : static_cast<std::size_t>((v.size - 1) * v.stride + 1) * size_of(v.type);
}
/// Throws INVALID_ARGUMENT where `written` overlaps one of the others.
inline void check_apart(std::string_view name, const const_vector_ref& written,
                        std::initializer_list<named_vector> others) {
  for (const auto& [other_name, other] : others) {
    if (overlap(other.data, span_of(other), written.data, span_of(written))) refuse_overlap(other_name, name);
  }
}

/// Every check throws a typed error that names the vector. A vector without elements may be in any memory.
struct vector_rules {
  memory_space space;
  int device;  // whose memory, where space is that of a device
  scalar_type type;
  shape a = {};                         // of the matrix that multiplies
  const linear_operator* of = nullptr;  // what names it, where it is not A
  bool transposed = false;

  [[nodiscard]] std::string_view matrix_label() const;

  /// Whether there is nothing to refuse; inline, as it is most of what a call costs.
  [[nodiscard]] bool holds(const const_vector_ref& v, std::int64_t size) const {
    if (v.size != size) return false;
    if (size == 0) return true;
    const bool here = v.space == space && (space == memory_space::host || v.device < 0 || v.device == device);
    return here && v.type == type && v.data != nullptr && v.stride >= 1;
  }

  /// As many elements as the matrix has columns, or else rows, or else `size`. INVALID_ARGUMENT (memory, type),
  /// INVALID_DIMENSIONS, NULL_POINTER.
  void check_columns(std::string_view name, const const_vector_ref& v) const {
    if (!holds(v, a.cols)) refuse(name, v, a.cols, "columns");
  }
  void check_rows(std::string_view name, const const_vector_ref& v) const {
    if (!holds(v, a.rows)) refuse(name, v, a.rows, "rows");
  }
  void check_size(std::string_view name, const const_vector_ref& v, std::int64_t size) const {
    if (!holds(v, size)) refuse(name, v, size, nullptr);
  }
  /// X and Y of Y = alpha A X + beta Y: memory, type, rows, count, ld, null pointers, overlap.
  void check_multivectors(const const_multivector_ref& x, const const_multivector_ref& y) const;
  /// U and V of C = alpha P o (U V^T) + beta C: the same but for the overlap, as neither is written.
  void check_factors(const const_multivector_ref& u, const const_multivector_ref& v) const;
  /// INVALID_ARGUMENT where the two overlap.
  static void check_apart(std::string_view name, const const_vector_ref& v, std::string_view other_name,
                          const const_multivector_ref& other);

 private:
  /// Throws what `holds` finds wrong.
  void refuse(std::string_view name, const const_vector_ref& v, std::int64_t size, const char* unit) const;
  void check_place(std::string_view name, scalar_type type, memory_space where, int on) const;
  void check_multivector(std::string_view name, const const_multivector_ref& v, index_t extent,
                         std::string_view unit) const;
};

}  // namespace tulle::detail
