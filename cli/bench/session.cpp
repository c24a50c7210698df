#include "session.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tulle/io/write_file.hpp>

#include "common/matrix.hpp"
#include "compare.hpp"
#include "plot.hpp"

namespace tulle::cli::bench {
namespace {

/// Nothing but a record of an earlier run is replaced: `bench a.mtx -o *.mtx` must not cost a matrix.
const bench_options& checked(const bench_options& o) {
  if (o.plot == "-" && o.json_on_stdout())
    throw error(status::invalid_argument, "--plot - and the records both want stdout");
  if (!o.plot.empty() && o.plot != "-") check_writable(o.plot);
  const std::string& file = o.output;
  if (file.empty() || file == "-") return o;
  if (file.ends_with(".gz") || file.ends_with(".zst")) {
    throw error(status::invalid_argument, fmt::format("-o {}: records are not compressed", file));
  }
  std::error_code unknown;
  if (std::filesystem::is_regular_file(file, unknown) && std::filesystem::file_size(file, unknown) > 0 &&
      !is_run(file)) {
    throw error(
        status::file_io,
        fmt::format("{}: not overwritten: it is no record of tulle bench; remove it or name another file", file));
  }
  check_writable(file);
  return o;
}

}  // namespace

std::vector<cache_state> states_of(const bench_options& o) {
  std::vector<cache_state> states;
  if (o.cold || !(o.warm || o.latency)) states.push_back(cache_state::cold);
  if (o.warm || !o.cold) states.push_back(cache_state::warm);
  return states;
}

session::session(const bench_options& options, context on)
    : o_(checked(options)),
      before_(options.compare.empty() ? json() : read_run(options.compare)),
      ctx(std::move(on)),
      host(measure_machine(ctx, options.bandwidth)),
      clock(ctx, options.warmup, options.repeat) {
  print(headline(host) + '\n');
}

void session::show(std::string_view what) {
  if (!is_terminal(stderr)) return;
  constexpr std::size_t width = 30;
  const std::size_t filled = std::min(width, width * done_ / std::max<std::size_t>(steps_, 1));
  put_raw(stderr, fmt::format("\r\033[K[{}{}] {}/{} {}", std::string(filled, '='), std::string(width - filled, ' '),
                              done_, steps_, printable(what.substr(0, 80))));
  bar_shown_ = true;
}

void session::clear_bar() {
  if (bar_shown_) put_raw(stderr, "\r\033[K");
  bar_shown_ = false;
}

void session::print(const std::string& text) {
  clear_bar();
  std::FILE* const stream = o_.json_on_stdout() || o_.plot == "-" ? stderr : stdout;
  put_raw(stream, printable_lines(text));
  std::fflush(stream);
}

omission session::give_up(omission o, status code, const std::string& reason) {
  clear_bar();
  note(reason);
  if (code_ == ok) code_ = exit_code_of(code);
  o.reason = reason;
  return o;
}

void session::add_load(json& context) {
  const std::optional<double> others = load_.others();
  if (others) context["cores_of_others"] = *others;
  const bool gpu = ctx.backend() == backend_kind::cuda;
  if (const std::string said = overload(others, gpu ? 1 : ctx.threads(), cores()); !said.empty()) note(said);
}

int session::write(const json& document) {
  if (o_.json_on_stdout()) print_json(document);
  const bool learnt_nothing = code_ != ok && document.at("benchmarks").empty() && !document.contains("errors");
  if (!o_.output.empty() && o_.output != "-" && !learnt_nothing) {
    write_file(o_.output, document.dump(1, ' ', false, json::error_handler_t::replace) + '\n');
  }
  if (!o_.plot.empty() && !learnt_nothing) plot_record(document, o_);
  if (code_ != ok || o_.compare.empty()) return code_;
  const comparisons compared = compare(before_, document, o_.allow);
  print(comparison_table(compared, o_.allow));
  return compared.any_regression() ? slower : ok;
}

}  // namespace tulle::cli::bench
