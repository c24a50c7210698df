// The instruction set of the SpGEMM kernels that are written for AVX-512.
#pragma once

#include "cpu/spmv/intrinsics.hpp"

#if TULLE_X86
/// Every processor that isa::avx512 stands for has these (attributes take no constant, so this is a macro).
#define TULLE_AVX512BW gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,bmi,bmi2,lzcnt,popcnt")
#endif
