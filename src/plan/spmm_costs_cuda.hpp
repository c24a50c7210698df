// Which kernel takes several right-hand sides on CUDA: the plan's own, made for one vector, or the one that
// `kernel_for_many` names. Pure functions of statistics, for an NVIDIA H200 (docs/notes/0025-spmm-cuda.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tulle/formats/stats.hpp>

namespace tulle {

struct many_task {
  index_t columns;
  bool by_row;        // X and Y
  std::size_t value;  // bytes
};

/// Whether pieces of rows, which read 512 bytes of X for each nonzero, are faster than packed ones, which read 128 for
/// four times as many: long rows of much of X. H200, f32, 128 columns: FEM of 5 unknowns 874 us and 959, documents and
/// words 83 and 89; R-MAT 16, with rows of 40, 208 and 185. Not where X is many times what L2 holds, as packed ones go
/// through it a panel of columns after another: 20k x 2M, rows of 1500, 3836 and 2128.
inline bool suits_pieces(const csr_stats& s, const many_task& task) {
  constexpr index_t least_columns = 96;
  constexpr double least_mean = 48;
  constexpr double most_bytes = 256e6;  // of X
  if (1.0 * s.cols * std::min<index_t>(task.columns, 128) * task.value > most_bytes) return false;
  return task.value == 4 && task.columns >= least_columns && s.mean >= least_mean;
}

/// Whether `kernel`, chosen for one vector, takes several at once as fast as what `kernel_for_many` names.
inline bool suits_many_cuda(std::string_view kernel, const csr_stats& s, const many_task& task) {
  if (kernel == "bin_bsr.compact") return task.columns <= 8 || !task.by_row;
  return kernel == "packed" && !suits_pieces(s, task);
}

}  // namespace tulle
