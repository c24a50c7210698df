#include "plan/find_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tulle/core/nearest_name.hpp>
#include <tulle/ops/spmv.hpp>
#include <vector>

#include "kernels/backends.hpp"

namespace tulle {
namespace {

bool deterministic(const spmv_kernel& k) { return k.deterministic; }
bool deterministic(const spgemm_kernel& k) { return k.role != kernel_role::vendor; }
bool deterministic(const sddmm_kernel& k) { return k.role != kernel_role::vendor; }
bool deterministic(const cg_kernel&) { return true; }

bool is_kernel_of(kernel_operation what, backend_kind backend, std::string_view name) {
  const auto named = [&](const auto& k) { return k.name == name; };
  if (what == kernel_operation::spgemm) return std::ranges::any_of(spgemm_kernels(backend), named);
  if (what == kernel_operation::sddmm) return std::ranges::any_of(sddmm_kernels(backend), named);
  if (what == kernel_operation::cg) return std::ranges::any_of(cg_kernels(backend), named);
  return std::ranges::any_of(spmv_kernels(backend), named) ||
         std::ranges::any_of(spmv_transposed_kernels(backend), named);
}

bool multiplies_vectors(kernel_operation o) {
  return o == kernel_operation::spmv || o == kernel_operation::spmv_transposed;
}

}  // namespace

const spmv_kernel* spmv_kernel_for(backend_kind backend, std::string_view wanted, const operation_types& types) {
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (k.name == wanted && contains(k.types, types)) return &k;
  }
  return nullptr;
}

const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view wanted, const operation_types& types) {
  if (const spmv_kernel* found = spmv_kernel_for(backend, wanted, types)) return *found;
  std::vector<std::string_view> names;
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (contains(k.types, types)) names.push_back(k.name);
  }
  throw error(status::invalid_argument, fmt::format("no kernel '{}' on backend {} for {}{}", wanted, name(backend),
                                                    describe(types), alternatives(wanted, names)));
}

std::string describe(const operation_types& types) {
  if (types.vector == types.value) return fmt::format("{} values", name(types.value));
  return fmt::format("{} values under {} vectors", name(types.value), name(types.vector));
}

std::string types_label(const operation_types& types) {
  const std::string vectors = types.vector == types.value ? "" : fmt::format("_{}", name(types.vector));
  return fmt::format("{}{}.{}", name(types.value), vectors, name(types.offset));
}

std::vector<kernel_info> kernels(backend_kind backend) {
  std::vector<kernel_info> all;
  const auto add = [&](const auto& table, kernel_operation operation) {
    for (const auto& k : table) {
      std::vector<operation_types> types;
      for_each_combination([&](auto line) {
        if (overlap(k.types, line.set)) types.push_back(line.with(offset_type::i32));
      });
      all.push_back({k.name, k.summary, k.backend, operation, k.role, std::move(types), deterministic(k)});
    }
  };
  add(spmv_kernels(backend), kernel_operation::spmv);
  add(spmv_transposed_kernels(backend), kernel_operation::spmv_transposed);
  add(spgemm_kernels(backend), kernel_operation::spgemm);
  add(sddmm_kernels(backend), kernel_operation::sddmm);
  add(cg_kernels(backend), kernel_operation::cg);
  return all;
}

const spmv_kernel& transposing_kernel(backend_kind backend) { return spmv_transposed_kernels(backend).front(); }

std::string unsupported_reason(const kernel_info& kernel, const csr_stats& stats, const operation_types& types,
                               const device_info& device) {
  const bool transposes = kernel.operation == kernel_operation::spmv_transposed;
  for (const spmv_kernel& k : transposes ? spmv_transposed_kernels(kernel.backend) : spmv_kernels(kernel.backend)) {
    if (k.name != kernel.name || !multiplies_vectors(kernel.operation)) continue;
    if (!contains(k.types, types)) return fmt::format("not built for {}", describe(types));
    return k.supports(stats, types.matrix(), device).reason;
  }
  throw error(status::invalid_argument, fmt::format("no kernel '{}' of {} on backend {}", kernel.name,
                                                    name(kernel.operation), name(kernel.backend)));
}

std::string requested_kernel(kernel_operation what, backend_kind backend, const std::string& option) {
  if (!option.empty()) return option;
  const char* forced = std::getenv("TULLE_KERNEL");
  if (forced == nullptr) return {};
  if (is_kernel_of(what, backend, forced)) return forced;
  using enum kernel_operation;
  const bool others = std::ranges::any_of(std::initializer_list<kernel_operation>{spmv, spgemm, sddmm, cg}, [&](kernel_operation other) {
    return other != what && is_kernel_of(other, backend, forced);
  });
  return others ? "" : forced;
}

}  // namespace tulle
