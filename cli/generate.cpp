// tulle generate: writes a matrix made from a formula, or lists the formulas.
#include <fmt/format.h>

#include "common.hpp"
#include "write.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string spec;
  std::string output;
  bool symmetric = false;
  bool list = false;
};

void print_list(bool as_json) {
  json records = json::array();
  for (const generator_info& g : generators()) {
    if (!as_json) fmt::print("{:<10} {}\n{:<10} {}\n", g.name, g.summary, "", g.parameters);
    records.push_back({{"name", g.name}, {"parameters", g.parameters}, {"summary", g.summary}});
  }
  if (as_json) {
    print_json({{"schema_version", schema_version}, {"generators", records}});
  } else {
    fmt::print("\nEvery one takes values=random|spd|integer and seed=1.\n");
  }
}

int run(const settings& s) {
  if (s.list) {
    print_list(s.run.json);
    return ok;
  }
  if (s.spec.empty() || s.output.empty()) {
    throw error(status::invalid_argument, "generate needs SPEC and -o FILE, or --list");
  }
  const std::string spec = is_generator(s.spec) ? s.spec : "gen:" + s.spec;
  return with_precision(s.run, [&]<class T>() {
    write_matrix(s.output, load<T>(spec, s.run).matrix, s.symmetric);
    return ok;
  });
}

}  // namespace

void add_generate(CLI::App& app, int& result) {
  CLI::App* command = app.add_subcommand("generate", "Write a matrix made from a formula");
  const auto s = std::make_shared<settings>();
  command->add_option("spec", s->spec, "NAME:key=value,... with or without gen: in front");
  command->add_option("-o,--output", s->output, "File to write: .mtx, .mtx.gz or .mtx.zst; - is stdout");
  command->add_flag("--symmetric", s->symmetric, "Write the lower triangle alone; A must be symmetric");
  command->add_flag("--list", s->list, "The generators and their parameters");
  add_threads_option(*command, s->run);
  add_precision_option(*command, s->run);
  add_json_option(*command, s->run);
  command->footer("Example: tulle generate stencil:points=7,n=50 -o poisson.mtx.gz");
  command->callback([s, &result] { result = run(*s); });
}

}  // namespace tulle::cli
