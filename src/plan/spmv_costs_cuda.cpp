#include "plan/spmv_costs_cuda.hpp"

#include <cstdlib>

#include "plan/spmv_tuning_cuda.hpp"

namespace tulle {

std::span<const spmv_device_class> spmv_device_classes() { return spmv_tuning_cuda; }

const spmv_device_class& class_of(const device_info& device) {
  const spmv_device_class* best = &spmv_tuning_cuda.front();
  const auto distance = [&](const spmv_device_class& c) {
    const double bandwidth = device.memory_gbs > 0 ? std::abs(std::log(device.memory_gbs / c.memory_gbs)) : 0;
    return std::abs(device.compute_capability - c.compute_capability) + bandwidth;
  };
  for (const spmv_device_class& c : spmv_tuning_cuda) {
    if (distance(c) < distance(*best)) best = &c;
  }
  return *best;
}

double predicted_microseconds(const spmv_terms_cuda& terms, std::size_t kernel, std::size_t value_bytes,
                              const device_info& device, const spmv_device_class& from) {
  const auto& costs = (value_bytes == 8 ? from.f64 : from.f32)[kernel];
  const double slower_memory = device.memory_gbs > 0 ? from.memory_gbs / device.memory_gbs : 1;
  const double fewer =
      device.multiprocessors > 0 ? static_cast<double>(from.multiprocessors) / device.multiprocessors : 1;
  double sum = 0;
  for (int t = 0; t < spmv_terms_cuda::count; ++t) {
    const double scale = spmv_terms_cuda::by_bandwidth(t)         ? slower_memory
                         : spmv_terms_cuda::by_multiprocessors(t) ? fewer
                                                                  : 1;
    sum += costs[static_cast<std::size_t>(t)] * terms[t] * scale;
  }
  return sum;
}

}  // namespace tulle
