#include "plan/find_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/backends.hpp"

namespace tulle {
namespace {

bool is_kernel_of(kernel_operation what, backend_kind backend, std::string_view name) {
  const auto named = [&](const auto& k) { return k.name == name; };
  if (what == kernel_operation::spgemm) return std::ranges::any_of(spgemm_kernels(backend), named);
  return std::ranges::any_of(spmv_kernels(backend), named) ||
         std::ranges::any_of(spmv_transposed_kernels(backend), named);
}

}  // namespace

const spmv_kernel& find_spmv_kernel(backend_kind backend, std::string_view wanted, type_key types) {
  std::vector<std::string_view> names;
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (!contains(k.types, types)) continue;
    if (k.name == wanted) return k;
    names.push_back(k.name);
  }
  throw error(status::invalid_argument, fmt::format("no kernel '{}' on backend {} for {} values; there are: {}", wanted,
                                                    name(backend), name(types.value), fmt::join(names, ", ")));
}

const spmv_kernel& transposing_kernel(backend_kind backend) { return spmv_transposed_kernels(backend).front(); }

std::string requested_kernel(kernel_operation what, backend_kind backend, const std::string& option) {
  if (!option.empty()) return option;
  const char* forced = std::getenv("TULLE_KERNEL");
  if (forced == nullptr) return {};
  const auto other = what == kernel_operation::spmv ? kernel_operation::spgemm : kernel_operation::spmv;
  const bool is_others = is_kernel_of(other, backend, forced) && !is_kernel_of(what, backend, forced);
  return is_others ? "" : forced;
}

}  // namespace tulle
