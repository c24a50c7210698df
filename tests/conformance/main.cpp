// Registers one test per kernel, combination of types and matrix, for every backend that is built.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "conformance/sddmm_case.hpp"
#include "conformance/spmv_case.hpp"
#include "kernels/backends.hpp"
#include "plan/choose_spmv.hpp"
#include "plan/find_kernel.hpp"
#include "support/registered.hpp"
#include "support/typed_matrix.hpp"

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
  const auto is_taken = [&](const battery_matrix& m) {
    const typed_matrix<double, std::int32_t> a(ctx, m);
    return kernel.supports(statistics(ctx, a.device()), type_key_of<double, std::int32_t>, ctx.info()).ok;
  };
  EXPECT_GE(std::ranges::count_if(battery(), is_taken), std::ssize(battery()) / 2);
}

/// Several right-hand sides; fused dot products and Jacobi steps, on floating-point types.
void add_passes(const context& ctx, const spmv_case& c) {
  const spmv_kernel& kernel = *c.kernel;
  if (kernel.has.many) add_test(c.name() + "/many", [ctx, c] { run_many_case(ctx, c); });
  if (c.types.vector == scalar_type::i32) return;
  if (kernel.has.dots) add_test(c.name() + "/dots", [ctx, c] { run_dots_case(ctx, c); });
  const bool square = c.matrix->rows == c.matrix->cols;
  if (kernel.has.jacobi && square) add_test(c.name() + "/jacobi", [ctx, c] { run_jacobi_case(ctx, c); });
}

/// Values of the options that the kernel listens to; all passes of those that change what is stored.
void add_sweeps(const context& ctx, const spmv_kernel& kernel) {
  const auto sweep = [&](bool listens, std::string_view option, std::initializer_list<int> settings,
                         int spmv_options::*member) {
    if (!listens) return;
    for (const int setting : settings) {
      for (const char* matrix : {"short_rows", "rmat", "lengths_mixed", "block3", "x_not_finite_where_untouched"}) {
        spmv_case c{.kernel = &kernel, .matrix = &battery_matrix_named(matrix)};
        c.options_text = fmt::format("{}={}", option, setting);
        c.options.*member = setting;
        add_case(ctx, c);
        if (member == &spmv_options::block) add_passes(ctx, c);
      }
    }
  };
  const spmv_kernel::tunables& to = kernel.listens_to;
  sweep(to.block_size, "block_size", {32, 64, 96, 128, 256, 512, 1024}, &spmv_options::block_size);
  sweep(to.lanes, "lanes", {1, 2, 4, 8, 16, 32}, &spmv_options::lanes);
  sweep(to.sigma, "sigma", {1, 32, 96, 1024, 65536}, &spmv_options::sigma);
  sweep(to.block, "block", {2, 3, 4, 5, 6, 7, 8}, &spmv_options::block);
}

/// Calls add(case) for the combinations of types that a kernel is built for and all matrices that fit them; `few`: each
/// combination with one width of offsets.
template <class Add>
void for_types(const spmv_kernel& kernel, bool few, const Add& add) {
  for_each_combination([&](auto line) {
    if (!overlap(kernel.types, line.set) || !overlap(every_type, line.set)) return;  // the further types: tests/further
    for (const offset_type offset : {offset_type::i32, offset_type::i64}) {
      const operation_types types = line.with(offset);
      if (few && (offset == offset_type::i64) != (types.value == scalar_type::f32)) continue;
      for (const battery_matrix& m : battery()) {
        if (m.floating_only && types.value == scalar_type::i32) continue;
        add(spmv_case{&kernel, types, &m, {.vector_type = types.vector}});
      }
    }
  });
}

/// Rules of size, from those that no value passes to those that all do.
void add_rules(const context& ctx, const spmv_kernel& kernel) {
  if (!kernel.listens_to.values) return;
  for (const magnitude_rule rule : {magnitude_rule{.below = 1e-30}, {.below = 0.5, .percent = 40}, {.below = 1e300},
                                    {.shrink = 1, .percent = 50}, {.shrink = 2}}) {
    for (const char* matrix : {"lengths_mixed", "rmat", "nan_and_inf", "values_of_all_sizes", "0x7"}) {
      spmv_case c{.kernel = &kernel, .matrix = &battery_matrix_named(matrix)};
      c.options.value_rule = rule;
      c.options_text = fmt::format("below={},shrink={},percent={}", rule.below, rule.shrink, rule.percent);
      add_test(c.name(), [ctx, c] { run_promise_case(ctx, c); });
    }
  }
}

