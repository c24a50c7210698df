// tulle convert: from anything that can be read to a Matrix Market file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "common/command.hpp"
#include "common/matrix.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string input;
  std::string output;
  bool symmetric = false;
};

int run(const settings& s) {
  check_outputs(false, {{"--output", s.output, true}});
  const named_matrix a = load(s.input, s.run);
  if (a.info.bytes > 0) {
    note(fmt::format("read {}, {} of text at {}", counted(a.matrix.nnz, "nonzero"),
                     human_bytes(static_cast<double>(a.info.bytes)), human_rate(1e6 * read_rate(a.info))));
  }
  write_matrix(s.output, a.matrix, s.symmetric, a.info.field);
  return ok;
}

}  // namespace

void add_convert(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "convert", "Read a matrix and write it as Matrix Market",
                                  "The name says how FILE is compressed: .mtx, .mtx.gz, .mtx.xz or .mtx.zst.\n"
                                  "Examples: tulle convert cant.mtx.gz -o cant.mtx.zst --symmetric\n"
                                  "          tulle convert - -o a.mtx.gz < a.mtx\n"
                                  "          tulle convert a.mtx -o - --precision f32 | head",
                                  run);
  add_matrix(command, "matrix", s.input)->required();
  add_file(command, "-o,--output", s.output, output_help)->required();
  command.add_flag("--symmetric", s.symmetric, "Write the lower triangle alone; A must be symmetric");
  add_precision_option(command, s.run);
  add_strict_option(command, s.run);
  add_threads_option(command, s.run);
}

}  // namespace tulle::cli
