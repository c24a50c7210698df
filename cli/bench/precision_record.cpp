#include "precision_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cells.hpp"

namespace tulle::cli::bench {
namespace {

/// "f64", "f32 80%, f64 20%": of the entries.
std::string short_description(const stored_values& stored) {
  if (stored.shares.size() == 1) return std::string(stored.shares[0].storage);
  double entries = 0;
  for (const stored_share& s : stored.shares) entries += static_cast<double>(s.entries);
  std::string text;
  for (const stored_share& s : stored.shares) {
    text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", s.storage,
                        1e2 * static_cast<double>(s.entries) / std::max(entries, 1.0));
  }
  return text;
}

}  // namespace

std::string precision_record::name() const {
  return fmt::format("precision/{}/{}/{}/{}/{}", form, kernel, matrix, values, cache);
}

std::string precision_record::complaint() const {
  return fmt::format("error is {:.3g} times what is promised", error_ratio);
}

json to_json(const precision_record& r) {
  json j = common_json(r.name(), r);
  j.update(object(field("values", r.values), field("form", r.form), field("cache", r.cache),
                  field("stored", cli::to_json(r.stored)), field("lost", number(r.stored.lost)),
                  field("promised", number(r.promise.tolerance)), field("bound", tulle::name(r.promise.bound)),
                  field("parameters", r.parameters), field("reason", r.reason), field("matrix_bytes", r.matrix_bytes),
                  field("bytes_per_nonzero", r.bytes_per_nonzero()), field("moved_bytes", r.moved_bytes),
                  field("moved_gbs", r.moved_bytes / r.time.median * 1e-3), field("plan_us", r.plan_us),
                  field("over_f64", number(r.over_f64))));
  if (r.mixed.rule) j.update(cli::to_json(r.mixed));
  return j;
}

void add_precisions(page& to, const std::vector<precision_record>& records) {
  std::vector<std::pair<std::string, std::string>> kinds;  // values and cache, in the order measured
  for (const precision_record& r : records) {
    if (std::ranges::find(kinds, std::pair(r.values, r.cache)) == kinds.end()) kinds.emplace_back(r.values, r.cache);
  }
  std::string_view said;
  for (const auto& [values, cache] : kinds) {
    if (std::exchange(said, values) != values) to.line(fmt::format("  values {}:", values));
    table t({{.title = fmt::format("form, {}", cache), .left = true},
             {.title = "kernel", .left = true},
             {.title = "stored", .drop = 3, .left = true},
             {"B/nnz"},
             {"plan", 4},
             {"median"},
             {"IQR"},
             {"over f64"},
             {"error", 1}});
    for (const precision_record& r : records) {
      if (r.values != values || r.cache != cache) continue;
      t.row({r.form, r.kernel, short_description(r.stored), fmt::format("{:.2f}", r.bytes_per_nonzero()),
             human_time(r.plan_us), median_cell(r), spread_cell(r.time), fmt::format("{:.2f}", r.over_f64),
             error_cell(r.error_ratio, r.is_right())},
            ' ', r.is_right() ? look::plain : look::red);
    }
    to.add(t);
  }
  explain_disturbed(to, records);
}

}  // namespace tulle::cli::bench
