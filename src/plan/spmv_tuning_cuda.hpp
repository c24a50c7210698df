// Made by tools/tune from src/plan/tuning. Microseconds a term, in the order of spmv_terms_cuda::term, by kernel in
// the order of cuda_candidates: f64, then f32.
#pragma once

#include <array>

#include "plan/spmv_costs_cuda.hpp"

namespace tulle {

// clang-format off
inline constexpr std::array<spmv_device_class, 1> spmv_tuning_cuda = {{
    // nvidia_h200.json: commit medians of four runs: d40f520b (two), fd24bfaa, fdeb9aa5; plans of fdeb9aa5; csr5 and csr5.blocked of 03a85b83 with columns of 2, 3 and 4 bytes, 2026-11-28T23:34:24Z
    {"NVIDIA H200", 90, 132, 4814,
      {{
            {4.631, 2.012, 1.455, 0.8058, 0.12, 2.981, 1.752, 12.59, 0, 0.6752, 2.739, 0, 0, 0},  // csr5
            {0, 1.039, 0, 0, 0.2422, 2.505, 2.275, 0, 0.1605, 0.09995, 2.865, 4.655, 11.25, 0},  // csr5.blocked
            {6.705, 1.623, 2.933, 0, 0.12, 3.425, 0.3109, 10.04, 1.749, 0, 0.2896, 0.4526, 0.8169, 0},  // packed
            {5.305, 0.4195, 3.767, 0.9564, 0.12, 4.236, 0, 11.14, 0.01664, 0, 131, 0, 0.5844, 0},  // sell
            {5.691, 0, 2.609, 0, 0.2196, 4.305, 0, 10.42, 0.209, 0, 54.02, 62.67, 0.1079, 0},  // ell
            {6.477, 0.8345, 3.1, 0, 0.2269, 0.2213, 0, 0, 0, 5.629, 0.04564, 0, 0, 0.9655},  // bin_bsr.compact
      }},
      {{
            {4.526, 1.848, 1.219, 0.6198, 0.12, 2.903, 1.792, 10.99, 0, 0.7779, 1.254, 0, 0, 0},  // csr5
            {9.126, 0.5301, 2.275, 0.4958, 0.2074, 3.299, 1.41, 0, 0.4101, 0.405, 0, 0, 4.959, 0},  // csr5.blocked
            {6.584, 1.417, 2.745, 0.04766, 0.12, 3.727, 0.04617, 12.43, 1.772, 0, 0.2534, 0.3333, 0.7188, 0.7637},  // packed
            {4.699, 0.6034, 6.38, 0.6015, 0.12, 4.261, 0, 6.429, 0.01287, 0, 120.1, 63.33, 0.2658, 0},  // sell
            {5.409, 0.3962, 3.743, 0.003946, 0.208, 4.584, 0, 6.312, 0.2675, 0, 48.06, 54.9, 0, 0},  // ell
            {6.511, 0.4994, 0.7249, 0, 0.222, 7.068, 0, 0, 0, 0, 8.302, 6.288, 0, 1.034},  // bin_bsr.compact
      }},
    },
}};
// clang-format on

}  // namespace tulle
