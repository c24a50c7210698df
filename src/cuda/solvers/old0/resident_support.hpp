#pragma once
#include "cuda/solvers/resident_support.hpp"
namespace tulle::cuda::old0 {
inline constexpr int resident_threads = 256;
inline constexpr int resident_rows = 16;
inline constexpr int resident_groups = 2;
inline constexpr std::size_t resident_static_bytes = 10 * 1024;
}
