// Which kernel takes several right-hand sides on CUDA where a plan was told how many come and how they lie: the one
// that is predicted to take least time. Costs are data (spmm_tuning_cuda.hpp, made by tools/tune cuda_many) for some
// numbers of columns, of which the nearest counts, and scaled to other devices as those for one vector
// (spmv_costs_cuda.hpp). docs/notes/0029-choice-many.md.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "plan/spmm_costs_cuda.hpp"
#include "plan/spmm_terms_cuda.hpp"

namespace tulle {

using spmm_kernel_costs = std::array<std::array<double, spmm_terms_cuda::count>, many_candidates.size()>;

/// What was measured for so many columns; a kernel that was not has costs of 1e9.
struct spmm_task_costs {
  index_t columns;
  bool by_row;
  spmm_kernel_costs f64, f32;
};
struct spmm_device_class {
  std::string_view device;
  int multiprocessors;
  double memory_gbs;  // as the driver says
  std::array<spmm_task_costs, 5> tasks;
};

/// `s` with reads of X, as a device samples them. `task.value`: bytes of a value.
std::string_view choose_many_cuda(const csr_stats& s, const many_task& task, const device_info& device);

/// The kernels that may be the fastest by measurement, whatever they are predicted to take.
std::vector<std::string_view> worth_measuring_many_cuda(const csr_stats& s, const many_task& task);

/// Whether a kernel has the same pass for several right-hand sides as the one wanted.
inline bool is_alike_for_many(std::string_view kernel, std::string_view wanted) {
  const bool of_csr = kernel.starts_with("csr") && kernel != "csr.pieces";
  return kernel == wanted || (of_csr && wanted == "csr.warp");
}

}  // namespace tulle
