// tulle convert: from anything that can be read to a Matrix Market file.
#include <fmt/format.h>

#include "common.hpp"
#include "write.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string input;
  std::string output;
  bool symmetric = false;
};

template <scalar T>
int run(const settings& s) {
  const named_matrix<T> a = load<T>(s.input, s.run);
  if (a.info.bytes > 0) {
    note(fmt::format("read {} nonzeros, {} of text at {:.0f} MB/s", a.matrix.nnz(),
                     human_bytes(static_cast<double>(a.info.bytes)),
                     static_cast<double>(a.info.bytes) / a.info.seconds / 1e6));
  }
  write_matrix(s.output, a.matrix, s.symmetric);
  return ok;
}

}  // namespace

void add_convert(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("convert", "Read a matrix and write it as Matrix Market");
  const auto s = std::make_shared<settings>();
  command->add_option("input", s->input, "Matrix Market file, - or gen:NAME:...")->required();
  command->add_option("output", s->output, "File to write: .mtx, .mtx.gz or .mtx.zst; - is stdout")->required();
  command->add_flag("--symmetric", s->symmetric, "Write the lower triangle alone; A must be symmetric");
  add_precision_option(*command, s->run);
  add_strict_option(*command, s->run);
  add_threads_option(*command, s->run);
  command->footer("Example: tulle convert cant.mtx.gz cant.mtx.zst --symmetric");
  command->callback([s, &result] { result = with_precision(s->run, [&]<class T>() { return run<T>(*s); }); });
}

}  // namespace tulle::cli
