// gustavson for c64, c128, i64 and bool: the pattern of C by the kernel for f32, then the products of A's entries with
// rows of B (Gustavson, ACM TOMS 4, 1978). A warp has a row of C and takes its entries of A one after the other; a lane
// takes every 32nd entry of B's row and finds its column in the row of C by bisection. The columns of a row of B differ,
// so that no two lanes meet, and sums are in the order of A's entries. Bytes per product: sizeof(T) + 4, and log2 of the
// row's length reads of C's columns, in cache.
#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "kernels/further_product.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cuda {

std::unique_ptr<spgemm_operator> make_gustavson(const context& ctx, const spgemm_problem& p);

namespace {

using namespace further;

template <class N>
struct product_arrays {
  index_t rows;
  row_offsets a, b, c;
  const index_t *a_colind, *b_colind, *c_colind;
  const N *a_values, *b_values;
  N* c_values;
  double alpha;
};

template <class N>
__global__ void add_products_kernel(product_arrays<N> p) {
  const int lane = lane_id();
  for (std::int64_t row = grid_thread() / 32; row < p.rows; row += grid_stride() / 32) {
    const std::int64_t first = p.c[row], last = p.c[row + 1];
    for (std::int64_t k = first + lane; k < last; k += 32) p.c_values[k] = N::zero();
    __syncwarp();
    for (std::int64_t k = p.a[row], end = p.a[row + 1]; k < end; ++k) {
      const N factor = scaled(p.alpha, p.a_values[k]);
      const index_t inner = p.a_colind[k];
      for (std::int64_t l = p.b[inner] + lane, stop = p.b[inner + 1]; l < stop; l += 32) {
        const index_t column = p.b_colind[l];
        std::int64_t low = first, high = last - 1;
        while (low < high) {
          const std::int64_t middle = (low + high) / 2;
          p.c_colind[middle] < column ? low = middle + 1 : high = middle;
        }
        p.c_values[low] = multiply_add(p.c_values[low], factor, p.b_values[l]);
      }
      __syncwarp();
    }
  }
}

struct add_products {
  add_products(const context&, const spgemm_problem&) {}

  void operator()(const context& ctx, const spgemm_problem& p, const spgemm_values& values, const csr_sink& c) {
    if (p.a.rows == 0) return;
    const device_guard guard(ctx.device());
    further::dispatch(p.a.types.value, [&]<class N>() {
      const product_arrays<N> arrays{p.a.rows,
                                     {p.a.rowptr, p.a.types.offset},
                                     {p.b.rowptr, p.b.types.offset},
                                     {c.rowptr, c.offset},
                                     p.a.colind,
                                     p.b.colind,
                                     c.colind,
                                     static_cast<const N*>(values.a),
                                     static_cast<const N*>(values.b),
                                     static_cast<N*>(c.values),
                                     values.alpha};
      launch_items(ctx, "add_products", add_products_kernel<N>, std::int64_t{p.a.rows} * 32, arrays);
    });
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return 0; }
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_further(const context& ctx, const spgemm_problem& p) {
  return std::make_unique<product<add_products>>(ctx, p, make_gustavson);
}

}  // namespace tulle::cuda