/// Promises of every kind, from those that no value keeps to those that two bytes do.
void add_promises(const context& ctx, const spmv_kernel& kernel) {
  if (!kernel.listens_to.values) return;
  for (const error_bound bound : {error_bound::componentwise, error_bound::row, error_bound::norm}) {
    for (const double tolerance : {1e-12, 3e-8, 1e-6, 1e-3, 0.01}) {
      for (const char* matrix : {"lengths_mixed", "rmat", "stencil27", "row_of_100k", "nan_and_inf",
                                 "values_of_all_sizes", "values_of_bf16", "0x7"}) {
        for (const offset_type offset : {offset_type::i32, offset_type::i64}) {
          spmv_case c{
              .kernel = &kernel, .types = type_key{scalar_type::f64, offset}, .matrix = &battery_matrix_named(matrix)};
          c.options.values = {tolerance, bound};
          c.options_text = fmt::format("{}={}", name(bound), tolerance);
          add_test(c.name(), [ctx, c] { run_promise_case(ctx, c); });
        }
      }
    }
  }
}

void add_high_words(const context& ctx, const spmv_kernel& kernel) {
  if (!kernel.listens_to.high_words) return;
  for_types(kernel, true, [&](spmv_case c) {
    if (c.types.value != scalar_type::f64) return;
    c.options_text = "high_words";
    add_test(c.name(), [ctx, c] { run_high_words_case(ctx, c); });
    c.options.high_words = true;
    add_passes(ctx, c);
  });
}

void add_transposed(const context& ctx) {
  for (const spmv_kernel& kernel : spmv_transposed_kernels(ctx.backend())) {
    for_types(kernel, true, [&](const spmv_case& c) {
      add_test(c.name(), [ctx, c] { run_transposed_case(ctx, c); });
      const auto name =
          fmt::format("{}/plan.transposed/{}/{}", tulle::name(ctx.backend()), types_label(c.types), c.matrix->name);
      add_test(name, [ctx, c] { run_transposed_plan_case(ctx, c.types.matrix(), *c.matrix); });
    });
  }
}

void add_kernel(const context& ctx, const spmv_kernel& kernel) {
  for_types(kernel, quick(), [&](const spmv_case& c) { add_case(ctx, c); });
  add_sweeps(ctx, kernel);
  add_promises(ctx, kernel);
  add_rules(ctx, kernel);
  add_high_words(ctx, kernel);
  for_types(kernel, true, [&](const spmv_case& c) { add_passes(ctx, c); });
  for_types(kernel, true, [&](spmv_case c) {
    const bool every_type = kernel.name == kernel_without_set_up(kernel.backend) || kernel.name == "packed";
    if (!every_type && c.types != operation_types(type_key_of<double, std::int32_t>)) return;
    add_test(c.name() + "/order", [ctx, c] { run_order_case(ctx, c); });
    c.reordered = true;
    add_case(ctx, c);
    add_passes(ctx, c);
  });
  add_test(fmt::format("{}/{}/supports", name(kernel.backend), kernel.name),
           [ctx, &kernel] { expect_supports_half(ctx, kernel); });
}

void add_sddmm(const context& ctx) {
  for (const sddmm_kernel& kernel : sddmm_kernels(ctx.backend())) {
    for (const scalar_type value : {scalar_type::f64, scalar_type::f32}) {
      for (const offset_type offset : {offset_type::i32, offset_type::i64}) {
        for (const battery_matrix& m : battery()) {
          const sddmm_case c{&kernel, {value, offset}, &m};
          add_test(c.name(), [ctx, c] { run_sddmm_case(ctx, c); });
        }
      }
    }
  }
}

void add_backend(const context& ctx) {
  for (const spmv_kernel& kernel : spmv_kernels(ctx.backend())) add_kernel(ctx, kernel);
  add_transposed(ctx);
  add_sddmm(ctx);
}

void add_past_2_31(const context& ctx) {
  add_test("cuda/past_2_31", [ctx] { run_past_2_31(ctx); });
}

}  // namespace
}  // namespace tulle::test

int main(int argc, char** argv) {
  using namespace tulle::test;
  return run_registered(argc, argv, "conformance", add_backend, add_past_2_31);
}
