#include "session.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "compare.hpp"

namespace tulle::cli::bench {
namespace {

std::ofstream open_records(const std::string& file) {
  std::ofstream stream;
  if (file.empty() || file == "-") return stream;
  stream.open(file);
  if (!stream) throw error(status::file_io, fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
  return stream;
}

}  // namespace

session::session(const bench_options& options, context on)
    : o_(options),
      before_(options.compare.empty() ? json() : read_run(options.compare)),
      file_(open_records(options.output)),
      ctx(std::move(on)),
      host(measure_machine(ctx)),
      clock(ctx, options.warmup, options.repeat) {
  print(headline(host) + '\n');
}

void session::show(std::string_view what) {
  if (!is_terminal(stderr)) return;
  constexpr std::size_t width = 30;
  const std::size_t filled = std::min(width, width * done_ / std::max<std::size_t>(steps_, 1));
  fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}", std::string(filled, '='), std::string(width - filled, ' '), done_,
             steps_, what.substr(0, 80));
  std::fflush(stderr);
  bar_shown_ = true;
}

void session::clear_bar() {
  if (bar_shown_) fmt::print(stderr, "\r\033[K");
  bar_shown_ = false;
  std::fflush(stderr);
}

void session::print(const std::string& text) {
  clear_bar();
  std::FILE* const stream = o_.json_on_stdout() ? stderr : stdout;
  fmt::print(stream, "{}", text);
  std::fflush(stream);
}

omission session::give_up(omission o, status code, const std::string& reason) {
  clear_bar();
  note(reason);
  if (code_ == ok) code_ = exit_code_of(code);
  o.reason = reason;
  return o;
}

int session::write(const json& document) {
  if (o_.json_on_stdout()) print_json(document);
  if (file_.is_open()) {
    file_ << document.dump(1) << '\n';
    file_.close();
    if (!file_) throw error(status::file_io, fmt::format("{}: cannot be written", o_.output));
  }
  if (code_ != ok || o_.compare.empty()) return code_;
  const comparisons compared = compare(before_, document, o_.tolerance);
  print(comparison_table(compared, o_.tolerance));
  return compared.any_regression() ? slower : ok;
}

}  // namespace tulle::cli::bench
