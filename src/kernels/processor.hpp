// What was measured of the processor that this runs on; a backend of the CPU says how.
#pragma once

namespace tulle {

/// Whether a core sums rows of CSR sooner by gathers of 512 bits than by single loads: the class of processors that costs are
/// kept for. Measured at the first call, remembered in cache_directory().
bool gathers_pay();

}  // namespace tulle
