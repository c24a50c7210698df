#include "suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tulle/core/status.hpp>

#include "common/backend.hpp"

namespace tulle::cli::bench {
namespace {

struct entry {
  std::string_view suite, label, spec;
};
constexpr entry entries[]{
    {"peers", "stencil27-200", "gen:stencil:points=27,n=200"},
    {"peers", "stencil7-256", "gen:stencil:points=7,n=256"},
    {"peers", "fem3-80", "gen:fem:dof=3,n=80"},
    {"peers", "stencil7-100", "gen:stencil:points=7,n=100"},
    {"peers", "fem3-20", "gen:fem:dof=3,n=20"},
    {"peers", "uniform-4M", "gen:uniform:n=4194304,degree=16"},
    {"peers", "rmat-22", "gen:rmat:scale=22,degree=16"},
    {"peers", "rmat-18", "gen:rmat:scale=18,degree=16"},
    {"peers", "short-8M", "gen:short:n=8388608"},
    {"peers", "corner-1M", "gen:corner:n=1048576,size=8192"},
    {"peers", "arrow-2M", "gen:arrow:n=2097152,dense=16"},
    {"peers-small", "stencil27-50", "gen:stencil:points=27,n=50"},
    {"peers-small", "stencil7-64", "gen:stencil:points=7,n=64"},
    {"peers-small", "fem3-19", "gen:fem:dof=3,n=19"},
    {"peers-small", "stencil7-25", "gen:stencil:points=7,n=25"},
    {"peers-small", "fem3-5", "gen:fem:dof=3,n=5"},
    {"peers-small", "uniform-64k", "gen:uniform:n=65536,degree=16"},
    {"peers-small", "rmat-16", "gen:rmat:scale=16,degree=16"},
    {"peers-small", "rmat-12", "gen:rmat:scale=12,degree=16"},
    {"peers-small", "short-128k", "gen:short:n=131072"},
    {"peers-small", "corner-16k", "gen:corner:n=16384,size=1024"},
    {"peers-small", "arrow-32k", "gen:arrow:n=32768,dense=16"},
    {"squares", "stencil7-128", "gen:stencil:points=7,n=128"},
    {"squares", "stencil27-64", "gen:stencil:points=27,n=64"},
    {"squares", "fem3-30", "gen:fem:dof=3,n=30"},
    {"squares", "uniform-1M", "gen:uniform:n=1048576,degree=8"},
    {"squares", "rmat-16", "gen:rmat:scale=16,degree=8"},
    {"squares", "short-4M", "gen:short:n=4194304"},
    {"squares-small", "stencil7-32", "gen:stencil:points=7,n=32"},
    {"squares-small", "stencil27-16", "gen:stencil:points=27,n=16"},
    {"squares-small", "fem3-8", "gen:fem:dof=3,n=8"},
    {"squares-small", "uniform-16k", "gen:uniform:n=16384,degree=8"},
    {"squares-small", "rmat-12", "gen:rmat:scale=12,degree=8"},
    {"squares-small", "short-64k", "gen:short:n=65536"},
    {"meshes", "stencil7-256", "gen:stencil:points=7,n=256"},
    {"meshes", "stencil27-200", "gen:stencil:points=27,n=200"},
    {"meshes", "stencil27-128", "gen:stencil:points=27,n=128"},
    {"meshes", "fem3-63", "gen:fem:dof=3,n=63"},
    {"meshes-small", "stencil7-128", "gen:stencil:points=7,n=128"},
    {"meshes-small", "stencil27-100", "gen:stencil:points=27,n=100"},
    {"meshes-small", "fem3-40", "gen:fem:dof=3,n=40"},
    {"meshes-small", "stencil7-56", "gen:stencil:points=7,n=56"},
    {"meshes-small", "stencil27-24", "gen:stencil:points=27,n=24"},
    {"meshes-small", "stencil7-24", "gen:stencil:points=7,n=24"},
};

}  // namespace

std::vector<case_name> suite(std::string_view name) {
  std::vector<case_name> cases;
  for (const auto& [suite, label, spec] : entries) {
    if (suite == name) cases.push_back({std::string(label), std::string(spec)});
  }
  if (!cases.empty()) return cases;
  throw error(status::invalid_argument,
              fmt::format("no suite '{}'; there are: {}", name, fmt::join(suite_names(), ", ")));
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const entry& e : entries) {
    if (names.empty() || names.back() != e.suite) names.emplace_back(e.suite);
  }
  return names;
}

std::vector<case_name> cases(const std::string& suite_name, const std::vector<std::string>& matrices) {
  std::vector<case_name> all;
  if (!suite_name.empty()) all = suite(suite_name);
  for (const std::string& m : matrices) all.push_back({"", m});
  return all;
}

std::vector<kernel_info> select_kernels(std::span<const kernel_info> kernels, std::span<const std::string> names,
                                        std::span<const std::string> chosen) {
  const auto contains = [](const auto& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
  };
  const std::array<std::string_view, 4> words{"all", "chosen", name(kernel_role::study), name(kernel_role::vendor)};
  std::vector<std::string_view> known;
  std::vector<kernel_info> selected;
  for (const kernel_info& k : kernels) {
    known.push_back(k.name);
    const bool is_chosen = contains(names, "chosen") && contains(chosen, k.name);
    if (contains(names, "all") || contains(names, k.name) || contains(names, name(k.role)) || is_chosen) {
      selected.push_back(k);
    }
  }
  for (const std::string& n : names) {
    if (n.empty()) throw error(status::invalid_argument, "--kernels: a name is empty");
    if (!contains(words, n) && !contains(known, n))
      require_kernel(kernels.front().backend, kernels.front().operation, n);
  }
  if (selected.empty() && !contains(names, "chosen")) {
    throw error(status::invalid_argument,
                fmt::format("--kernels {0}: there is no {0} kernel of {1} on backend {2}", fmt::join(names, ","),
                            name(kernels.front().operation), name(kernels.front().backend)));
  }
  return selected;
}

}  // namespace tulle::cli::bench
