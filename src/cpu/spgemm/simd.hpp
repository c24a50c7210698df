// The instruction set of the SpGEMM kernels that are written for AVX-512.
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

/// Every processor that isa::avx512 stands for has these (attributes take no constant, so this is a macro).
#define TULLE_AVX512BW gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,bmi,bmi2,lzcnt,popcnt")
#endif
