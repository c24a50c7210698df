// tulle kernels: the kernel table, and with a matrix, which of its entries can take that matrix.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/backends.hpp"
#include "report.hpp"

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

json types_of(const auto& kernel) {
  json types = json::array();
  for (const scalar_type type : {scalar_type::f32, scalar_type::f64, scalar_type::i32}) {
    if (contains(kernel.types, {type, offset_type::i32})) types.push_back(name(type));
  }
  return types;
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

bool is_chosen_silently(const spmv_kernel& kernel) { return !kernel.reference_only; }
bool is_chosen_silently(const spgemm_kernel& kernel) { return kernel.role == kernel_role::production; }

json record_of(const auto& kernel, const char* operation) {
  return {{"name", kernel.name},       {"operation", operation},    {"backend", name(kernel.backend)},
          {"types", types_of(kernel)}, {"summary", kernel.summary}, {"chosen_silently", is_chosen_silently(kernel)}};
}

json record_of(const spmv_kernel& kernel, const char* operation, const std::optional<subject>& a, const settings& s) {
  json record = record_of(kernel, operation);
  if (a) {
    const support verdict = support_on(kernel, *a, s);
    record["supported"] = verdict.ok;
    record["reason"] = verdict.reason;
  }
  return record;
}

void print_line(const json& record) {
  const auto types = fmt::format("{}", fmt::join(record["types"].get<std::vector<std::string>>(), " "));
  fmt::print("{:<20} {:<5} {:<12} {}{}\n", record["name"].get<std::string>(), record["backend"].get<std::string>(),
             types, record["summary"].get<std::string>(),
             record["chosen_silently"] ? "" : " (for comparison: never chosen silently)");
  if (record.contains("supported") && !record["supported"]) {
    fmt::print("{:<20} cannot take this matrix: {}\n", "", record["reason"].get<std::string>());
  }
}

void print_by_operation(const json& records) {
  constexpr std::array titles{std::pair{"spmv", "y = A x"},
                              std::pair{"spmv_transposed", "y = A^T x, from the CSR of A"},
                              std::pair{"spgemm", "C = A B"}};
  for (const auto& [operation, title] : titles) {
    const auto is = [&, wanted = operation](const json& record) { return record["operation"] == wanted; };
    if (std::ranges::none_of(records, is)) continue;
    fmt::print("{}:\n", title);
    for (const json& record : records) {
      if (is(record)) print_line(record);
    }
  }
}

std::optional<subject> analyse(const settings& s) {
  if (s.matrix.empty()) return std::nullopt;
  subject a;
  with_precision(s.run, [&]<class T>() {
    const csr<T> matrix = load<T>(s.matrix, s.run).matrix;
    a = {statistics(context::cpu(s.run.threads), matrix.view()), plan_types<T>(matrix.nnz())};
    return ok;
  });
  return a;
}

int run(const settings& s) {
  const std::optional<subject> a = analyse(s);
  json records = json::array();
  for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
    if (s.run.backend != "auto" && s.run.backend != name(backend)) continue;
    const auto table = spmv_kernels(backend);
    if (table.empty() && s.run.backend == name(backend)) note("no cuda kernels: this tulle was built without CUDA");
    for (const spmv_kernel& kernel : table) records.push_back(record_of(kernel, "spmv", a, s));
    for (const spmv_kernel& kernel : spmv_transposed_kernels(backend)) {
      records.push_back(record_of(kernel, "spmv_transposed", a, s));
    }
    if (a) continue;  // these take two matrices
    for (const spgemm_kernel& kernel : spgemm_kernels(backend)) {
      records.push_back(record_of(kernel, "spgemm"));
    }
  }
  if (s.run.json) {
    print_json({{"schema_version", schema_version}, {"kernels", records}});
  } else {
    print_by_operation(records);
  }
  return ok;
}

}  // namespace

void add_kernels(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("kernels", "Every kernel there is; with a matrix, which of them take it");
  const auto s = std::make_shared<settings>();
  command->add_option("matrix", s->matrix, "Matrix Market file, - or gen:NAME:...");
  add_backend_options(*command, s->run);
  add_precision_option(*command, s->run);
  add_json_option(*command, s->run);
  command->footer("Example: tulle kernels gen:arrow:n=1000 --backend cpu");
  command->callback([s, &result] { result = run(*s); });
}

}  // namespace tulle::cli
