#include "compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "plot_entries.hpp"

namespace tulle::cli::bench {
namespace {

struct timing {
  double median = 0;
  std::optional<double> lower, upper;  // quartiles, where the record has them
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
    const auto quartile = [&](const char* key) {
      const json value = of(key);
      require(value.is_null() || value.is_number(), fmt::format("the {} of {} is no number", key, number));
      return value.is_null() ? std::nullopt : std::optional(value.get<double>());
    };
    timings[name_today(of("name"))] = {of("real_time"), quartile("lower_quartile"), quartile("upper_quartile")};
  }
  return timings;
}

bool is_regression(const timing& before, const timing& after, double tolerance) {
  const bool overlap = before.upper && after.lower && *after.lower <= *before.upper;
  return !overlap && after.median - before.median > before.median * tolerance / 100;
}

/// "threads: 4, now 2", or "" where both runs say the same or one does not say.
std::string change_of(const json& before, const json& after, const char* key) {
  const auto text = [&](const json& context) {
    const auto found = context.find(key);
    if (found == context.end() || found->is_null()) return std::string();
    return found->is_string() ? found->get<std::string>() : found->dump();
  };
  const std::string was = text(before), is = text(after);
  return was.empty() || is.empty() || was == is ? "" : fmt::format("{}: {}, now {}", key, was, is);
}

}  // namespace

bool comparisons::any_regression() const { return std::ranges::any_of(matched, &comparison::regression); }

comparisons compare(const json& old_run, const json& new_run, double tolerance) {
  const auto before = timings_by_name(old_run, "the old run"), after = timings_by_name(new_run, "the new run");
  comparisons result;
  for (const auto& [name, time] : before) {
    const auto match = after.find(name);
    if (match == after.end()) {
      result.only_old.push_back({name, time.median});
    } else {
      result.matched.push_back(
          {name, time.median, match->second.median, is_regression(time, match->second, tolerance)});
    }
  }
  for (const auto& [name, time] : after) {
    if (!before.contains(name)) result.only_new.push_back({name, time.median});
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
  for (const lone& l : c.only_old) t.row({l.name, human_time(l.time), "-", "-", "only in the old run"});
  for (const lone& l : c.only_new) t.row({l.name, "-", human_time(l.time), "-", "only in the new run"});
  to.line().add(t);
  const auto regressions = std::ranges::count_if(sorted, &comparison::regression);
  to.line(fmt::format("{} compared, {} slower by more than {}% with quartiles that do not overlap", sorted.size(),
                      regressions, tolerance));
}

std::string changed_context(const json& old_run, const json& new_run) {
  const json before = old_run.value("context", json::object()), after = new_run.value("context", json::object());
  if (!before.is_object() || !after.is_object()) return {};
  std::string all;
  const auto add = [&](const std::string& change) {
    if (!change.empty()) all += (all.empty() ? "" : "; ") + change;
  };
  for (const char* key : {"device", "backend", "threads"}) add(change_of(before, after, key));
  const bool was = flag_of(before, "disturbed"), is = flag_of(after, "disturbed");
  if (was != is) add(fmt::format("other processes were in the way of the {} run alone", was ? "old" : "new"));
  return all;
}

json read_run(const std::string& file) {
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(file, unknown);
  std::ifstream stream(file);
  if (is_folder || !stream) {
    throw error(status::file_io, fmt::format("{}: {}", file, std::strerror(is_folder ? EISDIR : errno)));
  }
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
