#include "precision_record.hpp"

#include <fmt/format.h>

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

/// Whether two records are of one plan, which was timed in several states of the cache.
bool are_of_one_plan(const precision_record& a, const precision_record& b) {
  return a.values == b.values && a.form == b.form && a.kernel == b.kernel && a.cache != b.cache;
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

std::string precision_table(std::span<const precision_record> records) {
  std::string text = fmt::format("  {:<21} {:<20} {:<19} {:<18} {:>6} {:>8}", "values", "form", "kernel", "stored",
                                 "B/nnz", "plan ms");
  std::vector<std::string> states;
  for (const precision_record& r : records) {
    if (std::ranges::find(states, r.cache) == states.end()) states.push_back(r.cache);
  }
  for (const std::string& state : states) text += fmt::format(" {:>10} {:>8}", state + " us", "over f64");
  text += fmt::format(" {:>8}\n", "error");
  for (std::size_t i = 0; i < records.size(); ++i) {
    const precision_record& r = records[i];
    if (i > 0 && are_of_one_plan(records[i - 1], r)) continue;
    text += fmt::format("  {:<21} {:<20} {:<19} {:<18} {:>6.2f} {:>8.1f}", r.values, r.form, r.kernel,
                        short_description(r.stored), r.bytes_per_nonzero(), r.plan_us / 1e3);
    for (std::size_t j = i; j < records.size() && (j == i || are_of_one_plan(r, records[j])); ++j)
      text += fmt::format(" {:>10.1f} {:>8.2f}", records[j].time.median, records[j].over_f64);
    text += fmt::format(" {:>8.2g}{}\n", r.error_ratio, r.is_right() ? "" : " WRONG");
  }
  return text;
}

}  // namespace tulle::cli::bench
