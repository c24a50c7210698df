#include "session.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tulle/io/write_file.hpp>

#include "compare.hpp"
#include "plot.hpp"

namespace tulle::cli::bench {
namespace {

/// Refuses a name by which others would take the file for what it is not: "run.txt", "run.json.gz".
void check_record_name(const std::filesystem::path& file) {
  std::error_code unknown;
  if (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown)) return;
  const std::filesystem::path kind = file.extension();
  if (kind.empty() || kind == ".json") return;
  std::filesystem::path right = file;
  while (right.has_extension()) right.replace_extension();
  throw error(status::invalid_argument, fmt::format("-o {}: records are written as .json; did you mean '{}.json'?",
                                                    file.string(), right.string()));
}

/// Nothing but a record of an earlier run is replaced: `bench a.mtx -o *.mtx` must not cost a matrix.
const bench_options& checked(const bench_options& o) {
  if (o.plot == "-" && o.json_on_stdout()) {
    throw error(status::invalid_argument, "--plot - and the records both want stdout");
  }
  if (!o.plot.empty() && o.plot != "-") check_writable(o.plot);
  const std::string& file = o.output;
  if (file.empty() || file == "-") return o;
  std::error_code unknown;
  if (std::filesystem::is_regular_file(file, unknown) && std::filesystem::file_size(file, unknown) > 0 &&
      !is_run(file)) {
    throw error(
        status::file_io,
        fmt::format("{}: not overwritten: it is no record of tulle bench; remove it or name another file", file));
  }
  check_record_name(file);
  check_writable(file);
  return o;
}

/// A matrix that is not there costs no measurement of the others.
const bench_options& checked_inputs(const bench_options& o) {
  std::vector<std::string> specs;
  for (const case_name& c : cases(o.suite, o.matrices)) specs.push_back(c.spec);
  check_inputs(specs);
  return o;
}

machine measured(progress_bar& bar, const context& ctx, const bench_options& o) {
  bar.step(o.bandwidth ? "the machine: bandwidth of its memory" : "the machine");
  machine m = measure_machine(ctx, o.bandwidth);
  bar.clear();
  return m;
}

}  // namespace

std::vector<cache_state> states_of(const bench_options& o) {
  std::vector<cache_state> states;
  if (o.cold || !(o.warm || o.latency)) states.push_back(cache_state::cold);
  if (o.warm || !o.cold) states.push_back(cache_state::warm);
  return states;
}

session::session(const bench_options& options, context on)
    : o_(checked_inputs(checked(options))),
      before_(options.compare.empty() ? json() : read_run(options.compare)),
      stream_(options.json_on_stdout() || options.plot == "-" ? stderr : stdout),
      page_(stream_),
      ctx(std::move(on)),
      host(measured(bar, ctx, options)),
      clock(ctx, options.warmup, options.repeat) {
  clock.on_share([this](double share) { bar.within(share); });
  print([&](page& to) {
    to.line(headline(host));
    if (cases(o_.suite, o_.matrices).empty()) return;
    to.line(fmt::format("Medians of {}{} after {} to warm up; IQR: from quartile to quartile, in % of the median",
                        o_.operation == "spmv" ? "" : "up to ", counted(o_.repeat, "run"), o_.warmup));
  });
}

omission session::give_up(omission o, status code, const std::string& reason) {
  bar.clear();
  complain(reason);
  if (code_ == ok) code_ = exit_code_of(code);
  o.reason = reason;
  return o;
}

void session::add_load(json& context) {
  const std::optional<double> others = load_.others();
  if (others) context["cores_of_others"] = *others;
  context["disturbed"] = is_overloaded(others, threads_that_count(ctx), cores());
  if (const std::string said = overload(others, threads_that_count(ctx), cores()); !said.empty()) note(said);
}

int session::write(const json& document) {
  if (o_.json_on_stdout()) print_json(document);
  const bool learnt_nothing = code_ != ok && document.at("benchmarks").empty() && !document.contains("errors");
  if (!o_.output.empty() && o_.output != "-" && !learnt_nothing) {
    write_file(o_.output, document.dump(1, ' ', false, json::error_handler_t::replace) + '\n');
  }
  if (!o_.plot.empty() && !learnt_nothing) plot_record(document, o_);
  if (code_ != ok || o_.compare.empty()) return code_;
  return compare_with_before(document);
}

int session::compare_with_before(const json& document) {
  const comparisons compared = compare(before_, document, o_.allow);
  print([&](page& to) { add_comparison(to, compared, o_.allow); });
  if (compared.matched.empty()) {
    const bool has_file = !o_.output.empty() && o_.output != "-";
    complain(fmt::format("--compare {}: it has no benchmark in common with {}", o_.compare,
                         has_file ? o_.output : "this run"));
    return invalid_input;
  }
  if (const std::string changed = changed_context(before_, document); !changed.empty()) {
    note(fmt::format("--compare {}: {}", o_.compare, changed));
  }
  return compared.any_regression() ? slower : ok;
}

}  // namespace tulle::cli::bench
