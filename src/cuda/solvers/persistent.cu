// cg.persistent: a resident solver (resident.cuh) on as many thread blocks as the device has multiprocessors, which
// tell each other sums and vectors through global memory. Chosen for what fits their shared memory: 30 MB on an H200.
#include "cuda/solvers/resident_grid.cuh"
#include "cuda/solvers/resident_operator.cuh"

namespace tulle::cuda {
namespace {

resident_grid grid_of(const device_info& device) { return {device.multiprocessors, resident_rows, false}; }

support supports(const cg_problem& p, const device_info& device) {
  if (device.compute_capability < 80) return {false, "it needs compute capability 8.0"};
  return supports_resident(p, device, grid_of(device));
}

std::unique_ptr<cg_operator> make(const context& ctx, const cg_problem& p) {
  return dispatch<type_set::floating>(p.csr.types, [&]<class T, class O>() -> std::unique_ptr<cg_operator> {
    return std::make_unique<resident_operator<T, grid_exchange>>(ctx, p, grid_of(ctx.info()));
  });
}

}  // namespace

cg_kernel cg_persistent_entry() {
  return {
      .name = "cg.persistent",
      .summary = "one cooperative launch: the matrix stays in the shared memory of the whole device",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .blocks = true,
      // It is divided on the host. H200, 7 points: 30^3 1.8 ms, a solve 0.35, by cg.graph 1.0 and 1.5; 46^3 10 and 0.9,
      // 0.7 and 2.3.
      .most_nonzeros_once = 250'000,
      .supports = supports,
      .make = make,
  };
}

}  // namespace tulle::cuda
