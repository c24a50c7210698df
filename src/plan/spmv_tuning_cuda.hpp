// Made by tools/tune from src/plan/tuning. Microseconds a term, in the order of spmv_terms_cuda::term, by kernel in
// the order of cuda_candidates: f64, then f32.
#pragma once

#include <array>

#include "plan/spmv_costs_cuda.hpp"

namespace tulle {

// clang-format off
inline constexpr std::array<spmv_device_class, 1> spmv_tuning_cuda = {{
    // nvidia_h200.json: commit medians of four runs: d40f520b (two), fd24bfaa, fdeb9aa5; csr5 and csr5.blocked of 3ba55dd0 (medians of three, of two); plans of b4bdb8a9, one run; csr5 of f64 with 3 million entries and less than 3 a row of da2a5a89, medians of three, 2026-11-28T23:34:24Z
    {"NVIDIA H200", 90, 132, 4814,
      {{
            {4.653, 1.88, 1.567, 0.2231, 0.1927, 3.385, 1.502, 16.35, 0, 0.5289, 1.517, 0, 0, 0},  // csr5
            {0, 1.003, 0, 0, 0.2499, 3.045, 1.936, 0, 0.1975, 0, 3.814, 4.643, 8.481, 0},  // csr5.blocked
            {6.73, 1.467, 3.917, 0.2864, 0.12, 4.116, 0.09236, 14.16, 1.478, 0, 0.2614, 0.4052, 0.7616, 0.06123},  // packed
            {5.333, 0.1722, 4.916, 1.151, 0.12, 4.178, 0, 15.06, 0, 0, 132.3, 0, 0.4715, 0},  // sell
            {5.647, 0, 3.625, 0.2701, 0.2144, 4.4, 0, 13.78, 0, 0, 56.97, 59.13, 0, 0},  // ell
            {6.491, 0.8244, 3.079, 0, 0.2273, 0, 0, 0, 0, 5.841, 0.06014, 0, 0, 0.965},  // bin_bsr.compact
      }},
      {{
            {4.54, 1.761, 1.211, 0.2947, 0.1857, 3.414, 1.588, 14.46, 0.1245, 0.5602, 0.4182, 0, 0, 0},  // csr5
            {9.148, 0.4272, 2.806, 0.585, 0.2073, 3.187, 1.739, 0, 0.5449, 0.1551, 0, 0, 4.173, 0},  // csr5.blocked
            {6.613, 1.26, 3.287, 0.2256, 0.12, 4.271, 0, 14.4, 1.537, 0, 0.2347, 0.3082, 0.6063, 1.266},  // packed
            {4.71, 0.5976, 6.577, 0.7062, 0.12, 4.339, 0, 10.01, 0, 0, 121.1, 58, 0.2016, 0},  // sell
            {5.414, 0.3824, 3.997, 0.2248, 0.201, 4.811, 0, 10.02, 0.09099, 0, 49.41, 50.51, 0, 0},  // ell
            {6.291, 0.7186, 0.09993, 0, 0.2256, 4.545, 0, 0, 0, 2.566, 9.665, 0, 0, 1.016},  // bin_bsr.compact
      }},
    },
}};
// clang-format on

}  // namespace tulle
