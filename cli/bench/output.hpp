// Where `tulle bench` writes to: tables, the JSON file, and the comparison with an earlier one.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>

#include "options.hpp"

namespace tulle::cli::bench {

class output {
 public:
  /// Reads what --compare names and opens what --json names before anything is measured: a name that cannot be written
  /// costs no run. Throws FILE_IO, INVALID_FORMAT.
  explicit output(const bench_options& options);

  /// To stdout, or to stderr where the JSON goes to stdout.
  void print(const std::string& text) const;
  /// Writes the document; returns `code`, or where that is 0 what the comparison gives: 1 for a run that is slower.
  int finish(const json& document, int code);

 private:
  const bench_options& o_;
  std::FILE* text_;
  json before_;
  std::ofstream file_;
};

}  // namespace tulle::cli::bench
