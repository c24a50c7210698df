// Registers one test a kernel, combination of types and matrix, for every backend that is built.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/spmv_case.hpp"
#include "kernels/backends.hpp"
#include "support/registered.hpp"

namespace tulle::test {
namespace {

void add_test(const std::string& name, std::function<void()> body) {
  test::add_test("conformance", name, std::move(body));
}

void add_case(const context& ctx, const spmv_case& c) {
  add_test(c.name(), [ctx, c] { run_spmv_case(ctx, c); });
}

/// A skip must not hide a kernel: each takes at least half of the battery.
void expect_supports_half(const context& ctx, const spmv_kernel& kernel) {
  std::size_t taken = 0;
  for (const battery_matrix& m : battery()) {
    taken += supports(ctx, kernel, type_key_of<double, std::int32_t>, m).ok ? 1 : 0;
  }
  EXPECT_GE(taken, battery().size() / 2) << "of " << battery().size() << " matrices";
}

struct option_sweep {
  std::string_view option;
  std::vector<int> settings;
  int spmv_options::*member;
};

/// The options that a kernel listens to, and the values to try.
std::vector<option_sweep> sweeps(const spmv_kernel& kernel) {
  std::vector<option_sweep> out;
  const auto add = [&](bool listens, std::string_view option, std::vector<int> settings, int spmv_options::*member) {
    if (listens) out.push_back({option, std::move(settings), member});
  };
  const spmv_kernel::tunables& to = kernel.listens_to;
  add(to.block_size, "block_size", {32, 64, 96, 128, 256, 512, 1024}, &spmv_options::block_size);
  add(to.lanes, "lanes", {1, 2, 4, 8, 16, 32}, &spmv_options::lanes);
  add(to.sigma, "sigma", {1, 32, 96, 1024, 65536}, &spmv_options::sigma);
  add(to.block, "block", {2, 3, 4, 5, 6, 7, 8}, &spmv_options::block);
  return out;
}

void add_sweeps(const context& ctx, const spmv_kernel& kernel) {
  for (const option_sweep& sweep : sweeps(kernel)) {
    for (const int setting : sweep.settings) {
      for (const char* matrix : {"short_rows", "rmat", "lengths_mixed", "block3", "x_not_finite_where_untouched"}) {
        spmv_case c;
        c.kernel = &kernel;
        c.matrix = &battery_matrix_named(matrix);
        c.options_text = fmt::format("{}={}", sweep.option, setting);
        c.options.*sweep.member = setting;
        add_case(ctx, c);
      }
    }
  }
}

/// Every value type and both offset types, once each.
constexpr type_key few_types[] = {type_key_of<double, std::int32_t>, type_key_of<float, std::int64_t>,
                                  type_key_of<std::int32_t, std::int32_t>};

/// Calls add(case) for the few types and all matrices that fit them.
template <class Add>
void for_few_types(const spmv_kernel& kernel, const Add& add) {
  for (const type_key types : few_types) {
    for (const battery_matrix& m : battery()) {
      if (!contains(kernel.types, types) || (m.floating_only && types.value == scalar_type::i32)) continue;
      spmv_case c;
      c.kernel = &kernel;
      c.types = types;
      c.matrix = &m;
      add(c);
    }
  }
}

void add_many(const context& ctx, const spmv_kernel& kernel) {
  if (!kernel.has.many) return;
  for_few_types(kernel, [&](const spmv_case& c) { add_test(c.name() + "/many", [ctx, c] { run_many_case(ctx, c); }); });
}

void add_transposed(const context& ctx) {
  for (const spmv_kernel& kernel : spmv_transposed_kernels(ctx.backend())) {
    for_few_types(kernel, [&](const spmv_case& c) {
      add_test(c.name(), [ctx, c] { run_transposed_case(ctx, c); });
      const auto name = fmt::format("{}/plan.transposed/{}.{}/{}", tulle::name(ctx.backend()),
                                    tulle::name(c.types.value), tulle::name(c.types.offset), c.matrix->name);
      add_test(name, [ctx, c] { run_transposed_plan_case(ctx, c.types, *c.matrix); });
    });
  }
}

/// Quick runs take every value type and every offset type once.
bool left_out(type_key types) {
  return quick() && (types.offset == offset_type::i32) != (types.value == scalar_type::f64);
}

/// Fused dot products and Jacobi steps, on both value types.
void add_epilogues(const context& ctx, const spmv_kernel& kernel) {
  for (const type_key types : {type_key_of<double, std::int32_t>, type_key_of<float, std::int64_t>}) {
    for (const battery_matrix& m : battery()) {
      spmv_case c;
      c.kernel = &kernel;
      c.types = types;
      c.matrix = &m;
      if (kernel.has.dots) add_test(c.name() + "/dots", [ctx, c] { run_dots_case(ctx, c); });
      if (kernel.has.jacobi && m.rows == m.cols) add_test(c.name() + "/jacobi", [ctx, c] { run_jacobi_case(ctx, c); });
    }
  }
}

void add_kernel(const context& ctx, const spmv_kernel& kernel) {
  add_many(ctx, kernel);
  for (const operation_types& combination : type_combinations) {
    const type_key types{combination.value, combination.offset};
    if (!contains(kernel.types, combination) || left_out(types)) continue;
    for (const battery_matrix& m : battery()) {
      if (m.floating_only && types.value == scalar_type::i32) continue;
      spmv_case c;
      c.kernel = &kernel;
      c.types = types;
      c.matrix = &m;
      add_case(ctx, c);
    }
  }
  add_sweeps(ctx, kernel);
  add_epilogues(ctx, kernel);
  add_test(fmt::format("{}/{}/supports", name(kernel.backend), kernel.name),
           [ctx, &kernel] { expect_supports_half(ctx, kernel); });
}

void add_backend(const context& ctx) {
  for (const spmv_kernel& kernel : spmv_kernels(ctx.backend())) add_kernel(ctx, kernel);
  add_transposed(ctx);
}

void add_cuda() {
  if (cuda_device_count() == 0) {
    add_test("cuda", [] { GTEST_SKIP() << cuda_unavailable_reason(); });
    return;
  }
  const context ctx = context::cuda();
  add_backend(ctx);
  if (!quick()) add_test("cuda/past_2_31", [ctx] { run_past_2_31(ctx); });
}

}  // namespace
}  // namespace tulle::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tulle::test::add_backend(tulle::context::cpu(3));  // an odd number, so that parts are unequal
  tulle::test::add_cuda();
  return RUN_ALL_TESTS();
}
