// The list of value and offset types that templates are instantiated for (C++ has no loop over explicit instantiations).
#pragma once

#include <complex>
#include <cstdint>

#define TULLE_FOR_EACH_VALUE(X) X(float) X(double) X(std::int32_t)

/// What Matrix Market files are read as beside these: c64 is narrowed from c128.
#define TULLE_FOR_EACH_FURTHER_READ(X) X(std::int64_t) X(std::complex<double>)

#define TULLE_FOR_EACH_TYPE(X)                          \
  X(float, std::int32_t) X(float, std::int64_t)         \
  X(double, std::int32_t) X(double, std::int64_t)       \
  X(std::int32_t, std::int32_t) X(std::int32_t, std::int64_t)
