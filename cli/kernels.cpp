// tulle kernels: the kernel table, and with a matrix, which of its entries can take that matrix.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <tulle/ops/spmv.hpp>

#include "common/backend.hpp"
#include "common/command.hpp"
#include "common/matrix.hpp"
#include "common/page.hpp"

namespace tulle::cli {
namespace {

constexpr std::size_t type_columns = 12;

struct settings {
  run_options run;
  std::string matrix;
};

struct kernel_line {
  kernel_info kernel;
  std::optional<std::string> refusal;  // of the matrix, where one was named; empty where the kernel takes it
};

struct kernels_result {
  std::string no_gpu = {};  // why none of the CUDA kernels that are listed for a matrix can run; empty: they can
  std::vector<kernel_line> lines;
};

std::string_view json_name(kernel_operation o) {
  switch (o) {
    case kernel_operation::spmv:
      return "spmv";
    case kernel_operation::spmv_transposed:
      return "spmv_transposed";
    case kernel_operation::spgemm:
      return "spgemm";
    case kernel_operation::sddmm:
      return "sddmm";
    case kernel_operation::cg:
      return "cg";
  }
  return "";
}

/// "f64", or "f32/f64" for f32 values under f64 vectors.
std::vector<std::string> types(const kernel_info& k) {
  std::vector<std::string> names;
  for (const operation_types& t : k.types) {
    std::string& label = names.emplace_back(name(t.value));
    if (t.vector != t.value) label += fmt::format("/{}", name(t.vector));
  }
  return names;
}

char mark_of(kernel_role r) { return r == kernel_role::production ? ' ' : r == kernel_role::study ? '-' : 'v'; }

/// Whether its values can be of a type.
bool takes(const kernel_info& k, scalar_type type) {
  return std::ranges::find(k.types, type, &operation_types::value) != k.types.end();
}

bool chosen_silently(const kernel_info& k) { return k.role == kernel_role::production; }

json to_json(const kernels_result& r) {
  json kernels = json::array();
  for (const auto& [k, refusal] : r.lines) {
    json& record = kernels.emplace_back(object(field("name", k.name), field("operation", json_name(k.operation)),
                                               field("backend", name(k.backend)), field("types", types(k)),
                                               field("summary", k.summary), field("role", name(k.role)),
                                               field("chosen_silently", chosen_silently(k))));
    if (refusal) record.update(object(field("supported", refusal->empty()), field("reason", *refusal)));
  }
  return object(field("kernels", kernels));
}

void print_text(const kernels_result& r) {
  using enum kernel_operation;
  page to(stdout);
  bool has_study = false, has_vendor = false;
  for (const kernel_operation operation : {spmv, spmv_transposed, spgemm, sddmm, cg}) {
    table t({{.title = fmt::format("{}{}", name(operation), operation == spmv_transposed ? ", from the CSR of A" : ""),
              .left = true},
             {.title = "backend", .left = true},
             {.title = "types", .left = true, .most = type_columns},
             {.title = "what it does", .wraps = true}});
    for (const auto& [k, refusal] : r.lines) {
      if (k.operation != operation) continue;
      std::string what(k.summary);
      if (refusal && *refusal == r.no_gpu && !r.no_gpu.empty()) {
        what += "; cannot run here";
      } else if (refusal && !refusal->empty()) {
        what += fmt::format("; cannot take this matrix: {}", *refusal);
      }
      t.row({std::string(k.name), std::string(name(k.backend)), fmt::format("{}", fmt::join(types(k), " ")), what},
            mark_of(k.role));
      has_study |= k.role == kernel_role::study;
      has_vendor |= k.role == kernel_role::vendor;
    }
    if (t.empty()) continue;
    if (!to.text().empty()) to.line();
    to.add(t);
  }
  if (has_study || has_vendor) to.line();
  if (has_study) to.line("- study: for comparison, used only when asked for by name");
  if (has_vendor) to.line("v vendor: a routine of a vendor's library, the same");
  if (!r.no_gpu.empty()) to.line().line(fmt::format("No CUDA kernel can run here: {}", r.no_gpu));
  to.print(stdout);
}

/// What a kernel says about the matrix that was named; without a usable GPU, that there is none.
std::string refusal(const settings& s, const kernel_info& kernel, const csr_stats& stats, scalar_type type) {
  const bool cpu = kernel.backend == backend_kind::cpu;
  if (!cpu && cuda_device_count() == 0) return cuda_unavailable_reason();
  run_options cuda = s.run;
  cuda.backend = "cuda";
  const context ctx = cpu ? context::cpu(s.run.threads) : make_context(cuda);
  return unsupported_reason(kernel, stats, type_key{type, offsets_for(stats.nnz)}, ctx.info());
}

int run(const settings& s) {
  std::optional<csr_stats> stats;
  scalar_type type = scalar_type::f64;
  if (!s.matrix.empty()) {
    const named_matrix a = load(s.matrix, s.run);
    stats = statistics(a.matrix, s.run);
    type = a.matrix.types.value;
  }
  check_device_option(s.run);
  kernels_result result;
  for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
    if (s.run.backend != "auto" && s.run.backend != name(backend)) continue;
    const std::vector<kernel_info> all = kernels(backend);
    if (all.empty() && s.run.backend == name(backend)) note("no cuda kernels: this tulle was built without CUDA");
    for (const kernel_info& k : all) {
      if (!stats) {
        if (!s.run.precision_given || takes(k, type_named(s.run.precision))) result.lines.push_back({k, {}});
      } else if (k.operation == kernel_operation::spmv || k.operation == kernel_operation::spmv_transposed) {
        // Those of C = A B take two matrices, and solvers ask for more than statistics.
        result.lines.push_back({k, refusal(s, k, *stats, type)});
        if (backend == backend_kind::cuda && cuda_device_count() == 0) result.no_gpu = cuda_unavailable_reason();
      }
    }
  }
  print(result, s.run.json);
  return ok;
}

}  // namespace

void add_kernels(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "kernels", "Every kernel there is; with a matrix, which of them take it",
                                  "f32/f64 means f32 values under f64 vectors.\n"
                                  "Examples: tulle kernels\n"
                                  "          tulle kernels gen:arrow:n=1000 --backend cpu\n"
                                  "          tulle kernels --precision c128 --json",
                                  run);
  add_matrix(command, "matrix", s.matrix);
  add_backend_options(command, s.run, "Whose kernels: auto is those of both");
  add_precision_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
