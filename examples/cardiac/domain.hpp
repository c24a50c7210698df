// A body of cubic cells, held as runs of cells along z. Cells are numbered along z, then y, then x: within a run, a
// cell's neighbours differ from it by the same numbers, and runs are longest along the axis of the heart.
#pragma once

#include <cstdint>
#include <span>
#include <tulle/core/types.hpp>
#include <vector>

#include "tensor.hpp"

namespace cardiac {

using tulle::index_t;

struct run {
  int begin = 0, end = 0;  // along z
  index_t first = 0;       // number of cell `begin`
};

struct domain {
  int nx = 0, ny = 0, nz = 0;
  double h = 1;                             // edge of a cell, mm
  vec3 corner;                              // of the box of nx x ny x nz cells
  std::vector<run> runs;                    // line after line, along y, then x
  std::vector<std::int32_t> first_of_line;  // of each line, and how many runs there are
  index_t cells = 0;

  [[nodiscard]] vec3 centre(int x, int y, int z) const {
    return {corner.x + (x + 0.5) * h, corner.y + (y + 0.5) * h, corner.z + (z + 0.5) * h};
  }
  [[nodiscard]] int lines() const { return nx * ny; }
  [[nodiscard]] std::span<const run> runs_of(int line) const {
    const auto i = static_cast<std::size_t>(line);
    return {runs.data() + first_of_line[i], runs.data() + first_of_line[i + 1]};
  }
  /// -1 where there is no cell.
  [[nodiscard]] index_t number(int x, int y, int z) const {
    if (x < 0 || x >= nx || y < 0 || y >= ny) return -1;
    for (const run& r : runs_of(x * ny + y)) {
      if (z < r.end) return z < r.begin ? -1 : r.first + (z - r.begin);
    }
    return -1;
  }
  /// Calls f(x, y, z, number) for all cells, lines by all threads.
  template <class F>
  void for_each_cell(const F& f) const {
    const int count = lines();
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < count; ++i) {
      for (const run& r : runs_of(i)) {
        for (int z = r.begin; z < r.end; ++z) f(i / ny, i % ny, z, r.first + (z - r.begin));
      }
    }
  }
};

domain make_box(int nx, int ny, int nz, double h);

/// The left ventricle as an ellipsoid cut off at its base (Land et al.: Verification of cardiac mechanics software,
/// Proc. R. Soc. A 471, 2015): semi-axes inside 7, 7, 17 mm and outside 10, 10, 20 mm, of which z <= 5 mm is there; all
/// of it times a scale.
class ventricle {
 public:
  explicit ventricle(double scale) : scale_(scale) {}

  /// Of about so many cells.
  [[nodiscard]] domain cells(double count) const;
  /// Of a point: 0 inside, 1 outside.
  [[nodiscard]] double depth(const vec3& p) const;
  /// Fibres lie in the wall, and turn evenly from 60 degrees against the circumference inside to -60 outside (Streeter
  /// et al.: Fiber orientation in the canine left ventricle during diastole and systole, Circ. Res. 24, 1969).
  [[nodiscard]] vec3 fibre(const vec3& p) const;
  /// Where a beat begins: inside, near the apex.
  [[nodiscard]] bool is_excited_first(const vec3& p) const;

 private:
  [[nodiscard]] std::vector<run> runs_at(double x, double y, double lowest, double h) const;
  [[nodiscard]] domain cells_of_edge(double h) const;
  double scale_;
};

/// Of the tissue as one medium (monodomain: the harmonic mean of inside and outside), over chi C, in mm^2/ms. Inside of
/// cells 0.34 S/m along fibres and 0.06 across, outside 0.12 and 0.08 (Roberts, Scher, Circ. Res. 50, 1982, in Roth:
/// Electrical conductivity values used with the bidomain model, IEEE Trans. Biomed. Eng. 44, 1997); chi = 140 /mm, C =
/// 0.01 uF/mm^2 (Niederer et al., Phil. Trans. R. Soc. A 369, 2011).
tensor diffusivity(const vec3& fibre);

}  // namespace cardiac
