#include "narrowing.hpp"

#include <CLI/CLI.hpp>

namespace tulle::cli {
namespace {

constexpr error_bound bounds[] = {error_bound::componentwise, error_bound::row, error_bound::norm};

[[noreturn]] void refuse(const std::string& why) { throw error(status::invalid_argument, why); }

value_tolerance promise_of(const run_options& o) {
  const double tolerance = *o.tolerance;
  if (!(tolerance > 0 && tolerance < 1)) {
    refuse(fmt::format("--tolerance {}: must be above 0 and below 1{}", tolerance,
                       tolerance == 0 ? "; --precision f64 keeps every bit" : ""));
  }
  value_tolerance promise{tolerance, error_bound::componentwise};
  for (const error_bound b : bounds) {
    if (o.bound == name(b)) promise.bound = b;
  }
  return promise;
}

magnitude_rule rule_of(const run_options& o) {
  const double limit = o.below ? *o.below : *o.shrink;
  if (!(limit > 0 && std::isfinite(limit))) {
    refuse(fmt::format("{} {}: must be above 0 and finite", o.below ? "--below" : "--shrink", limit));
  }
  magnitude_rule rule{o.below.value_or(0), o.shrink.value_or(0)};
  rule.percent = o.percent.value_or(rule.percent);
  if (!(rule.percent > 0 && rule.percent <= 100)) {
    refuse(fmt::format("--percent {}: must be above 0 and at most 100", rule.percent));
  }
  return rule;
}

}  // namespace

void add_promise_options(CLI::App& app, run_options& o) {
  std::vector<std::string> words;
  for (const error_bound b : bounds) words.emplace_back(name(b));
  app.add_option("--tolerance", o.tolerance,
                 "Each row of A in the fewest bits whose loss keeps this share of the --bound, above 0 and below 1")
      ->group(mixed_group);
  only(app.add_option("--bound", o.bound,
                      "Of --tolerance: componentwise, of |A||x| in every row; row, of the row's sum of |a| times the "
                      "largest |x|; norm, of the largest such sum times the largest |x|"),
       words)
      ->default_str(words[0])
      ->group(mixed_group);
}

void add_rule_options(CLI::App& app, run_options& o) {
  app.add_option("--below", o.below, "Instead of --tolerance: in f32 whatever is smaller than this")
      ->group(mixed_group);
  app.add_option("--shrink", o.shrink, "The same, smaller than this times the mean of |a|")->group(mixed_group);
  app.add_option("--percent", o.percent, "Of a row's entries that --below or --shrink must find small; 99 otherwise")
      ->group(mixed_group);
}

narrowing narrowing_of(const run_options& o) {
  const int given = int{o.tolerance.has_value()} + int{o.below.has_value()} + int{o.shrink.has_value()};
  if (o.precision != "mixed") {
    const std::pair<const char*, bool> options[] = {{"--tolerance", o.tolerance.has_value()},
                                                    {"--bound", !o.bound.empty()},
                                                    {"--below", o.below.has_value()},
                                                    {"--shrink", o.shrink.has_value()},
                                                    {"--percent", o.percent.has_value()}};
    for (const auto& [option, is_given] : options) {
      if (is_given) refuse(fmt::format("{} goes with --precision mixed", option));
    }
    return {};
  }
  if (given == 0) {
    refuse("--precision mixed needs --tolerance, the error that storing values in fewer bits may bring: 1e-6, say");
  }
  if (given > 1) refuse("--tolerance, --below and --shrink exclude each other");
  if (!o.tolerance && !o.bound.empty()) refuse("--bound goes with --tolerance");
  if (o.tolerance && o.percent) refuse("--percent goes with --below or --shrink");
  if (o.tolerance) return {promise_of(o), {}};
  return {{}, rule_of(o)};
}

narrowing narrowing_of_solver(const run_options& o) {
  const bool says_nothing = !o.tolerance && o.bound.empty() && !o.below && !o.shrink && !o.percent;
  return o.precision == "mixed" && says_nothing ? narrowing{} : narrowing_of(o);
}

void narrowing::tell(spmv_options& options) const {
  options.values = values;
  options.value_rule = rule;
}

value_tolerance narrowing::promised(const any_spmv_plan& plan) const {
  return rule ? value_tolerance{plan.stored().lost, error_bound::componentwise} : values;
}

std::string narrowing::label() const {
  if (!rule) return fmt::format("{}={:.6g}", name(values.bound), values.tolerance);
  const bool below = rule->below > 0;
  return fmt::format("{}={:.6g},percent={:.6g}", below ? "below" : "shrink", below ? rule->below : rule->shrink,
                     rule->percent);
}

json to_json(const narrowing& n) {
  if (!n.rule) return object(field("tolerance", n.values.tolerance), field("bound", name(n.values.bound)));
  return object(field("below", n.rule->below), field("shrink", n.rule->shrink), field("percent", n.rule->percent));
}

json to_json(const stored_values& stored) {
  json record = json::object();
  for (const stored_share& s : stored.shares) {
    record[std::string(s.storage)] =
        object(field("rows", s.rows), field("entries", s.entries), field("bytes", s.bytes));
  }
  return record;
}

std::string describe(const stored_values& stored) {
  if (stored.shares.size() == 1) return fmt::format("all values in {}", stored.shares[0].storage);
  double rows = 0, entries = 0;
  for (const stored_share& s : stored.shares) {
    rows += static_cast<double>(s.rows);
    entries += static_cast<double>(s.entries);
  }
  std::string text;
  for (const stored_share& s : stored.shares) {
    text += fmt::format("{}{}: {:.1f}% of the rows, {:.1f}% of the entries, {}", text.empty() ? "" : "; ", s.storage,
                        1e2 * static_cast<double>(s.rows) / rows, 1e2 * static_cast<double>(s.entries) / entries,
                        human_bytes(static_cast<double>(s.bytes)));
  }
  return text;
}

}  // namespace tulle::cli
