// Every allocation of every call fails once, in turn: the call returns OUT_OF_MEMORY and leaks nothing.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "handles.hpp"
#include "support/failing_new.hpp"

namespace tulle::test {
namespace {

struct step {
  const char* name;
  std::function<tulle_status()> call;  // makes a handle
  std::function<void()> undo;          // destroys it (it may be NULL)
};

void fail_each_allocation(const step& s) {
  ASSERT_EQ(s.call(), TULLE_STATUS_SUCCESS)
      << s.name << ": " << tulle_last_error_message();  // fills what is kept for good
  s.undo();
  std::int64_t failures = 0;
  for (bool reached = true; reached; ++failures) {
    const std::int64_t before = live_allocations();
    fail_allocation_after(failures);
    const tulle_status status = s.call();
    reached = stop_failing();
    s.undo();
    const std::int64_t after = live_allocations();
    ASSERT_EQ(before, after) << s.name << ": leak when allocation " << failures << " fails";
    // Success after a failure is right where something else was tried instead, as a plan does.
    const bool expected = status == TULLE_STATUS_SUCCESS || (reached && status == TULLE_STATUS_OUT_OF_MEMORY);
    ASSERT_TRUE(expected) << s.name << ", allocation " << failures << ": " << tulle_status_name(status);
    ASSERT_LT(failures, 10'000) << s.name;
  }
  EXPECT_GT(failures, 1) << s.name << " allocates nothing";
}

TEST(capi_faults, every_host_allocation) {
  const context_handle context = cpu_context(1);
  tulle_context* made_context = nullptr;
  fail_each_allocation({"context", [&] { return tulle_context_create_cpu(1, &made_context); },
                        [&] { tulle_context_destroy(std::exchange(made_context, nullptr)); }});
  tulle_buffer* made_buffer = nullptr;
  fail_each_allocation({"buffer", [&] { return tulle_buffer_create(context.get(), 64, &made_buffer); },
                        [&] { tulle_buffer_destroy(std::exchange(made_buffer, nullptr)); }});

  const small_matrix<double, std::int64_t> a(1);
  const tulle_csr_arrays arrays = a.arrays();
  tulle_csr* made_matrix = nullptr;
  const auto destroy_matrix = [&] { tulle_csr_destroy(std::exchange(made_matrix, nullptr)); };
  fail_each_allocation({"copy", [&] { return tulle_csr_copy(context.get(), &arrays, &made_matrix); }, destroy_matrix});
  fail_each_allocation(
      {"borrow", [&] { return tulle_csr_borrow(context.get(), &arrays, &made_matrix); }, destroy_matrix});

  const csr_handle matrix = a.on(context);
  for (const char* kernel : {"", "csr.serial", "csr.balanced", "packed"}) {
    tulle_spmv_plan* made_plan = nullptr;
    fail_each_allocation({"plan",
                          [&] { return tulle_spmv_plan_create(context.get(), matrix.get(), kernel, &made_plan); },
                          [&] { tulle_spmv_plan_destroy(std::exchange(made_plan, nullptr)); }});
  }
  for (const tulle_spmv_effort effort : {TULLE_EFFORT_STANDARD, TULLE_EFFORT_NONE}) {
    const tulle_spmv_options options{nullptr, effort, 1};
    tulle_spmv_plan* made_plan = nullptr;
    fail_each_allocation(
        {"transposed plan",
         [&] { return tulle_spmv_plan_create_with(context.get(), matrix.get(), &options, &made_plan); },
         [&] { tulle_spmv_plan_destroy(std::exchange(made_plan, nullptr)); }});
  }
}

TEST(capi_faults, every_host_allocation_of_a_product) {
  const context_handle context = cpu_context(1);
  const csr_handle matrix = small_matrix<double, std::int32_t>().on(context);
  for (const char* kernel : {"", "kernel0"}) {
    tulle_spgemm_options options{};
    options.kernel = kernel;
    options.transpose_b = 1;
    tulle_spgemm_plan* plan = nullptr;
    const auto create = [&] {
      return tulle_spgemm_plan_create(context.get(), matrix.get(), matrix.get(), &options, &plan);
    };
    const auto destroy = [&] { tulle_spgemm_plan_destroy(std::exchange(plan, nullptr)); };
    fail_each_allocation({"product plan", create, destroy});
    tulle_csr* c = nullptr;
    fail_each_allocation({"product",
                          [&] {
                            const tulle_status planned = create();
                            if (planned != TULLE_STATUS_SUCCESS) return planned;
                            return tulle_spgemm_plan_multiply(plan, 1, 0, &c);
                          },
                          [&] {
                            tulle_csr_destroy(std::exchange(c, nullptr));
                            destroy();
                          }});
  }
}

TEST(capi_faults, every_host_allocation_of_reading_a_file) {
  const context_handle context = cpu_context(1);
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "tulle_capi_faults.mtx";
  std::ofstream(file) << "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n";
  tulle_csr* made = nullptr;
  fail_each_allocation({"read",
                        [&] { return tulle_csr_read_matrix_market(context.get(), file.c_str(), TULLE_F64, &made); },
                        [&] { tulle_csr_destroy(std::exchange(made, nullptr)); }});
  std::filesystem::remove(file);
}

TEST(capi_faults, apply_allocates_nothing) {
  const context_handle context = cpu_context(1);
  const csr_handle matrix = small_matrix<double, std::int32_t>().on(context);
  const auto plan = made<plan_handle>(tulle_spmv_plan_create, context.get(), matrix.get(), nullptr);
  const std::array<double, 4> x{1, 2, 3, 4};
  std::array<double, 3> y{};
  fail_allocation_after(0);
  const tulle_status status = tulle_spmv_plan_apply(plan.get(), 1, x.data(), 4, 0, y.data(), 3);
  EXPECT_FALSE(stop_failing());
  TULLE_EXPECT_OK(status);
}

}  // namespace
}  // namespace tulle::test
