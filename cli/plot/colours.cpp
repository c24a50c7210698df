#include "colours.hpp"

#include <algorithm>
#include <cmath>

namespace tulle::cli::plot {

std::vector<colour> shades(int count) {
  constexpr std::array<colour, 3> stops{{{0x86, 0xba, 0xe0}, {0x22, 0x71, 0xb5}, {0x04, 0x1b, 0x45}}};
  std::vector<colour> result;
  for (int i = 0; i < count; ++i) {
    const double at = count == 1 ? 2 : 2.0 * i / (count - 1);  // a single one is the darkest
    const auto from = std::min<std::size_t>(static_cast<std::size_t>(at), 1);
    const double share = at - static_cast<double>(from);
    const auto mix = [&](std::uint8_t a, std::uint8_t b) {
      return static_cast<std::uint8_t>(std::lround(a + (b - a) * share));
    };
    const colour &a = stops[from], &b = stops[from + 1];
    result.push_back({mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)});
  }
  return result;
}

}  // namespace tulle::cli::plot
