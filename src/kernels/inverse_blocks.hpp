// M^-1 x for M made of the diagonal blocks of A, whose inverses are kept, each in as few bytes as its condition allows.
//
// Adaptive precision (Anzt, Dongarra, Flegar, Higham, Quintana-Orti, Concurrency and Computation 31, 2019): an inverse
// that is rounded to unit roundoff u is one of a block that is off by kappa u of itself. Up to kappa_1 u = 0.1 it stays
// positive definite, for blocks of b <= 8 rows: ||E||_2 <= u ||M^-1||_F <= u sqrt(b) ||M^-1||_2, at most 0.1 sqrt(8) of
// the smallest eigenvalue. Only what is stored is rounded; products and sums are of the vectors' type.
//
// Blocks lie row by row, `inverse_slots(b)` of them (a warp's) as a group, which has one form and begins at a multiple
// of 16 bytes. A last block of fewer rows is filled up with zeros.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/stored_values.hpp>

#include "kernels/types.hpp"

namespace tulle {

/// From the widest on; whole: the type of A's values.
enum class inverse_form : std::uint8_t { whole, f32, bf16 };
inline constexpr int inverse_forms = 3;

constexpr std::size_t bytes_of(inverse_form f, std::size_t whole) {
  return f == inverse_form::bf16 ? 2 : f == inverse_form::f32 ? 4 : whole;
}

/// Of the inverse of a block with that kappa_1, whose largest entry is that; `whole`: bytes of a value of A.
constexpr inverse_form form_of_inverse(double condition, double largest, std::size_t whole) {
  constexpr double most = 0.1, u_bf16 = 0x1p-8, u_f32 = 0x1p-24;
  // What is too small for a float is lost in rounding, unless all of it is.
  const bool in_range = largest >= 0x1p-126 && largest <= 0x1.fep127;
  if (in_range && condition * u_bf16 <= most) return inverse_form::bf16;
  if (in_range && whole > 4 && condition * u_f32 <= most) return inverse_form::f32;
  return inverse_form::whole;
}

constexpr std::uint16_t to_bf16(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);  // to nearest, ties to even
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

constexpr int inverse_slots(int block) { return 32 / block; }
constexpr std::int64_t inverse_group_bytes(inverse_form f, int block, std::size_t whole) {
  const auto size = static_cast<std::int64_t>(bytes_of(f, whole)) * inverse_slots(block) * block * block;
  return (size + 15) / 16 * 16;
}

/// Where a group is: all of one form, or for each group its place in units of 16 bytes, times 4, plus its form.
struct inverse_places {
  const std::uint64_t* place = nullptr;
  inverse_form form = inverse_form::whole;  // where there are none

  friend bool operator==(const inverse_places&, const inverse_places&) = default;
};
constexpr std::uint64_t inverse_place(std::int64_t bytes, inverse_form f) {
  return static_cast<std::uint64_t>(bytes) / 16 << 2 | static_cast<std::uint64_t>(f);
}
constexpr std::int64_t inverse_bytes_before(std::uint64_t place) { return static_cast<std::int64_t>(place >> 2 << 4); }
constexpr inverse_form inverse_form_at(std::uint64_t place) { return static_cast<inverse_form>(place & 3); }

/// Groups and rows by the form of their inverses.
struct inverse_counts {
  std::int64_t groups[inverse_forms] = {};
  std::int64_t rows[inverse_forms] = {};
};
/// What there is of each form, and the same in words.
stored_values stored_inverses(const inverse_counts& counts, int block, scalar_type whole);
std::string describe_inverses(const stored_values& stored);

class inverse_blocks {
 public:
  inverse_blocks() = default;
  inverse_blocks(const inverse_blocks&) = delete;
  inverse_blocks& operator=(const inverse_blocks&) = delete;
  virtual ~inverse_blocks() = default;

  /// Of a sorted CSR. Waits. Throws INDEFINITE as invert_diagonal_blocks.
  virtual void update(const matrix_ref& a) = 0;
  /// y = alpha M^-1 x + beta y. No allocation, no synchronisation.
  virtual void apply(double alpha, const void* x, double beta, void* y, stream_view stream) const = 0;
  [[nodiscard]] virtual stored_values stored() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

/// For n rows in blocks of 2 to 8. `narrows`: in fewer bytes where the condition allows. To be updated before it is
/// applied.
std::unique_ptr<inverse_blocks> make_inverse_blocks(const context& ctx, index_t n, index_t block, operation_types types,
                                                    bool narrows);
namespace cpu {
std::unique_ptr<inverse_blocks> make_inverse_blocks(const context& ctx, index_t n, index_t block, operation_types types,
                                                    bool narrows);
}
namespace cuda {
std::unique_ptr<inverse_blocks> make_inverse_blocks(const context& ctx, index_t n, index_t block, operation_types types,
                                                    bool narrows);
}

}  // namespace tulle
