#include "plan/spmm_choice_cuda.hpp"

#include <cmath>
#include <limits>

#include "kernels/bsr_block.hpp"
#include "plan/spmm_tuning_cuda.hpp"

namespace tulle {
namespace {

/// Of the nearest number of columns in the same order.
const spmm_task_costs& costs_for(const many_task& task) {
  const spmm_task_costs* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const spmm_task_costs& t : spmm_tuning_cuda.tasks) {
    if (t.by_row != task.by_row) continue;
    const double distance = std::abs(std::log2(static_cast<double>(task.columns) / t.columns));
    if (distance < least) best = &t, least = distance;
  }
  return *best;
}

double predicted(const spmm_terms_cuda& terms, const std::array<double, spmm_terms_cuda::count>& costs,
                 const device_info& device) {
  const double slower = device.memory_gbs > 0 ? spmm_tuning_cuda.memory_gbs / device.memory_gbs : 1;
  const double fewer =
      device.multiprocessors > 0 ? static_cast<double>(spmm_tuning_cuda.multiprocessors) / device.multiprocessors : 1;
  double sum = 0;
  for (int t = 0; t < spmm_terms_cuda::count; ++t) {
    const double scale = spmm_terms_cuda::by_bandwidth(t) ? slower : spmm_terms_cuda::by_multiprocessors(t) ? fewer : 1;
    sum += costs[static_cast<std::size_t>(t)] * terms[t] * scale;
  }
  return sum;
}

constexpr double most_skew = 16;          // the longest row over the mean
constexpr index_t longest_walked = 1000;  // row, by one block

/// As the fit considers it (tools/tune_cuda_many.py); with `few`, as with 8 columns.
bool is_considered(std::string_view kernel, const csr_stats& s, const many_task& task, bool few) {
  const bool whole = pieces_stay_whole(s, task);
  if (kernel == "csr.warp") return whole || (few && s.max <= longest_walked && s.skew < most_skew);
  if (kernel == "csr.pieces") return !whole;
  if (kernel != "bin_bsr.compact") return true;
  const index_t b = best_bsr_block(s, task.value);
  constexpr double least_fill = 0.7;
  constexpr index_t least_block_rows = 4096;
  return few && s.skew < most_skew && s.rows / b >= least_block_rows &&
         s.block_fill[static_cast<std::size_t>(b)] >= least_fill;
}

}  // namespace

std::string_view choose_many_cuda(const csr_stats& s, const many_task& task, const device_info& device) {
  const spmm_task_costs& costs = costs_for(task);
  const bool few = !task.by_row || task.columns <= few_columns;
  const spmm_terms_of terms(s, task, device);
  std::string_view best = many_candidates.front();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < many_candidates.size(); ++k) {
    if (!is_considered(many_candidates[k], s, task, few)) continue;
    const double us = predicted(terms.of(many_candidates[k]), (task.value == 8 ? costs.f64 : costs.f32)[k], device);
    if (us < least) best = many_candidates[k], least = us;
  }
  return best;
}

std::vector<std::string_view> worth_measuring_many_cuda(const csr_stats& s, const many_task& task) {
  std::vector<std::string_view> out;
  for (const std::string_view kernel : many_candidates) {
    const bool walks = kernel == "csr.warp" && s.max <= longest_walked;
    if (walks || is_considered(kernel, s, task, /*few=*/true)) out.push_back(kernel);
  }
  return out;
}

}  // namespace tulle
