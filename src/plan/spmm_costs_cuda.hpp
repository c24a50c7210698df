// Which kernel takes several right-hand sides on CUDA: the plan's own, made for one vector, or the one that
// `kernel_for_many` names (docs/notes/0025-spmm-cuda.md).
#pragma once

#include <cstddef>
#include <string_view>
#include <tulle/core/types.hpp>

#include "kernels/turning_rule.hpp"

namespace tulle {

struct many_task {
  index_t columns;
  bool by_row;        // X and Y
  std::size_t value;  // bytes
};

/// Whether `kernel`, chosen for one vector by a plan that was not told how many come, takes several at once as fast as
/// csr.pieces. Packed rows read 32 bytes of each row of X in a pass over A. H200, 27-point 171 x 93 x 250: 8 columns of
/// f32 338 us and 873, 32 columns 3720 and 2397, 128 columns 14831 and 7190.
inline bool suits_many_cuda(std::string_view kernel, const many_task& task) {
  return (kernel == "bin_bsr.compact" || kernel == "packed") && (task.columns <= few_columns || !task.by_row);
}

}  // namespace tulle
