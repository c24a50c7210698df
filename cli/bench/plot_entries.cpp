#include "plot_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace tulle::cli::bench {

double number_of(const json& b, const char* key, const char* otherwise) {
  const auto found = b.find(key);
  if (found != b.end() && found->is_number()) return found->get<double>();
  return otherwise == nullptr ? 0 : number_of(b, otherwise);
}

std::string text_of(const json& b, const char* key) {
  const auto found = b.find(key);
  return found != b.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag_of(const json& b, const char* key) {
  const auto found = b.find(key);
  return found != b.end() && found->is_boolean() && found->get<bool>();
}

namespace {

/// What follows "spmv/csr.merge/cant/f64/" in a name.
std::string rest_of(const std::string& name, const entry& e) {
  const std::string before = fmt::format("{}/{}/{}/{}/", e.operation, e.kernel, e.matrix, e.precision);
  if (!name.starts_with(before)) return {};
  std::string rest = name.substr(before.size());
  for (std::size_t at = 0; (at = rest.find('/', at)) != std::string::npos; at += 2) rest.replace(at, 1, ", ");
  return rest;
}

/// Nothing where a benchmark has no bytes per second, as those of --precision-study, or no matrix.
std::optional<entry> entry_of(const json& b) {
  entry e;
  const std::string name = b.at("name");
  e.operation = name.substr(0, name.find('/'));
  e.kernel = text_of(b, "kernel");
  e.matrix = text_of(b, "matrix");
  e.precision = text_of(b, "precision");
  e.cache = text_of(b, "cache");
  e.rest = rest_of(name, e);
  e.chosen = flag_of(b, "chosen");
  e.vendor = flag_of(b, "vendor");
  e.median = number_of(b, "real_time");
  const double deviation = number_of(b, "stddev"), least = std::min(e.median, number_of(b, "min", "real_time"));
  e.soon = number_of(b, "lower_quartile");
  e.late = number_of(b, "upper_quartile");
  e.quartiles = e.soon > 0 && e.late >= e.soon;
  if (!e.quartiles) std::tie(e.soon, e.late) = std::pair(std::max(e.median - deviation, least), e.median + deviation);
  e.gbs = number_of(b, "gbs");
  e.gflops = number_of(b, "gflops");
  const double units = number_of(b, "products", "nnz");
  e.bytes_each = units > 0 ? number_of(b, "compulsory_bytes", "model_bytes") / units : 0;
  const bool complete = !e.kernel.empty() && !e.matrix.empty() && e.median > 0 && e.soon > 0 && e.gbs > 0;
  return complete ? std::optional(e) : std::nullopt;
}

bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

bool has_kernel(const bench_options& o, const entry& e) {
  return std::ranges::any_of(o.kernels, [&](const std::string& word) {
    return word == "all" || word == e.kernel || (word == "chosen" && e.chosen) || (word == "vendor" && e.vendor);
  });
}

}  // namespace

std::vector<entry> entries_of(const json& document, const bench_options& o) {
  std::vector<entry> all;
  for (const json& b : document.at("benchmarks")) {
    if (std::optional<entry> e = entry_of(b)) all.push_back(std::move(*e));
  }
  const bool cold = !o.warm && std::ranges::any_of(all, [](const entry& e) { return e.cache == "cold"; });
  const auto is_left = [&](const entry& e) {
    const bool of_from = o.from.empty() || (is_named(o.matrices, e.matrix) && has_kernel(o, e) &&
                                            is_named(o.plot_precisions, e.precision));
    return of_from && (e.cache.empty() || (cold ? e.cache == "cold" : !o.warm || e.cache == "warm"));
  };
  std::erase_if(all, [&](const entry& e) { return !is_left(e); });
  return all;
}

}  // namespace tulle::cli::bench
