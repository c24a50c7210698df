/// @file
/// The names of orders of rows and columns; tulle/reorder/orderings.hpp finds them.
#pragma once

#include <cstdint>
#include <string_view>
#include <tulle/core/types.hpp>
#include <variant>
#include <vector>

namespace tulle {

/// Those of the unknowns of a square matrix work on the pattern of A + A^T without its diagonal.
enum class ordering : std::uint8_t {
  natural,    ///< as the matrix has it
  rcm,        ///< reverse Cuthill-McKee (Cuthill, McKee, ACM 1969; George, Liu, 1981): small bandwidth and profile
  amd,        ///< approximate minimum degree (Amestoy, Davis, Duff, SIMAX 1996), by SuiteSparse: little fill
  nd,         ///< nested dissection (Karypis, Kumar, SISC 1998), by METIS: little fill, large systems
  partition,  ///< the parts of a k-way partition one after another, by METIS: each fits a cache, and is in rcm's order
  degree,     ///< neighbours ascending, stable
  length,     ///< rows of like length together inside windows, longest first: of rows alone
  random,     ///< of rows alone, by a seed
};
/// "natural", "rcm", "amd", "nd", "partition", "degree", "length", "random".
std::string_view name(ordering o) noexcept;

/// An order: whichever suits, one by its name, or one of the caller's, as permutation::to_vector gives it.
using order_choice = std::variant<std::monostate, ordering, std::vector<index_t>>;

}  // namespace tulle
