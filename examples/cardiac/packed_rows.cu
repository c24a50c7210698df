#include <algorithm>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "packed_rows.hpp"

namespace cardiac {
namespace {

using namespace tulle;

/// One thread per row, once.
__global__ void find_float_rows(index_t rows, const std::int64_t* rowptr, const double* values, row_form* of_row) {
  const std::int64_t i = cuda::grid_thread();
  if (i >= rows) return;
  bool floats = true;
  for (std::int64_t k = rowptr[i]; k < rowptr[i + 1]; ++k) {
    floats = floats && static_cast<double>(static_cast<float>(values[k])) == values[k];
  }
  of_row[i] = floats ? f32_form : whole_form;
}

index_t longest_row(const csr<double>& a) {
  std::int64_t most = 0;
  for (index_t i = 0; i < a.rows; ++i) most = std::max(most, a.rowptr.data()[i + 1] - a.rowptr.data()[i]);
  return static_cast<index_t>(most);
}

}  // namespace

packed_rows::packed_rows(const context& ctx, const csr<double>& a) {
  const cuda::device_guard guard(ctx.device());
  const buffer<std::int64_t> rowptr = clone(ctx, a.rowptr);
  const buffer<double> values = clone(ctx, a.values);
  buffer<row_form> of_row(ctx, static_cast<std::size_t>(a.rows));
  cuda::launch("find_float_rows", find_float_rows, cuda::threads_for(a.rows), cuda::native(ctx), a.rows, rowptr.data(),
               values.data(), of_row.data());
  cuda::packed_shape shape;
  shape.height = 64;
  const index_t longest = longest_row(a);
  if (longest > shape.positions) throw error(status::unsupported, "packed_rows: a row of more than 64 entries");
  pattern_.emplace(ctx, a.rows, rowptr.data(), clone(ctx, a.colind).data(), longest, shape, of_row.data());
  values_ = buffer<std::byte>(ctx, static_cast<std::size_t>(pattern_->value_bytes()));
  pattern_->fill_values(ctx, rowptr.data(), values.data(),
                        cuda::packed_writer<double>{value_storage::whole, true, values_.data(), nullptr, 0});
  ctx.synchronize();
}

std::string packed_rows::parameters() const {
  return "packed height=" + std::to_string(height()) + " value_bytes=" + std::to_string(values_.bytes()) +
         " other_bytes=" + std::to_string(pattern_->bytes());
}

}  // namespace cardiac
