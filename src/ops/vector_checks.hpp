// What the vectors of a call are held to, whichever operation it is: type, memory, size, no overlap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <tulle/core/status.hpp>
#include <tulle/core/vector_ref.hpp>

namespace tulle::detail {

/// Throws INVALID_ARGUMENT where values are i32 and the factor is no such number.
void check_factor(std::string_view name, double factor, scalar_type type);

struct named_vector {
  std::string_view name;
  const_vector_ref vector;
};

/// Every check throws a typed error that names the vector. A vector without elements may be in any memory.
struct vector_rules {
  memory_space space;
  int device;  // whose memory, where space is that of a device
  scalar_type type;
  shape a = {};  // of the matrix that multiplies
  std::string_view matrix = "A";

  /// As many elements as the matrix has columns, or else rows, or else `size`. INVALID_ARGUMENT (memory, type),
  /// INVALID_DIMENSIONS, NULL_POINTER.
  void check_columns(std::string_view name, const const_vector_ref& v) const {
    if (!holds(v, a.cols)) refuse_columns(name, v);
  }
  void check_rows(std::string_view name, const const_vector_ref& v) const {
    if (!holds(v, a.rows)) refuse_rows(name, v);
  }
  void check_size(std::string_view name, const const_vector_ref& v, std::int64_t size) const {
    if (!holds(v, size)) refuse_size(name, v, size);
  }
  /// INVALID_ARGUMENT where `written` overlaps one of the others.
  void check_apart(std::string_view name, const const_vector_ref& written,
                   std::initializer_list<named_vector> others) const;
  /// X and Y of Y = alpha A X + beta Y: memory, type, rows, count, ld, null pointers, overlap.
  void check_multivectors(const const_multivector_ref& x, const const_multivector_ref& y) const;

 private:
  /// Whether there is nothing to refuse; inline, as it is most of what a call costs.
  [[nodiscard]] bool holds(const const_vector_ref& v, std::int64_t size) const {
    if (v.size != size) return false;
    if (size == 0) return true;
    const bool here = v.space == space && (space == memory_space::host || v.device < 0 || v.device == device);
    return here && v.type == type && v.data != nullptr && v.stride >= 1;
  }
  void refuse_columns(std::string_view name, const const_vector_ref& v) const;
  void refuse_rows(std::string_view name, const const_vector_ref& v) const;
  void refuse_size(std::string_view name, const const_vector_ref& v, std::int64_t size) const;
  void check_place(std::string_view name, scalar_type type, memory_space where, int on) const;
  void check_elements(std::string_view name, const const_vector_ref& v) const;
  void check_multivector(std::string_view name, const const_multivector_ref& v, index_t extent,
                         std::string_view unit) const;
};

}  // namespace tulle::detail
