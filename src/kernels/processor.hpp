// What was measured of the processor that this runs on; a backend of the CPU says how.
#pragma once

#include <cstdint>
#include <string_view>

namespace tulle {

/// The classes of processors that costs are kept for. gathers: a core sums rows of CSR sooner by gathers of 512 bits
/// than by single loads; loads: it has those gathers, and does not; narrow: it has no registers of 512 bits.
enum class processor_class : std::uint8_t { gathers, loads, narrow };
constexpr std::string_view name(processor_class c) {
  constexpr std::string_view names[] = {"gathers", "loads", "narrow"};
  return names[static_cast<int>(c)];
}

/// Of this one: measured at the first call, remembered in cache_directory().
processor_class this_processor();

}  // namespace tulle
