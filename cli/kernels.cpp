// tulle kernels: the kernel table, and with a matrix, which of its entries can take that matrix.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/kernel_support.hpp"
#include "kernels/backends.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string matrix;
};

/// A matrix that was named, reduced to what `supports` looks at.
struct subject {
  csr_stats stats;
  type_key types;
};

struct kernel_line {
  std::string_view name, operation, backend;
  std::vector<std::string_view> types;
  std::string_view summary;
  bool chosen_silently = true;
  std::optional<support> verdict = {};  // on the matrix, where one was named
};

struct kernels_result {
  std::vector<kernel_line> lines;
};

json to_json(const kernels_result& r) {
  json kernels = json::array();
  for (const kernel_line& k : r.lines) {
    json& record = kernels.emplace_back(
        object(field("name", k.name), field("operation", k.operation), field("backend", k.backend),
               field("types", k.types), field("summary", k.summary), field("chosen_silently", k.chosen_silently)));
    if (k.verdict) record.update(object(field("supported", k.verdict->ok), field("reason", k.verdict->reason)));
  }
  return object(field("kernels", kernels));
}

void print_text(const kernels_result& r) {
  constexpr std::array titles{std::pair{"spmv", "y = A x"},
                              std::pair{"spmv_transposed", "y = A^T x, from the CSR of A"},
                              std::pair{"spgemm", "C = A B"}};
  for (const auto& [operation, title] : titles) {
    if (std::ranges::find(r.lines, operation, &kernel_line::operation) == r.lines.end()) continue;
    fmt::print("{}:\n", title);
    for (const kernel_line& k : r.lines) {
      if (k.operation != operation) continue;
      fmt::print("{:<20} {:<5} {:<12} {}{}\n", k.name, k.backend, fmt::format("{}", fmt::join(k.types, " ")), k.summary,
                 k.chosen_silently ? "" : " (for comparison: used only when asked for by name)");
      if (k.verdict && !k.verdict->ok) fmt::print("{:<20} cannot take this matrix: {}\n", "", k.verdict->reason);
    }
  }
}

std::optional<subject> analyse(const settings& s) {
  if (s.matrix.empty()) return std::nullopt;
  return with_precision(s.run, [&]<class T>() {
    const csr<T> matrix = load<T>(s.matrix, s.run).matrix;
    return subject{statistics(context::cpu(s.run.threads), matrix.view()), plan_types<T>(matrix.nnz())};
  });
}

/// What the backend says about the matrix; without a usable GPU, that there is none.
support support_on(const spmv_kernel& kernel, const subject& a, const settings& s) {
  if (kernel.backend == backend_kind::cpu) {
    return kernel_support(kernel, a.stats, a.types, context::cpu(s.run.threads).info());
  }
  if (cuda_device_count() == 0) return {false, cuda_unavailable_reason()};
  run_options cuda = s.run;
  cuda.backend = "cuda";
  return kernel_support(kernel, a.stats, a.types, make_context(cuda).info());
}

kernel_line line_of(const auto& kernel, std::string_view operation) {
  kernel_line line{kernel.name, operation, name(kernel.backend), {}, kernel.summary};
  for (const scalar_type type : {scalar_type::f32, scalar_type::f64, scalar_type::i32}) {
    if (contains(kernel.types, type_key{type, offset_type::i32})) line.types.push_back(name(type));
  }
  line.chosen_silently = kernel.role == kernel_role::production;
  return line;
}

int run(const settings& s) {
  const std::optional<subject> a = analyse(s);
  kernels_result result;
  const auto add = [&](std::span<const spmv_kernel> table, std::string_view operation) {
    for (const spmv_kernel& k : table) {
      result.lines.push_back(line_of(k, operation));
      if (a) result.lines.back().verdict = support_on(k, *a, s);
    }
  };
  for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
    if (s.run.backend != "auto" && s.run.backend != name(backend)) continue;
    const auto table = spmv_kernels(backend);
    if (table.empty() && s.run.backend == name(backend)) note("no cuda kernels: this tulle was built without CUDA");
    add(table, "spmv");
    add(spmv_transposed_kernels(backend), "spmv_transposed");
    if (a) continue;  // those of C = A B take two matrices
    for (const spgemm_kernel& k : spgemm_kernels(backend)) {
      result.lines.push_back(line_of(k, "spgemm"));
    }
  }
  print(result, s.run.json);
  return ok;
}

}  // namespace

void add_kernels(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "kernels", "Every kernel there is; with a matrix, which of them take it",
                                  "Example: tulle kernels gen:arrow:n=1000 --backend cpu", run);
  command.add_option("matrix", s.matrix, matrix_help);
  add_backend_options(command, s.run);
  add_precision_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
