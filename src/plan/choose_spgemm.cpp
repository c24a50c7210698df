#include "plan/choose_spgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tulle/core/nearest_name.hpp>
#include <vector>

#include "kernels/backends.hpp"
#include "plan/find_kernel.hpp"

namespace tulle {
namespace {

support takes(const spgemm_kernel& kernel, const spgemm_problem& problem, const device_info& device) {
  if (!contains(kernel.types, problem.a.types)) {
    return {false, fmt::format("it takes no {} values", name(problem.a.types.value))};
  }
  if (problem.mask && !kernel.takes_mask) return {false, "it takes no mask"};
  return kernel.supports(problem, device);
}

spgemm_choice take_named(std::span<const spgemm_kernel> table, const spgemm_problem& problem, const device_info& device,
                         std::string_view wanted) {
  const auto found = std::ranges::find(table, wanted, &spgemm_kernel::name);
  if (found == table.end()) {
    std::vector<std::string_view> names;
    for (const spgemm_kernel& k : table) names.push_back(k.name);
    throw error(status::invalid_argument, fmt::format("no kernel '{}' for C = A B on backend {}{}", wanted,
                                                      name(device.backend), alternatives(wanted, names)));
  }
  if (const support s = takes(*found, problem, device); !s.ok) {
    throw error(status::unsupported, fmt::format("{} cannot make this product: {}", wanted, s.reason));
  }
  return {&*found, "asked for by name"};
}

}  // namespace

spgemm_choice choose_spgemm(std::span<const spgemm_kernel> table, const spgemm_problem& problem,
                            const device_info& device, std::string_view wanted) {
  if (!wanted.empty()) return take_named(table, problem, device, wanted);
  std::string refusals;
  for (const spgemm_kernel& k : table) {
    if (k.role != kernel_role::production) continue;
    const support s = takes(k, problem, device);
    if (s.ok) return {&k, refusals.empty() ? std::string(k.summary) : "what can take this product: " + refusals};
    refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", k.name, s.reason);
  }
  throw error(status::unsupported, fmt::format("no kernel makes this product on backend {}{}{}", name(device.backend),
                                               refusals.empty() ? "" : ": ", refusals));
}

spgemm_choice choose_spgemm(const context& ctx, const spgemm_problem& problem, const std::string& option) {
  return choose_spgemm(spgemm_kernels(ctx.backend()), problem, ctx.info(),
                       requested_kernel(kernel_operation::spgemm, ctx.backend(), option));
}

}  // namespace tulle
