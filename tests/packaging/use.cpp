// Uses the public headers as a program might, to be compiled with every warning on. Nothing here runs.
#include <array>
#include <cstddef>
#include <cstdint>
#include <tulle/tulle.h>
#include <tulle/tulle.hpp>
#include <utility>
#include <vector>

namespace {

template <class T>
void products(const tulle::context& ctx) {
  const std::vector<std::int64_t> rowptr{0, 1};
  const std::vector<tulle::index_t> colind{0};
  const std::vector<T> values(1), x(2);
  std::vector<T> y(2);
  const tulle::csr_view<T, std::int64_t> a{1, 1, 1, rowptr.data(), colind.data(), values.data()};
  const tulle::csr_view<T, std::int64_t> named{.rows = 1, .cols = 1, .nnz = 1, .rowptr = rowptr.data(),
                                               .colind = colind.data(), .values = values.data()};
  tulle::spmv_plan plan(ctx, a, {.transpose = true});
  plan.apply(T{1}, x, T{0}, y);
  plan.update_values(values);
  const tulle::multivector_view<const T> xs{.rows = 1, .count = 2, .ld = 2, .data = x.data()};
  const tulle::multivector_view<T> ys{.rows = 1, .count = 2, .ld = 2, .data = y.data()};
  plan.apply_many(T{1}, xs, T{0}, ys);
  tulle::spmv_plan moved = std::move(plan);
  const tulle::buffer<T> copy = tulle::to_buffer(ctx, x);
  const std::array<T, 2> array{};
  const tulle::host_span<const T> span = array;
  for (const T& value : span) static_cast<void>(value);
  const auto transposed = tulle::transpose(named);
  static_cast<void>(transposed.rows + static_cast<tulle::index_t>(copy.size()));
  const tulle::spgemm_options options{.kernel = "adaptive", .memory_limit = std::size_t{1} << 20};
  static_cast<void>(options);
}

}  // namespace

int main() {
  const tulle::context ctx = tulle::context::cpu();
  try {
    products<float>(ctx);
    products<double>(ctx);
    products<std::int32_t>(ctx);
    const tulle::csr<double> a = tulle::generate<double>(ctx, "gen:stencil:points=5,n=4");
    const tulle::csr_stats stats = tulle::statistics(ctx, a.view());
    static_cast<void>(stats);
  } catch (const tulle::error& e) {
    return static_cast<int>(e.code());
  }
  return tulle_status_name(TULLE_STATUS_SUCCESS) == nullptr;
}
