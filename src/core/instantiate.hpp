// The list of value and offset types that templates are instantiated for (C++ has no loop over explicit instantiations).
#pragma once

#include <cstdint>

#define TULLE_FOR_EACH_VALUE(X) X(float) X(double) X(std::int32_t)

#define TULLE_FOR_EACH_TYPE(X)                          \
  X(float, std::int32_t) X(float, std::int64_t)         \
  X(double, std::int32_t) X(double, std::int64_t)       \
  X(std::int32_t, std::int32_t) X(std::int32_t, std::int64_t)
