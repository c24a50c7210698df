// The intrinsics of x86, without the warnings of the compiler's own header.
#pragma once

#include "cpu/spmv/isa.hpp"

#if TULLE_X86
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"  // each compiler knows only some of these names
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12's own header: PR 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif
