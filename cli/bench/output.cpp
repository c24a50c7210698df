#include "output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "compare.hpp"

namespace tulle::cli::bench {
namespace {

/// A run that is slower than the one that --compare names.
constexpr int regression = 1;

}  // namespace

output::output(const bench_options& options) : o_(options), text_(options.json == "-" ? stderr : stdout) {
  if (!o_.compare.empty()) before_ = read_run(o_.compare);
  if (o_.json.empty() || o_.json == "-") return;
  file_.open(o_.json);
  if (!file_) {
    throw error(status::file_io, fmt::format("--json {}: cannot be written: {}", o_.json, std::strerror(errno)));
  }
}

void output::print(const std::string& text) const {
  fmt::print(text_, "{}", text);
  std::fflush(text_);
}

int output::finish(const json& document, int code) {
  if (o_.json == "-") print_json(document);
  if (file_.is_open()) {
    file_ << document.dump(1) << '\n';
    file_.close();
    if (!file_) throw error(status::file_io, fmt::format("--json {}: cannot be written", o_.json));
  }
  if (code != ok || o_.compare.empty()) return code;
  const comparisons compared = compare(before_, document, o_.tolerance);
  print(comparison_table(compared, o_.tolerance));
  return compared.any_regression() ? regression : ok;
}

}  // namespace tulle::cli::bench
