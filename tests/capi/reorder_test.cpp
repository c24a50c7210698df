// Orders in the C API.
#include "handles.hpp"

namespace tulle::test {
namespace {

class capi_reorder : public on_each_backend {
 protected:
  permutation_handle order_of(const std::vector<std::int32_t>& order) {
    return made<permutation_handle>(tulle_permutation_create, context, order.data(), std::int64_t(order.size()),
                                    tulle_memory_space{TULLE_HOST});
  }
  static std::vector<std::int32_t> numbers(const permutation_handle& p) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(got<std::int64_t>(tulle_permutation_size, p)));
    TULLE_EXPECT_OK(tulle_permutation_copy_out(p.get(), order.data()));
    return order;
  }
};
TULLE_ON_BOTH_BACKENDS(capi_reorder);

using order = std::vector<std::int32_t>;

TEST_P(capi_reorder, permutations_are_checked_inverted_and_put_together) {
  const permutation_handle p = order_of({2, 0, 1});
  EXPECT_EQ(numbers(made<permutation_handle>(tulle_permutation_inverse, p)), (order{1, 2, 0}));
  EXPECT_EQ(numbers(made<permutation_handle>(tulle_permutation_then, p, p)), (order{1, 2, 0}));
  tulle_permutation* none = nullptr;
  const order twice{0, 1, 1};
  refused(tulle_permutation_create(context.get(), twice.data(), 3, TULLE_HOST, &none), TULLE_STATUS_INVALID_ARGUMENT,
          "order[2] = 1, as order[1] is");
  refused(tulle_permutation_create(context.get(), twice.data(), -1, TULLE_HOST, &none), TULLE_STATUS_INVALID_DIMENSIONS,
          "size");
  refused(tulle_permutation_create(context.get(), twice.data(), 3, 7, &none), TULLE_STATUS_INVALID_ARGUMENT, "space");
  null_in_turn(tulle_permutation_create, {"context", "order", "permutation"}, context, twice.data(), std::int64_t{3},
               tulle_memory_space{TULLE_HOST}, &none);
  null_in_turn(tulle_permutation_then, {"permutation", "next", "both"}, p, p, &none);
}

TEST_P(capi_reorder, vectors_go_and_come_back) {
  const permutation_handle p = order_of({2, 0, 1});
  const double x[] = {10, 11, 12};
  const auto place = [&] { return made<buffer_handle>(tulle_buffer_create, context, sizeof x); };
  const buffer_handle from = place(), to = place(), back = place();
  TULLE_ASSERT_OK(tulle_buffer_copy_in(from.get(), x, sizeof x));
  const auto data = [](const buffer_handle& b) { return got<void*>(tulle_buffer_data, b); };
  TULLE_ASSERT_OK(tulle_permutation_apply(p.get(), TULLE_F64, data(from), data(to), 3));
  TULLE_ASSERT_OK(tulle_permutation_apply_inverse(p.get(), TULLE_F64, data(to), data(back), 3));
  std::vector<double> moved(3), again(3);
  TULLE_ASSERT_OK(tulle_buffer_copy_out(to.get(), moved.data(), sizeof x));
  TULLE_ASSERT_OK(tulle_buffer_copy_out(back.get(), again.data(), sizeof x));
  EXPECT_EQ(moved, (std::vector<double>{12, 10, 11}));
  EXPECT_EQ(again, (std::vector<double>{10, 11, 12}));
  refused(tulle_permutation_apply(p.get(), TULLE_F64, data(from), data(to), 2), TULLE_STATUS_INVALID_DIMENSIONS,
          "x has 2 elements");
  refused(tulle_permutation_apply(p.get(), TULLE_F64, nullptr, data(to), 3), TULLE_STATUS_NULL_POINTER, "x is NULL");
}

