#include "plan/find_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/backends.hpp"

namespace tulle {

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

const spmv_kernel& kernel_without_set_up(backend_kind backend) {
  const auto table = spmv_kernels(backend);
  for (const std::string_view wanted : {"csr.stream", "csr.merge", "csr.balanced"}) {
    const auto found = std::ranges::find(table, wanted, &spmv_kernel::name);
    if (found != table.end()) return *found;
  }
  throw error(status::unsupported, fmt::format("no kernels on backend {}", name(backend)));
}

bool needs_statistics(const spmv_kernel& kernel) {
  constexpr std::array in_place{"csr.serial", "csr.rows",        "csr.balanced", "csr.thread", "csr.value",
                                "csr.warp",   "csr.warp_shared", "csr.merge",    "csr.stream"};
  return std::ranges::find(in_place, kernel.name) == in_place.end();
}

}  // namespace tulle
