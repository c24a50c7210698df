// tulle spy: a picture of the pattern of a matrix.
#include "spy.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "common/command.hpp"
#include "common/matrix.hpp"
#include "common/ordering.hpp"

namespace tulle::cli {
namespace {

struct settings {
  run_options run;
  std::string matrix;
  std::string output;
  int size = 800;
  bool compare = false;
  std::string method;  // of --compare; empty: rcm
};

constexpr double widest_aspect = 20;  // beyond it the shorter side would be too thin to see

struct grid_size {
  int width;
  int height;
};

grid_size size_for(index_t rows, index_t cols, int longest) {
  const double r = std::max<index_t>(rows, 1);
  const double c = std::max<index_t>(cols, 1);
  const double side = std::min<double>(longest, std::max(r, c));
  const double scale = side / std::max(r, c);
  const double thinnest = side / widest_aspect;
  const auto cells = [&](double n) {
    return static_cast<int>(std::max({std::round(n * scale), std::min(n, thinnest), 1.0}));
  };
  return {cells(c), cells(r)};
}

/// At most `longest` cells on the longer side and the matrix's aspect ratio, within [1/20, 20]; one cell for each entry
/// where that fits. Cells that stand for many entries are shaded by the logarithm of their number.
template <offset O>
pattern_grid draw_typed(csr_view<double, O> a, int longest) {
  const auto [width, height] = size_for(a.rows, a.cols, longest);
  std::vector<std::int64_t> count(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (index_t row = 0; row < a.rows; ++row) {
    const auto line = std::int64_t{row} * height / a.rows * width;
    for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      ++count[static_cast<std::size_t>(line + std::int64_t{a.colind[k]} * width / a.cols)];
    }
  }
  const double most = count.empty() ? 0 : static_cast<double>(*std::max_element(count.begin(), count.end()));
  constexpr double faintest = 48;  // a single entry stays visible beside full cells
  pattern_grid grid{width, height, std::vector<std::uint8_t>(count.size())};
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (count[i] == 0) continue;
    const double depth = most > 1 ? std::log(static_cast<double>(count[i])) / std::log(most) : 1;
    grid.ink[i] = static_cast<std::uint8_t>(faintest + (255 - faintest) * depth);
  }
  return grid;
}

pattern_grid draw_pattern(const matrix_ref& a, int longest) {
  return with_view<double>(a, [&](const auto& view) { return draw_typed(view, longest); });
}

/// The same matrix in another order.
spy_panel draw_reordered(const settings& s, const named_matrix& a, int longest) {
  const std::string method = s.method.empty() ? "rcm" : s.method;
  const matrix_ref b = in_order(context::cpu(s.run.threads), a.matrix, method).matrix;
  matrix_facts facts = a.facts();
  facts.name = fmt::format("{} by {}", facts.name, method);
  return {draw_pattern(b, longest), facts};
}

int run(const settings& s) {
  if (!s.compare && !s.method.empty()) throw error(status::invalid_argument, "--method goes with --compare");
  const bool png = s.output.ends_with(".png");
  if (!png && !s.output.ends_with(".svg")) {
    throw error(status::invalid_argument, fmt::format("-o {}: the name must end in .svg or .png", s.output));
  }
  const named_matrix a = load(s.matrix, s.run);
  const int longest = png ? s.size : std::max(1, s.size / 2);  // cells of two units keep an SVG small
  std::vector<spy_panel> panels{{draw_pattern(a.matrix, longest), a.facts()}};
  if (s.compare) panels.push_back(draw_reordered(s, a, longest));
  (png ? write_png : write_svg)(s.output, panels, s.size);
  const pattern_grid& grid = panels.front().grid;
  note(fmt::format("wrote {}: {} x {} cells of a {} x {} matrix with {} nonzeros", s.output, grid.height, grid.width,
                   a.matrix.rows, a.matrix.cols, a.matrix.nnz));
  return ok;
}

}  // namespace

void add_spy(CLI::App& app, int& result) {
  auto [command, s] =
      add_command(app, result, "spy", "A picture of the pattern of a matrix",
                  "Matrices longer than 20 to 1 are drawn as 20 to 1.\nExample: tulle spy gen:fem:n=8 -o fem.svg", run);
  add_matrix(command, "matrix", s.matrix)->required();
  add_file(command, "-o,--output", s.output, "Picture to write: .svg or .png")->required();
  command.add_flag("--compare", s.compare, "Beside it the same matrix in another order");
  add_ordering(command, "--method", s.method, "Ordering of --compare; rcm otherwise");
  add_count(command, "--size", s.size, 16, 16384, "Pixels of the longer side");
  add_strict_option(command, s.run);
  add_threads_option(command, s.run);
}

}  // namespace tulle::cli
