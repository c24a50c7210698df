// The values of a generated matrix, from a hash of the seed, the row and the column.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>

#include "io/generate_pattern.hpp"

namespace tulle::generators_detail {

enum class value_kind : std::uint8_t { random, spd, integer };

/// random: uniform in (-1, 1), never 0 (i32: as integer). integer: -8 .. 8 without 0. spd: a symmetric matrix with
/// those off the diagonal and a diagonal above the sum of their magnitudes; needs a symmetric pattern.
template <scalar T>
buffer<T> make_values(const context& ctx, const pattern& p, value_kind kind, std::uint64_t seed);

}  // namespace tulle::generators_detail
