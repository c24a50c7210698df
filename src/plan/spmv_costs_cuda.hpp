// What y = A x takes on CUDA by each kernel that may be chosen: the terms of spmv_terms_cuda.hpp times what each costs.
//
// Costs are data: spmv_tuning_cuda.hpp has them for every device they were measured on, by type of values. tools/tune
// makes it. A device that was not measured takes those of the class like it, scaled: what waits for memory by
// bandwidth, what multiprocessors do by their number, launches not at all. docs/notes/0027-choice-cuda.md.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "plan/spmv_terms_cuda.hpp"

namespace tulle {

/// Microseconds a term, by kernel in the order of cuda_candidates.
using spmv_kernel_costs = std::array<std::array<double, spmv_terms_cuda::count>, cuda_candidates.size()>;

/// A device that costs were measured on.
struct spmv_device_class {
  std::string_view device;
  int compute_capability;
  int multiprocessors;
  double memory_gbs;  // as the driver says: device_info::memory_gbs
  spmv_kernel_costs f64, f32;
};

/// Kernels of slices are taken where they are predicted to be so much faster: their predictions are low more often, and
/// further.
constexpr double margin_cuda(std::string_view kernel) {
  return kernel == "packed" || kernel == "sell" || kernel == "ell" ? 1.03 : 1;
}

std::span<const spmv_device_class> spmv_device_classes();

/// The measured device that is most like one: of the nearest compute capability, then of the nearest bandwidth.
const spmv_device_class& class_of(const device_info& device);

/// Microseconds of an application, the last-level cache holding nothing.
double predicted_microseconds(const spmv_terms_cuda& terms, std::size_t kernel, std::size_t value_bytes,
                              const device_info& device, const spmv_device_class& from);

}  // namespace tulle
