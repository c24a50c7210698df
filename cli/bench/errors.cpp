#include "errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "common/backend.hpp"
#include "common/workload.hpp"
#include "suite.hpp"

namespace tulle::cli::bench {
namespace {

constexpr std::int64_t longest_row = std::int64_t{1} << 20;
constexpr std::int64_t most_nonzeros = std::int64_t{1} << 22;
constexpr index_t most_rows = 1024;

/// n numbers in [0.5, 1] that f32 holds exactly, or integers in [-8, 8].
template <scalar T>
std::vector<T> study_numbers(std::size_t n, std::uint64_t seed) {
  if constexpr (std::is_same_v<T, std::int32_t>) return random_vector<T>(n, seed);
  std::vector<T> numbers;
  for (const float v : random_vector<float>(n, seed)) numbers.push_back(static_cast<T>(0.75F + 0.25F * v));
  return numbers;
}

/// A dense matrix of rows of `length` entries, in CSR on the host.
template <scalar T>
csr<T, std::int32_t> study_matrix(const context& host, std::int64_t length) {
  const auto rows = static_cast<index_t>(std::clamp<std::int64_t>(most_nonzeros / length, 1, most_rows));
  const auto nnz = static_cast<std::size_t>(rows * length);
  std::vector<std::int32_t> rowptr(static_cast<std::size_t>(rows) + 1);
  std::vector<index_t> colind(nnz);
  for (std::size_t r = 0; r < rowptr.size(); ++r)
    rowptr[r] = static_cast<std::int32_t>(r * static_cast<std::size_t>(length));
  for (std::size_t k = 0; k < nnz; ++k) colind[k] = static_cast<index_t>(k % static_cast<std::size_t>(length));
  return {rows, static_cast<index_t>(length), to_buffer(host, rowptr), to_buffer(host, colind),
          to_buffer(host, study_numbers<T>(nnz, 1))};
}

/// All terms are positive, so that the bound of a row over its value is gamma(length + 2).
template <scalar T>
rounding worst_row(std::string_view kernel, std::int64_t length, const spmv_reference& exact, const std::vector<T>& y) {
  rounding worst{std::string(kernel), std::string(name(scalar_type_of<T>)), length};
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double low = exact.value_low.empty() ? 0 : exact.value_low[i], size = std::abs(exact.value[i]);
    const double difference = std::abs((static_cast<double>(y[i]) - exact.value[i]) - low);
    if (difference != 0) worst.relative_error = std::max(worst.relative_error, difference / size);
    if (exact.bound[i] != 0) worst.bound = std::max(worst.bound, exact.bound[i] / size);
  }
  worst.error_ratio = error_ratio<T>(exact, host_span<const T>(y));
  return worst;
}

template <scalar T>
void study_type(const context& ctx, std::int64_t length, std::span<const kernel_info> kernels,
                std::vector<rounding>& study) {
  const context host = context::cpu();
  const csr<T, std::int32_t> a = study_matrix<T>(host, length);
  const std::vector<T> x = study_numbers<T>(static_cast<std::size_t>(a.cols), 2);
  const spmv_reference exact = reference_spmv<T>(host, T{1}, a.view(), host_span<const T>(x), T{0}, {});
  const buffer<T> x_there = to_buffer(ctx, x);
  for (const kernel_info& kernel : kernels) {
    try {
      spmv_options options;
      options.kernel = kernel.name;
      buffer<T> y(ctx, static_cast<std::size_t>(a.rows));
      const spmv_plan<T> plan(ctx, a, options);
      plan.apply(T{1}, x_there, T{0}, y);
      study.push_back(worst_row(kernel.name, length, exact, to_vector(ctx, y)));
    } catch (const error& e) {
      if (e.code() != status::unsupported && e.code() != status::invalid_argument) throw;
    }
  }
}

}  // namespace

std::vector<rounding> study_errors(const context& ctx, const std::vector<std::string>& names) {
  std::vector<kernel_info> kernels = select_kernels(kernels_of(ctx.backend(), kernel_operation::spmv), names, {});
  constexpr auto i32 = type_key_of<std::int32_t, std::int32_t>;  // what takes it takes f32 and f64 too
  if (std::ranges::find(names, "all") != names.end()) {
    std::erase_if(kernels, [&](const kernel_info& k) { return !k.takes(i32); });
  }
  std::vector<rounding> study;
  for (std::int64_t length = 1; length <= longest_row; length *= 4) {
    study_type<std::int32_t>(ctx, length, kernels, study);
    study_type<double>(ctx, length, kernels, study);
    study_type<float>(ctx, length, kernels, study);
  }
  return study;
}

json to_json(const rounding& r) {
  return object(field("name", fmt::format("errors/{}/{}/{}", r.kernel, r.length, r.precision)),
                field("kernel", r.kernel), field("precision", r.precision), field("length", r.length),
                field("relative_error", r.relative_error), field("bound", r.bound),
                field("error_ratio", number(r.error_ratio)));
}

void add_errors(page& to, std::span<const rounding> study) {
  constexpr std::array precisions{"i32", "f64", "f32"};
  std::map<std::string, std::map<std::int64_t, std::map<std::string, const rounding*>>> kernels;
  for (const rounding& r : study) kernels[r.kernel][r.length][r.precision] = &r;
  to.line().line("Largest relative error of a row, its bound gamma(n + 2), and their ratio");
  for (const auto& [kernel, lengths] : kernels) {
    std::vector<column> columns{{kernel + ", row of"}};
    for (const std::string p : precisions) {
      columns.insert(columns.end(), {{p},
                                     {.title = p + " bound", .drop = p == "i32" ? 2 : 1},
                                     {.title = p + " ratio", .drop = p == "i32" ? 3 : 0}});
    }
    table t(std::move(columns));
    for (const auto& [length, by_type] : lengths) {
      std::vector<std::string> cells{grouped(length)};
      for (const char* p : precisions) {
        const auto r = by_type.find(p);
        if (r == by_type.end()) {
          cells.insert(cells.end(), {"-", "-", "-"});
        } else {
          cells.insert(cells.end(),
                       {fmt::format("{:.2e}", r->second->relative_error), fmt::format("{:.2e}", r->second->bound),
                        fmt::format("{:.3f}", r->second->error_ratio)});
        }
      }
      t.row(std::move(cells));
    }
    to.line().add(t);
  }
}

}  // namespace tulle::cli::bench
