// Which kernel suits a matrix: the rules behind `choose_spmv`, and the kernels with a part of their own.
#pragma once

#include <string>
#include <string_view>
#include <tulle/ops/spmv.hpp>
#include <vector>

#include "kernels/processor.hpp"
#include "kernels/spmv.hpp"

namespace tulle {

/// The kernel that takes every CSR where it is and learns nothing about it first.
std::string_view kernel_without_set_up(backend_kind backend);
/// The kernel that takes several right-hand sides where the one chosen takes one at a time, or more slowly. Where the
/// plan was told how many will come (else 0) it may store the matrix once more for them.
std::string_view kernel_for_many(const device_info& device, const csr_stats& stats, type_key types, index_t columns,
                                 bool by_row);
/// Those that effort max measures for so many; none where there is no choice.
std::vector<std::string_view> worth_measuring_many(backend_kind backend, const csr_stats& stats, type_key types,
                                                   index_t columns, bool by_row);
/// Whether `kernel` takes `columns` right-hand sides as `wanted`, which that named, does.
bool is_as_wanted(const device_info& device, const csr_stats& stats, type_key types, index_t columns,
                  std::string_view kernel, std::string_view wanted);
/// Whether `kernel`, chosen for one vector, is to take `columns` at once, though the one above could.
bool suits_many(backend_kind backend, std::string_view kernel, type_key types, index_t columns, bool by_row);
/// The kernel that reads a BSR in place: for effort `none`, and on a CPU.
inline constexpr std::string_view kernel_for_blocks = "bsr";
/// The kernel that reads a bin_bsr in place, and the one that makes of it, or of a BSR on a device, what is fastest to
/// read.
inline constexpr std::string_view kernel_for_bins = "bin_bsr";
inline constexpr std::string_view kernel_for_sorted_bins = "bin_bsr.compact";

/// `choose_spmv` on so many threads of a CPU, of a class (kernels/processor.hpp).
/// Without `why` no reason is given: to put one into words takes longer than an application of a small matrix.
spmv_choice choose_spmv_cpu(const csr_stats& stats, type_key types, int threads, processor_class processor,
                            bool why = true);
/// The kernel of `choose_spmv` alone.
std::string chosen_spmv_kernel(const csr_stats& stats, type_key types, const device_info& device, spmv_policy policy);
/// What `kernel` is predicted to take on CUDA over what the fastest is; infinity where it would not be chosen at all.
double time_over_least_cuda(std::string_view kernel, const csr_stats& stats, type_key types, const device_info& device);
/// Kernels in the order to measure them: on CUDA those that are predicted to be the fastest come first, so that those
/// that take a thousand times as long leave them something of a budget.
std::vector<const spmv_kernel*> most_promising_first(std::vector<const spmv_kernel*> kernels, const csr_stats& stats,
                                                     type_key types, const device_info& device);

}  // namespace tulle
