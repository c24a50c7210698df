#include "backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tulle/core/nearest_name.hpp>

#include "command.hpp"
#include "output.hpp"

namespace tulle::cli {

namespace {

context said(context ctx) {
  if (ctx.backend() == backend_kind::cpu) {
    detail(fmt::format("on the CPU: {} threads", ctx.threads()));
  } else {
    detail(fmt::format("on a GPU: {}", ctx.info().name));
  }
  return ctx;
}

}  // namespace

context make_context(const run_options& o) {
  const int devices = o.backend == "cpu" ? 0 : cuda_device_count();
  check_device_option(o);
  if (devices == 0 && (o.device || o.backend == "cuda")) {
    const std::string asked = o.backend == "cuda" ? "--backend cuda" : fmt::format("--device {}", *o.device);
    throw device_error(status::unsupported, fmt::format("{}: {}", asked, cuda_unavailable_reason()));
  }
  if (devices == 0 && o.policy == name(spmv_policy::simple)) {
    throw error(status::invalid_argument,
                "--policy simple goes with a GPU: on the CPU there is one set of rules, the standard one");
  }
  if (devices == 0) return said(context::cpu(o.threads));
  const int device = o.device.value_or(0);
  if (device >= devices) {
    throw device_error(status::unsupported,
                       fmt::format("--device {}: devices 0 to {} can be used here", device, devices - 1));
  }
  return said(context::cuda(device));
}

std::vector<context> usable_contexts(const run_options& o) {
  check_device_option(o);
  std::vector<context> contexts;
  if (o.backend != "cuda") contexts.push_back(context::cpu(o.threads));
  if (o.backend == "cuda" || (o.backend == "auto" && cuda_device_count() > 0)) contexts.push_back(make_context(o));
  return contexts;
}

std::vector<kernel_info> kernels_of(backend_kind backend, kernel_operation operation) {
  std::vector<kernel_info> list = kernels(backend);
  const bool transposes = operation == kernel_operation::spmv_transposed;
  std::erase_if(list, [&](const kernel_info& k) {
    return k.operation != operation && !(transposes && k.operation == kernel_operation::spmv);
  });
  std::stable_partition(list.begin(), list.end(), [&](const kernel_info& k) { return k.operation == operation; });
  return list;
}

void require_kernel(backend_kind backend, kernel_operation operation, std::string_view kernel) {
  if (kernel.empty()) return;
  const std::vector<kernel_info> list = kernels_of(backend, operation);
  if (std::ranges::find(list, kernel, &kernel_info::name) != list.end()) return;
  std::vector<std::string_view> names;
  for (const kernel_info& k : list) names.push_back(k.name);
  throw error(status::invalid_argument, fmt::format("no kernel '{}' for {} on backend {}{}", kernel, name(operation),
                                                    name(backend), alternatives(kernel, names)));
}

}  // namespace tulle::cli
