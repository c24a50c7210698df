// Registers one test per SpGEMM kernel, product and combination of types, for every backend that is built.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backends.hpp"
#include "spgemm/spgemm_case.hpp"
#include "support/registered.hpp"

namespace tulle::test {
namespace {

constexpr type_key all_types[] = {type_key_of<double, std::int32_t>, type_key_of<double, std::int64_t>,
                                  type_key_of<float, std::int32_t>, type_key_of<float, std::int64_t>};

void add(const std::string& name, std::function<void()> body) { add_test("spgemm", name, std::move(body)); }

const std::vector<product_recipe>& recipes() {
  static const std::vector<product_recipe> all = [] {
    std::vector<product_recipe> made;
    add_shape_products(made);
    add_value_products(made);
    add_boundary_products(made);
    add_cpu_products(made);
    if (quick()) std::erase_if(made, [](const product_recipe& r) { return !r.quick; });
    return made;
  }();
  return all;
}

/// f(recipe) for those of the names that the kernel takes.
template <class F>
void for_recipes(const spgemm_kernel& kernel, std::initializer_list<std::string_view> names, F f) {
  for (const product_recipe& recipe : recipes()) {
    if (std::ranges::find(names, recipe.name) == names.end()) continue;
    if (!recipe.cpu_only || kernel.backend == backend_kind::cpu) f(recipe);
  }
}

/// Quick runs, the boundaries of classes and kernel0 take every value type and every offset type once.
bool left_out(type_key types, const spgemm_kernel& kernel, const product_recipe& recipe) {
  if (recipe.cpu_only && kernel.backend != backend_kind::cpu) return true;
  const bool slow = recipe.name == "wide_spans_among_700" || recipe.name == "hubs_beside_scattered_300" ||
                    recipe.name == "hubs_beside_scattered_900" || recipe.name == "hubs_beside_few_columns";
  if (slow && kernel.role == kernel_role::study) return true;  // and boundaries of other kernels
  const bool has_buckets = kernel.backend == backend_kind::cuda && kernel.role != kernel_role::study;
  if (recipe.name.starts_with("scattered_products") && !has_buckets) return true;  // slow, and nobody else's boundary
  const bool few = quick() || recipe.boundary || kernel.role == kernel_role::study;
  return few && (types.offset == offset_type::i32) != (types.value == scalar_type::f64);
}

void add_case(const context& ctx, const spgemm_case& c) {
  add(c.name(), [ctx, c] { run_spgemm_case(ctx, c); });
}

/// The sizes of kernel0's accumulator: one column, parts of a word of hits, words, and more than there are columns.
void add_tile_sizes(const context& ctx, const spgemm_kernel& kernel) {
  for_recipes(kernel, {"holes", "full", "dense_row_in_a"}, [&](const product_recipe& recipe) {
    for (const index_t tile_size : {1, 31, 32, 33, 100, 1 << 30}) {
      if (tile_size == 1 && recipe.name == "dense_row_in_a") continue;  // slow
      add_case(ctx, {&kernel, type_key_of<double, std::int32_t>, recipe, tile_size});
    }
  });
}

void add_faults(const context& ctx, const spgemm_kernel& kernel) {
  for_recipes(kernel, {"rmat", "stencil27", "dense_row_in_both", "entries_in_words", "wide_rows"},
              [&](const product_recipe& recipe) {
                const spgemm_case c{&kernel, type_key_of<double, std::int32_t>, recipe};
                add(c.name() + "/allocation_faults", [ctx, c] { run_allocation_faults(ctx, c, false); });
                if (!kernel.takes_mask) return;
                add(c.name() + "/masked_allocation_faults", [ctx, c] { run_allocation_faults(ctx, c, true); });
              });
}

/// As many columns as the words of the GPU's hashed rows may have, a word more, and all.
void add_far_columns(const context& ctx, const spgemm_kernel& kernel) {
  for_recipes(kernel, {"entries_in_words"}, [&](const product_recipe& recipe) {
    for (const index_t cols : {(1 << 28) - 32, 1 << 28, std::numeric_limits<index_t>::max()}) {
      add(fmt::format("{}.{}/{}/to_column_{}", name(ctx.backend()), kernel.name, recipe.name, cols),
          [ctx, &kernel, recipe, cols] { run_far_columns(ctx, kernel, recipe.make(), cols); });
    }
  });
}

void add_kernel(const context& ctx, const spgemm_kernel& kernel) {
  for (const type_key types : all_types) {
    for (const product_recipe& recipe : recipes()) {
      // kernel0 makes every row alike: of other kernels' boundaries its product is looked at, as their reference.
      const bool brief = recipe.boundary && kernel.role == kernel_role::study;
      if (!left_out(types, kernel, recipe)) add_case(ctx, {&kernel, types, recipe, 0, brief});
    }
  }
  if (kernel.role == kernel_role::study) add_tile_sizes(ctx, kernel);
  add_faults(ctx, kernel);
  if (kernel.role == kernel_role::production) add_far_columns(ctx, kernel);
  if (quick()) return;
  for (const product_recipe& recipe : shared_products()) {
    add_case(ctx, {&kernel, type_key_of<double, std::int32_t>, recipe, 0, true});
  }
}

void add_backend(const context& ctx) {
  for (const spgemm_kernel& kernel : spgemm_kernels(ctx.backend())) add_kernel(ctx, kernel);
  if (shared_products().empty()) {
    add(fmt::format("{}.shared", name(ctx.backend())), [] {
      GTEST_SKIP() << "no catalogue of matrices beside the source tree (" TULLE_SHARED_DIR
                      "; TULLE_SHARED names another place)";
    });
  }
}

void add_past_2_31(const context& ctx) {
  add("cuda.plan/past_2_31/nnz", [ctx] { run_plan_past_2_31(ctx); });
  for (const spgemm_kernel& kernel : spgemm_kernels(backend_kind::cuda)) {
    const std::string prefix = fmt::format("cuda.{}/past_2_31/", kernel.name);
    add(prefix + "products", [ctx, &kernel] { run_products_past_2_31(ctx, kernel); });
    add(prefix + "products_of_a_row", [ctx, &kernel] { run_row_past_2_31(ctx, kernel); });
    add(prefix + "nnz", [ctx, &kernel] { run_nnz_past_2_31(ctx, kernel); });
  }
}

}  // namespace
}  // namespace tulle::test

int main(int argc, char** argv) {
  using namespace tulle::test;
  return run_registered(argc, argv, "spgemm", add_backend, add_past_2_31);
}
