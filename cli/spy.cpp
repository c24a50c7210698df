// tulle spy: a picture of the pattern of a matrix.
#include "spy.hpp"

#include <fmt/format.h>

#include "common/command.hpp"
#include "common/matrix.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string matrix;
  std::string output;
  int size = 800;
};

int run(const settings& s) {
  const bool png = s.output.ends_with(".png");
  if (!png && !s.output.ends_with(".svg")) {
    throw error(status::invalid_argument, fmt::format("-o {}: the name must end in .svg or .png", s.output));
  }
  const named_matrix<double> a = load<double>(s.matrix, s.run);
  const int longest = png ? s.size : std::max(1, s.size / 2);  // cells of two units keep an SVG small
  const pattern_grid grid = draw_pattern(a.matrix.view(), longest);
  if (png) {
    write_png(s.output, grid, s.size);
  } else {
    write_svg(s.output, grid, a.facts(), s.size);
  }
  note(fmt::format("wrote {}: {} x {} cells of a {} x {} matrix with {} nonzeros", s.output, grid.height, grid.width,
                   a.matrix.rows, a.matrix.cols, a.matrix.nnz()));
  return ok;
}

}  // namespace

void add_spy(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "spy", "A picture of the pattern, shaded by density where the matrix is big",
                  "Matrices longer than 20 to 1 are drawn as 20 to 1.\nExample: tulle spy gen:fem:n=8 -o fem.svg", run);
  command.add_option("matrix", s.matrix, matrix_help)->required();
  command.add_option("-o,--output", s.output, "Picture to write: .svg or .png")->required();
  add_count(command, "--size", s.size, 16, 16384, "Pixels of the longer side");
  add_strict_option(command, s.run);
  add_threads_option(command, s.run);
}

}  // namespace tulle::cli
