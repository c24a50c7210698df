// tulle spy: a picture of the pattern of a matrix.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "common/command.hpp"
#include "common/ordering.hpp"
#include "plot/pattern.hpp"
#include "plot/picture.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string matrix, other;
  std::string output;
  int size = 800;
  bool compare = false;
  std::string method;  // of --compare; empty: rcm
};

/// The same matrix in another order.
plot::titled_matrix reordered(const settings& s, const named_matrix& a) {
  const std::string method = s.method.empty() ? "rcm" : s.method;
  return {fmt::format("{} by {}", a.name, method), in_order(context::cpu(s.run.threads), a.matrix, method).matrix};
}

int run(const settings& s) {
  if (!s.compare && !s.method.empty()) throw error(status::invalid_argument, "--method goes with --compare");
  if (s.compare && !s.other.empty()) {
    throw error(status::invalid_argument, "--compare draws one matrix in two orders, and two matrices were given");
  }
  plot::check_picture("-o", s.output);
  check_outputs(false, {{"-o", s.output}});
  const named_matrix a = load(s.matrix, s.run);
  std::vector<plot::titled_matrix> panels{{a.name, a.matrix}};
  if (s.compare) panels.push_back(reordered(s, a));
  if (!s.other.empty()) {
    const named_matrix b = load(s.other, s.run);
    panels.push_back({b.name, b.matrix});
  }
  const plot::density drawn = plot::draw_patterns(s.output, panels, s.size).front();
  if (s.output == "-") return ok;
  note(fmt::format("wrote {}: {} x {} cells of a {} x {} matrix with {}", s.output, grouped(drawn.rows.cells),
                   grouped(drawn.cols.cells), grouped(a.matrix.rows), grouped(a.matrix.cols),
                   counted(a.matrix.nnz, "nonzero")));
  return ok;
}

}  // namespace

void add_spy(CLI::App& app, int& result) {
  auto [command, s] = add_command(
      app, result, "spy", "A picture of the pattern of a matrix",
      "Rows and columns are numbered from 0. A cell stands for as many rows as columns, unless the matrix is "
      "longer than 20 to 1, which is drawn as 20 to 1.\n"
      "Examples: tulle spy gen:fem:n=8 -o fem.svg\n"
      "          tulle spy cant.mtx other.mtx -o both.svg\n"
      "          tulle spy cant.mtx --compare --method nd -o orders.png",
      run);
  add_matrix(command, "matrix", s.matrix)->required();
  add_matrix(command, "other", s.other, "A second matrix, drawn beside the first in the same shades");
  add_file(command, "-o,--output", s.output, fmt::format("Picture to write: {}", plot::picture_help))->required();
  command.add_flag("--compare", s.compare, "Beside it the same matrix in another order");
  add_ordering(command, "--method", s.method, "Ordering of --compare; rcm otherwise");
  add_count(command, "--size", s.size, 320, 10'000, "Pixels of the longer side of the whole picture");
  add_strict_option(command, s.run);
  add_threads_option(command, s.run);
}

}  // namespace tulle::cli
