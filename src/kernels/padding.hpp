// When formats whose rows are padded to a length pad too much.
#pragma once

namespace tulle {

/// Whether a copy with so many slots for a nonzero is not made: more than three, unless its slots are few in all.
constexpr bool pads_too_much(double slots_per_nonzero, double slots) {
  return slots_per_nonzero > 3 && slots > 65536;
}

}  // namespace tulle
