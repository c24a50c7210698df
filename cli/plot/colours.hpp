// Colours that are told apart in print, on a grey printer, and by the colour-blind.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tulle::cli::plot {

struct colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const colour&) const = default;
};

namespace colours {
inline constexpr colour white{0xff, 0xff, 0xff};
inline constexpr colour ink{0x22, 0x22, 0x22};
inline constexpr colour faint_ink{0x55, 0x55, 0x55};
inline constexpr colour grid{0xdd, 0xdd, 0xdd};
inline constexpr colour limit{0xb0, 0x30, 0x00};  // lines that say what could be, or what was asked for
/// For series of data: after Okabe and Ito, Color Universal Design, 2008; the yellow, too light for lines, left out.
inline constexpr std::array<colour, 6> series{{{0x00, 0x72, 0xb2},
                                               {0xd5, 0x5e, 0x00},
                                               {0x00, 0x9e, 0x73},
                                               {0xcc, 0x79, 0xa7},
                                               {0x56, 0xb4, 0xe9},
                                               {0xe6, 0x9f, 0x00}}};
}  // namespace colours

/// From light to dark blue: each darker than the one before, and the first still visible on white.
std::vector<colour> shades(int count);

}  // namespace tulle::cli::plot
