// What the targets of the Matrix Market reader share.
#pragma once

#include "fuzz.hpp"
#include "io/matrix_market_header.hpp"

namespace tulle::fuzz {

/// Whether the shape that `text` claims is one to read: larger ones are legal, but their row pointers alone would fill
/// the memory.
inline bool is_small(std::string_view text) {
  constexpr index_t most_rows = 100000;
  try {
    return matrix_market::read_header({text, "fuzz"}).rows <= most_rows;
  } catch (const error&) {
    return true;
  }
}

}  // namespace tulle::fuzz
