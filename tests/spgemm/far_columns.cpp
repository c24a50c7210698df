#include "spgemm/far_columns.hpp"

#include <gtest/gtest.h>

#include "conformance/typed_matrix.hpp"
#include "spgemm/sink_memory.hpp"

namespace tulle::test {
namespace {

host_product<double> multiply(const context& ctx, const spgemm_kernel& kernel, const operands& pair) {
  const typed_matrix<double, std::int32_t> a(ctx, pair.a), b(ctx, pair.b);
  const auto op = kernel.make(ctx, {csr_ref::of(a.device()), csr_ref::of(b.device())});
  sink_memory<double> room(ctx, pair.a.rows, op->symbolic(), offset_type::i32);
  op->fill(1, room.sink());
  return room.read();
}

void move_columns(std::vector<index_t>& columns, index_t by) {
  for (index_t& column : columns) column += by;
}

}  // namespace

void run_far_columns(const context& ctx, const spgemm_kernel& kernel, const operands& pair, index_t cols) {
  const index_t by = cols - pair.b.cols;
  operands far = pair;
  far.b.cols = cols;
  move_columns(far.b.colind, by);
  host_product<double> expected = multiply(ctx, kernel, pair);
  move_columns(expected.colind, by);
  EXPECT_TRUE(multiply(ctx, kernel, far) == expected);
}

}  // namespace tulle::test
