// Which kernel takes several right-hand sides on CUDA: the plan's own, made for one vector, or the one that
// `kernel_for_many` names. Pure functions of statistics, for an NVIDIA H200 (docs/notes/0025-spmm-cuda.md).
#pragma once

#include <string_view>
#include <tulle/formats/stats.hpp>

namespace tulle {

struct many_task {
  index_t columns;
  bool by_row;  // X and Y
};

/// Whether `kernel`, chosen for one vector, takes several at once faster than pieces of rows do.
inline bool suits_many_cuda(std::string_view kernel, const csr_stats& s, const many_task& task) {
  constexpr double alike = 16, neighbours = 16;
  if (kernel != "packed" || s.skew > alike || s.gather_sectors > neighbours) return false;
  return !task.by_row || task.columns <= 8;
}

}  // namespace tulle
