// Every allocation of every call fails once, in turn: the call returns OUT_OF_MEMORY and leaks nothing.
#include "handles.hpp"
#include "support/errors.hpp"
#include "support/failing_new.hpp"
#include "support/files.hpp"

namespace tulle::test {
namespace {

/// As `made`, but a refusal is thrown, and nothing may come out of the C API as an exception.
template <class Handle, class Make, class... Arguments>
Handle made_or_thrown(Make make, const Arguments&... arguments) {
  typename Handle::pointer handle = nullptr;
  const tulle_status status = [&]() noexcept { return make(raw(arguments)..., &handle); }();
  Handle owner(handle);
  if (status != TULLE_STATUS_SUCCESS) throw error(static_cast<tulle::status>(status), tulle_last_error_message());
  return owner;
}

template <class Handle, class... Arguments>
void fail_each(const std::string& name, const Arguments&... make_and_arguments) {
  fail_each_allocation(name, [&] { made_or_thrown<Handle>(make_and_arguments...); });
}

TEST(capi_faults, every_host_allocation) {
  const context_handle context = cpu_context(1);
  fail_each<context_handle>("context", tulle_context_create_cpu, 1);
  fail_each<buffer_handle>("buffer", tulle_buffer_create, context, 64);

  const auto a = from_base_one(small_matrix<double, std::int64_t>());
  const tulle_csr_arrays arrays = arrays_of(a, 1);
  fail_each<csr_handle>("copy", tulle_csr_copy, context, &arrays);
  fail_each<csr_handle>("borrow", tulle_csr_borrow, context, &arrays);

  const csr_handle matrix = placed(context, a, tulle_csr_copy, 1);
  for (const char* kernel : {"", "csr.serial", "csr.balanced", "packed"}) {
    fail_each<plan_handle>("plan", tulle_spmv_plan_create, context, matrix, kernel);
  }
  for (const tulle_spmv_effort effort : {TULLE_EFFORT_STANDARD, TULLE_EFFORT_NONE}) {
    const tulle_spmv_options options{nullptr, effort, 1, nullptr, TULLE_REORDER_NEVER, nullptr, 0, 0};
    fail_each<plan_handle>("transposed plan", tulle_spmv_plan_create_with, context, matrix, &options);
  }
}

TEST(capi_faults, every_host_allocation_of_an_order_and_of_solvers_that_take_it) {
  const context_handle context = cpu_context(1);
  const csr_handle a = placed(context, plain_csr<>{3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {4, 1, 1, 5, 1, 1, 3}});
  const auto order = made<permutation_handle>(tulle_order, context, a, tulle_ordering{TULLE_ORDER_DEGREE}, nullptr);
  fail_each<permutation_handle>("order", tulle_order, context, a, tulle_ordering{TULLE_ORDER_RCM}, nullptr);
  const tulle_spmv_options of_plan{nullptr, TULLE_EFFORT_STANDARD, 0, nullptr, TULLE_REORDER_ALWAYS, order.get()};
  fail_each<plan_handle>("plan in an order", tulle_spmv_plan_create_with, context, a, &of_plan);
  tulle_cg_options of_cg{};
  of_cg.reorder = TULLE_REORDER_ALWAYS;
  of_cg.order = order.get();
  fail_each<cg_handle>("conjugate gradients", tulle_cg_solver_create, context, a, &of_cg);
  tulle_jacobi_options of_jacobi{};
  of_jacobi.form = TULLE_JACOBI_ROWS;
  of_jacobi.order = order.get();
  of_jacobi.match = 1;
  fail_each<jacobi_handle>("Jacobi", tulle_jacobi_solver_create, context, a, &of_jacobi);
}

TEST(capi_faults, every_host_allocation_of_a_product) {
  const context_handle context = cpu_context(1);
  const csr_handle matrix = placed(context, small_matrix());
  for (const char* kernel : {"", "kernel0"}) {
    tulle_spgemm_options options{};
    options.kernel = kernel;
    options.transpose_b = 1;
    fail_each<spgemm_handle>("product plan", tulle_spgemm_plan_create, context, matrix, matrix, &options);
    fail_each_allocation("product", [&] {
      const auto plan = made_or_thrown<spgemm_handle>(tulle_spgemm_plan_create, context, matrix, matrix, &options);
      made_or_thrown<csr_handle>(tulle_spgemm_plan_multiply, plan, 1, 0);
    });
  }
}

TEST(capi_faults, every_host_allocation_of_reading_a_file) {
  const context_handle context = cpu_context(1);
  const temporary_directory directory;
  const std::string file = directory / "a.mtx";
  write_file(file, "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n");
  fail_each<csr_handle>("read", tulle_csr_read_matrix_market, context, file.c_str(), TULLE_F64);
}

TEST(capi_faults, apply_allocates_nothing) {
  const context_handle context = cpu_context(1);
  const auto plan = made<plan_handle>(tulle_spmv_plan_create, context, placed(context, small_matrix()), nullptr);
  const std::array<double, 4> x{1, 2, 3, 4};
  std::array<double, 3> y{};
  fail_allocation_after(0);
  const tulle_status status = tulle_spmv_plan_apply(plan.get(), 1, x.data(), 4, 0, y.data(), 3);
  EXPECT_FALSE(stop_failing());
  TULLE_EXPECT_OK(status);
}

}  // namespace
}  // namespace tulle::test
