/// @file
/// Matrices from a formula: "gen:stencil:points=27,n=200" wherever a file name is accepted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrices.hpp>

namespace tulle {

/// One generator, for help texts.
struct generator_info {
  std::string_view name;        ///< what stands behind "gen:"
  std::string_view parameters;  ///< "n=100, points=7 (5, 7, 9, 27)"
  std::string_view summary;     ///< what matrices it makes
};
/// Those that take values=spd, in words: their patterns are symmetric, with a full diagonal.
inline constexpr std::string_view takers_of_spd =
    "stencil, fem, banded, diagonal, or arrow with as many columns as dense rows";
/// All that there are, by name. Lives as long as the program.
std::span<const generator_info> generators() noexcept;

/// True for "gen:...".
bool is_generator(std::string_view spec) noexcept;

/// Makes nothing, and throws INVALID_ARGUMENT for an unknown generator, key or kind of values as `generate` does.
void check_generator(std::string_view spec);

/// Makes the matrix that `spec` names, in host memory, with sorted rows and no duplicates. The same matrix for any
/// number of threads and on every machine. Every generator takes `values` (random, integer, and spd where
/// takers_of_spd names it; default random) and `seed` (default 1). Throws INVALID_ARGUMENT naming an unknown generator,
/// key or value and what would be valid, OVERFLOW when the dimensions do not fit.
template <scalar T>
csr<T> generate(const context& ctx, std::string_view spec);

}  // namespace tulle
