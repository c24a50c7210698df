// gustavson for c64, c128, i64 and bool: the pattern of C by the kernel for f32, then row by row the products of A's
// entries with rows of B (Gustavson, ACM TOMS 4, 1978). A thread notes where the columns of its row of C are in an index
// of B's columns, which needs no clearing: the products have no other columns. Bytes per product: sizeof(T) + 8.
#include "core/parallel.hpp"
#include "kernels/further_product.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cpu {

std::unique_ptr<spgemm_operator> make_spgemm_gustavson(const context& ctx, const spgemm_problem& p);

namespace {

using namespace further;

class add_products {
 public:
  add_products(const context& ctx, const spgemm_problem& p)
      : threads_(threads_for(ctx, p.a)),
        places_(ctx, static_cast<std::size_t>(p.b.cols) * static_cast<std::size_t>(threads_)) {}

  void operator()(const context&, const spgemm_problem& p, const spgemm_values& values, const csr_sink& c) {
    further::dispatch(p.a.types.value, [&]<class N>() { run<N>(p, values, c); });
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return places_.bytes(); }

 private:
  template <class N>
  void run(const spgemm_problem& p, const spgemm_values& values, const csr_sink& c) {
    const row_offsets a(p.a.rowptr, p.a.types.offset), b(p.b.rowptr, p.b.types.offset), rows(c.rowptr, c.offset);
    const auto* const of_a = static_cast<const N*>(values.a);
    const auto* const of_b = static_cast<const N*>(values.b);
    parallel_chunks(threads_, p.a.rows, 64, [&](int part, auto next) {
      std::int64_t* const place = places_.data() + std::int64_t{p.b.cols} * part;
      next([&](index_t i) {
        auto* const to = static_cast<N*>(c.values);
        for (std::int64_t k = rows[i], end = rows[i + 1]; k < end; ++k) {
          place[c.colind[k]] = k;
          to[k] = N::zero();
        }
        for (std::int64_t k = a[i], end = a[i + 1]; k < end; ++k) {
          const N factor = scaled(values.alpha, of_a[k]);
          for (std::int64_t l = b[p.a.colind[k]], last = b[p.a.colind[k] + 1]; l < last; ++l) {
            N& sum = to[place[p.b.colind[l]]];
            sum = multiply_add(sum, factor, of_b[l]);
          }
        }
      });
    });
  }

  int threads_;
  buffer<std::int64_t> places_;  // of columns in C; those of each thread one after the other
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_further(const context& ctx, const spgemm_problem& p) {
  return std::make_unique<product<add_products>>(ctx, p, make_spgemm_gustavson);
}

}  // namespace tulle::cpu
