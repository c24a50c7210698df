// How the columns of a row of C are found.
#pragma once

#include <cstdint>

namespace tulle::cpu {

/// repeat: they are those of the row before. The others: see gustavson.cpp.
enum class row_kind : std::uint8_t { single, repeat, tiny, window, hash, wide };

}  // namespace tulle::cpu
