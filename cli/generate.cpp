// tulle generate: writes a matrix made from a formula, or lists the formulas.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "common/command.hpp"
#include "common/matrix.hpp"
#include "common/page.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string spec;
  std::string output;
  bool symmetric = false;
  bool list = false;
};

struct generator_list {
  std::span<const generator_info> generators;
};

void print_text(const generator_list& list) {
  constexpr std::size_t name_columns = 11;
  page to(stdout);
  for (const generator_info& g : list.generators) {
    to.line(fmt::format("{:<{}}{}", g.name, name_columns, g.summary), look::plain, name_columns);
    to.line(std::string(name_columns, ' ') + std::string(g.parameters), look::plain, 0);
  }
  to.line().line("Every one takes values=random|integer and seed=1.");
  to.line(fmt::format("values=spd makes a symmetric positive definite matrix, of {}.", takers_of_spd));
  to.print(stdout);
}

json to_json(const generator_list& list) {
  json records = json::array();
  for (const generator_info& g : list.generators) {
    records.push_back(object(field("name", g.name), field("parameters", g.parameters), field("summary", g.summary)));
  }
  return object(field("generators", records));
}

int run(const settings& s) {
  if (s.list) {
    if (!s.spec.empty() || !s.output.empty()) {
      throw error(status::invalid_argument, "--list goes with neither GENERATOR nor -o: it prints what there is");
    }
    print(generator_list{generators()}, s.run.json);
    return ok;
  }
  if (s.spec.empty() || s.output.empty()) {
    throw error(status::invalid_argument, "generate needs GENERATOR and -o FILE, or --list");
  }
  check_outputs(false, {{"--output", s.output, true}});
  const std::string spec = is_generator(s.spec) ? s.spec : "gen:" + s.spec;
  write_matrix(s.output, load(spec, s.run).matrix, s.symmetric);
  return ok;
}

}  // namespace

void add_generate(CLI::App& app, int& result) {
  auto [command, s] = add_command(app, result, "generate", "Write a matrix made from a formula",
                                  "Examples: tulle generate stencil:points=7,n=50 -o poisson.mtx.gz\n"
                                  "          tulle generate rmat:scale=12,seed=7 -o graph.mtx\n"
                                  "          tulle generate --list",
                                  run);
  command.add_option("generator", s.spec, "NAME:key=value,... with or without gen: in front")->type_name("GENERATOR");
  add_file(command, "-o,--output", s.output, output_help);
  command.add_flag("--symmetric", s.symmetric, "Write the lower triangle alone; A must be symmetric");
  command.add_flag("--list", s.list, "The generators and their parameters");
  add_threads_option(command, s.run);
  add_precision_option(command, s.run);
  add_json_option(command, s.run);
}

}  // namespace tulle::cli
