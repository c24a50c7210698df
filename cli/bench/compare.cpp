#include "compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <tuple>

namespace tulle::cli::bench {
namespace {

struct timing {
  double median = 0;
  double stddev = 0;
};

/// The name that a benchmark has today: records up to 2026-11 call the kernel gustavson of C = A B default.
std::string name_today(std::string name) {
  constexpr std::string_view before = "spgemm/default/", today = "spgemm/gustavson/";
  return name.starts_with(before) ? name.replace(0, before.size(), today) : name;
}

std::map<std::string, timing> timings_by_name(const json& run, std::string_view which) {
  const auto require = [&](bool is_there, const std::string& what) {
    if (!is_there) throw error(status::invalid_format, fmt::format("{}: no record of tulle bench: {}", which, what));
  };
  const auto list = run.find("benchmarks");
  require(list != run.end() && list->is_array(), "there is no list of benchmarks");
  std::map<std::string, timing> timings;
  int position = 0;
  for (const json& b : *list) {
    const auto of = [&](const char* key) { return b.is_object() && b.contains(key) ? b.at(key) : json(); };
    const std::string number = fmt::format("benchmark {}", ++position);
    require(of("name").is_string(), number + " has no name");
    require(of("real_time").is_number(), number + " has no real_time, or it is no number");
    const json stddev = of("stddev");
    require(stddev.is_null() || stddev.is_number(), "the stddev of " + number + " is no number");
    timings[name_today(of("name"))] = {of("real_time").get<double>(), stddev.is_null() ? 0.0 : stddev.get<double>()};
  }
  return timings;
}

bool is_regression(const timing& before, const timing& after, double tolerance) {
  const double slower = after.median - before.median;
  const double noise = 2 * std::hypot(before.stddev, after.stddev);
  return slower > before.median * tolerance / 100 && slower > noise;
}

}  // namespace

bool comparisons::any_regression() const { return std::ranges::any_of(matched, &comparison::regression); }

comparisons compare(const json& old_run, const json& new_run, double tolerance) {
  const auto before = timings_by_name(old_run, "the old run"), after = timings_by_name(new_run, "the new run");
  comparisons result;
  for (const auto& [name, time] : before) {
    const auto match = after.find(name);
    if (match == after.end()) {
      result.only_old.push_back(name);
    } else {
      result.matched.push_back(
          {name, time.median, match->second.median, is_regression(time, match->second, tolerance)});
    }
  }
  for (const auto& [name, time] : after) {
    if (!before.contains(name)) result.only_new.push_back(name);
  }
  return result;
}

void add_comparison(page& to, const comparisons& c, double tolerance) {
  std::vector<comparison> sorted = c.matched;
  std::ranges::sort(sorted, {}, [](const comparison& m) { return std::tuple(!m.regression, m.speedup()); });
  table t({{.title = "against the old run", .wraps = true}, {"old"}, {"new"}, {"old/new"}, {.left = true}});
  for (const comparison& m : sorted) {
    t.row({m.name, human_time(m.old_time), human_time(m.new_time), fmt::format("{:.3f}", m.speedup()),
           m.regression ? "REGRESSION" : ""},
          ' ', m.regression ? look::red : look::plain);
  }
  for (const std::string& name : c.only_old) t.row({name, "", "-", "", "only in the old run"});
  for (const std::string& name : c.only_new) t.row({name, "-", "", "", "only in the new run"});
  to.line().add(t);
  const auto regressions = std::ranges::count_if(sorted, &comparison::regression);
  to.line(fmt::format("{} compared, {} slower by more than {}% and two standard deviations", sorted.size(), regressions,
                      tolerance));
}

json read_run(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw error(status::file_io, fmt::format("{}: cannot be opened: {}", file, std::strerror(errno)));
  json run = json::parse(stream, nullptr, false);
  if (run.is_discarded()) throw error(status::invalid_format, fmt::format("{}: not JSON", file));
  timings_by_name(run, file);
  return run;
}

bool is_run(const std::string& file) {
  std::ifstream stream(file);
  const json run = json::parse(stream, nullptr, false);
  const auto context = run.find("context");
  if (context == run.end() || !context->is_object()) return false;
  const auto program = context->find("executable");
  return program != context->end() && *program == "tulle bench";
}

}  // namespace tulle::cli::bench