TEST_P(capi_reorder, matrices_are_ordered_permuted_and_measured) {
  const plain_csr<> ring{4, 4, {0, 1, 3, 5, 6}, {3, 2, 3, 1, 0, 1}, {1, 2, 3, 2, 1, 3}};  // a ring, one side of it
  const csr_handle a = placed(context, ring);
  const auto p = made<permutation_handle>(tulle_order, context, a, tulle_ordering{TULLE_ORDER_RCM}, nullptr);
  const auto b = made<csr_handle>(tulle_permute, context, a, p, p);
  tulle_order_quality before{}, after{};
  TULLE_ASSERT_OK(tulle_measure_order(context.get(), a.get(), &before));
  TULLE_ASSERT_OK(tulle_measure_order(context.get(), b.get(), &after));
  EXPECT_EQ(before.bandwidth, 3);
  EXPECT_EQ(after.bandwidth, 2);
  EXPECT_GT(after.sectors[2], 0);
  const auto rows = made<csr_handle>(tulle_permute, context, a, order_of({3, 2, 1, 0}), nullptr);
  std::vector<std::int32_t> columns(6);
  TULLE_ASSERT_OK(tulle_csr_copy_out(context.get(), rows.get(), nullptr, columns.data(), nullptr));
  EXPECT_EQ(columns, (order{1, 1, 0, 2, 3, 3}));
  tulle_permutation* none = nullptr;
  refused(tulle_order(context.get(), a.get(), 9, nullptr, &none), TULLE_STATUS_INVALID_ARGUMENT, "ordering");
  tulle_order_options options{};
  options.window = -1;
  refused(tulle_order(context.get(), a.get(), TULLE_ORDER_LENGTH, &options, &none), TULLE_STATUS_INVALID_DIMENSIONS,
          "options->window");
  const csr_handle flat = placed(context, small_matrix());
  refused(tulle_order(context.get(), flat.get(), TULLE_ORDER_RCM, nullptr, &none), TULLE_STATUS_INVALID_DIMENSIONS,
          "A is 3 x 4");
  null_in_turn(tulle_measure_order, {"context", "matrix", "quality"}, context, a, &before);
}

TEST_P(capi_reorder, plans_and_solvers_take_an_order) {
  const plain_csr<> pairs{4, 4, {0, 2, 4, 6, 8}, {0, 3, 1, 2, 1, 2, 0, 3}, {4, 1, 4, 1, 1, 4, 1, 4}};
  const csr_handle a = placed(context, pairs);
  permutation_handle p = order_of({2, 0, 3, 1});
  tulle_spmv_options options{};
  options.order = p.get();
  tulle_spmv_plan* none = nullptr;
  refused(tulle_spmv_plan_create_with(context.get(), a.get(), &options, &none), TULLE_STATUS_INVALID_ARGUMENT,
          "options->order");
  options.reorder = TULLE_REORDER_ALWAYS;
  const auto plan = made<plan_handle>(tulle_spmv_plan_create_with, context, a, &options);
  tulle_cg_options of_cg{};
  of_cg.reorder = TULLE_REORDER_ALWAYS;
  of_cg.order = p.get();
  const auto solver = made<cg_handle>(tulle_cg_solver_create, context, a, &of_cg);
  p.reset();  // nobody needs it any more
  const auto said = [](auto explain, const auto& what) { return std::string(got<const char*>(explain, what)); };
  EXPECT_NE(said(tulle_spmv_plan_explain, plan).find("in the order that was given"), std::string::npos);
  EXPECT_NE(said(tulle_cg_solver_explain, solver).find("in the order that was given"), std::string::npos);
  const std::array<double, 4> x{1, 2, 3, 4};
  const auto place = [&] { return made<buffer_handle>(tulle_buffer_create, context, sizeof x); };
  const buffer_handle from = place(), to = place();
  TULLE_ASSERT_OK(tulle_buffer_copy_in(from.get(), x.data(), sizeof x));
  const auto data = [](const buffer_handle& b) { return got<void*>(tulle_buffer_data, b); };
  std::array<double, 4> y{};
  TULLE_ASSERT_OK(tulle_spmv_plan_apply(plan.get(), 1, data(from), 4, 0, data(to), 4));
  TULLE_ASSERT_OK(tulle_buffer_copy_out(to.get(), y.data(), sizeof y));
  EXPECT_EQ(y, (std::array<double, 4>{8, 11, 14, 17}));

  of_cg.order = nullptr;
  of_cg.reorder = 3;
  tulle_cg_solver* no_solver = nullptr;
  refused(tulle_cg_solver_create(context.get(), a.get(), &of_cg, &no_solver), TULLE_STATUS_INVALID_ARGUMENT,
          "options->reorder");
  tulle_cg_batch* no_batch = nullptr;
  of_cg.reorder = TULLE_REORDER_AUTO;
  refused(tulle_cg_batch_create(context.get(), a.get(), pairs.values.data(), 1, &of_cg, &no_batch),
          TULLE_STATUS_UNSUPPORTED, "reorder");
}

}  // namespace
}  // namespace tulle::test
