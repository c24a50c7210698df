// What y = A x takes on a CPU in CSR and in `packed`, from a matrix's statistics: what `choose_spmv` compares there.
//
// Nanoseconds by least squares over the families of bench/spmv_families.cpp that are there to fit rules on, warm, on one
// thread, of one processor; bench/results/choice_cpu.json has the times, docs/notes/0024-choice-cpu.md what was fitted.
// They stand here alone. Only their proportions matter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tulle/formats/stats.hpp>

#include "core/parallel.hpp"

namespace tulle {

/// Of a type of values.
struct spmv_costs_cpu {
  struct {
    double call, row, nonzero, scattered, streamed_byte, far;
  } csr;
  struct {
    double call, slice, position, scattered_position, streamed_byte, scattered, far;
  } packed;
};

inline constexpr spmv_costs_cpu costs_f64 = {{5.78, 2.25, 0.228, 0.108, 0.0161, 0.285}, {24.1, 2.37, 5.46, 3.79, 0.0352, 0.0964, 0.63}};
inline constexpr spmv_costs_cpu costs_f32 = {{6.86, 3.17, 0.191, 0.135, 0.00317, 0.865}, {22.8, 1.5, 2.81, 5.74, 0.0265, 0.114, 0.718}};

struct spmv_times_cpu {
  double csr = 0;  // microseconds
  double packed = 0;
};

/// On so many threads. Every one counts as long as there is work, and slices, for it.
inline spmv_times_cpu predicted_times_cpu(const csr_stats& s, std::size_t value_bytes, int threads) {
  constexpr double l1_bytes = 32 << 10, l2_bytes = 2 << 20, lanes = 32, dense_sectors = 8, all_sectors = 32;
  const spmv_costs_cpu& cost = value_bytes == 8 ? costs_f64 : costs_f32;
  const double value = static_cast<double>(value_bytes), nnz = static_cast<double>(s.nnz), rows = s.rows;
  const double x_bytes = s.cols * value;
  const double scatter = std::clamp((s.gather_sectors - dense_sectors) / (all_sectors - dense_sectors), 0.0, 1.0);
  const double past_l1 = x_bytes > l1_bytes ? scatter * nnz : 0;
  const double past_l2 = scatter * nnz * std::max(0.0, std::log2(std::max(x_bytes, 1.0) / l2_bytes));
  const double slices = std::ceil(rows / lanes);
  const double positions = nnz * std::min(s.sell_padding, s.sell_sorted_padding) / lanes;
  const auto streamed = [](double bytes) { return std::max(0.0, bytes - l2_bytes); };
  const double csr = cost.csr.call + cost.csr.row * rows + cost.csr.nonzero * nnz + cost.csr.scattered * past_l1 +
                     cost.csr.streamed_byte * streamed(nnz * (value + 4) + 4 * rows) + cost.csr.far * past_l2;
  const double packed = cost.packed.call + cost.packed.slice * slices + cost.packed.position * positions +
                        cost.packed.scattered_position * scatter * positions +
                        cost.packed.streamed_byte * streamed(nnz * (value + 1)) + cost.packed.scattered * past_l1 +
                        cost.packed.far * past_l2;
  const std::int64_t work = s.rows + s.nnz;
  const int of_csr = threads_for(threads, work);
  const int parts = threads_for(240, work, 1 << 14);  // of packed
  const auto shared_by = [](double pieces, double by) { return pieces / std::ceil(pieces / by); };
  const double of_packed = std::min(shared_by(parts, std::min(parts, of_csr)), shared_by(std::max(slices, 1.0), of_csr));
  return {csr / of_csr / 1000, packed / of_packed / 1000};
}

}  // namespace tulle
