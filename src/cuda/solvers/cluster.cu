// cg.cluster: a resident solver (resident.cuh) on the thread blocks of one cluster, which read each other's shared
// memory. Chosen for the smallest: what fits 16 blocks, 3.6 MB on an H200.
#include "cuda/solvers/old0/resident_operator.cuh"
#include "cuda/solvers/old0/resident_push.cuh"
#include "cuda/solvers/resident_operator.cuh"
#include "cuda/solvers/resident_push.cuh"

namespace tulle::cuda {
namespace {

constexpr resident_grid cluster_grid{16, resident_rows, true};

support supports(const cg_problem& p, const device_info& device) {
  if (device.compute_capability < 90) return {false, "clusters need compute capability 9.0"};
  return supports_resident(p, device, cluster_grid);
}

std::unique_ptr<cg_operator> make(const context& ctx, const cg_problem& p) {
  return dispatch<type_set::floating>(p.csr.types, [&]<class T, class O>() -> std::unique_ptr<cg_operator> {
    if (std::getenv("TULLE_OLD") != nullptr) {
      return std::make_unique<old0::resident_operator<T, old0::push_exchange>>(ctx, p, cluster_grid);
    }
    return std::make_unique<resident_operator<T, push_exchange>>(ctx, p, cluster_grid);
  });
}

}  // namespace

cg_kernel cg_cluster_entry() {
  return {
      .name = "cg.cluster",
      .summary = "one cluster of up to 16 blocks: the matrix stays in their shared memory",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .blocks = true,
      .supports = supports,
      .make = make,
  };
}

}  // namespace tulle::cuda
