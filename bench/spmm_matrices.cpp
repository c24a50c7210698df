#include "spmm_matrices.hpp"

#include <tulle/tulle.hpp>

#include "spmv_patterns.hpp"

namespace tulle::bench {
namespace {

pattern cube(int points, index_t n) {
  std::string label;
  return grid(3, points == 27, points * std::pow(n + 0.1, 3), label);
}

pattern box(index_t nx, index_t ny, index_t nz) {
  pattern p{nx * ny * nz};
  column_list row;
  for (index_t z = 0; z < nz; ++z) {
    for (index_t y = 0; y < ny; ++y) {
      for (index_t x = 0; x < nx; ++x) {
        for (int d = 0; d < 27; ++d) {
          const index_t u = x + d % 3 - 1, v = y + d / 3 % 3 - 1, w = z + d / 9 - 1;
          if (std::min({u, v, w}) >= 0 && u < nx && v < ny && w < nz) row.push_back((w * ny + v) * nx + u);
        }
        p.add_row(row);
      }
    }
  }
  return p;
}

/// Rows of length(random) entries anywhere.
template <class Length>
pattern scattered_rows(index_t rows, index_t cols, std::uint64_t seed, const Length& length) {
  engine random(seed);
  return rows_of(
      rows, cols, [&](index_t) { return length(random); }, [&](index_t, index_t) { return below(random, cols); });
}

pattern graph(int scale, int degree, std::uint64_t seed) {
  engine random(seed);
  return rmat(std::ldexp(degree, scale), degree, random);
}

pattern arrow(index_t n) {
  return rows_of(
      n, n, [=](index_t r) { return r == n / 2 ? n : 2; },
      [=](index_t r, index_t i) { return r == n / 2 ? i
                                         : i == 0   ? 0
                                                    : r; });
}

}  // namespace

pattern read_pattern(const std::string& file) {
  const csr<double> a = read_matrix_market<double>(file);
  pattern p{a.cols};
  p.rowptr.assign(a.rowptr.data(), a.rowptr.data() + a.rows + 1);
  p.colind.assign(a.colind.data(), a.colind.data() + a.nnz());
  return p;
}

std::vector<spmm_matrix> spmm_matrices() {
  return {
      {"R-MAT 16x48", [] { return graph(16, 48, 1); }, true},
      {"arrow 46k", [] { return arrow(46000); }},
      {"5-point 200^2",
       [] {
         std::string label;
         return grid(2, false, 5 * 200.1 * 200.1, label);
       }},
      {"FEM 3 x 12^3", [] { return in_blocks(cube(27, 12), 3); }},
      {"1 to 4 a row, 600k",
       [] { return scattered_rows(600'000, 600'000, 2, [](engine& r) { return 1 + below(r, 4); }); }},
      {"3 or 600 a row",
       [] { return scattered_rows(1'000'000, 1'000'000, 3, [](engine& r) { return real(r) < 0.015 ? 600 : 3; }); }},
      {"FEM 5 unknowns 32^3", [] { return in_blocks(cube(27, 32), 5); }},
      {"R-MAT 20x32", [] { return graph(20, 32, 6); }, true},
      {"20k x 2M, 1500 a row", [] { return scattered_rows(20'000, 2'000'000, 7, [](engine&) { return 1500; }); }},
      {"7-point 128^3", [] { return cube(7, 128); }},
      {"uniform 1M x 16", [] { return scattered_rows(1'000'000, 1'000'000, 8, [](engine&) { return 16; }); }},
      {"27-point 171x93x250", [] { return box(171, 93, 250); }},
      {"power law 1M x 20",
       [] {
         return scattered_rows(1'000'000, 1'000'000, 5, [](engine& r) {
           return static_cast<index_t>(std::min(20 * 0.4 * std::pow(real(r) + 1e-12, -0.6), 1e5));
         });
       },
       true},
      {"7-point 160^3 shuffled",
       [] {
         engine random(4);
         return shuffled(cube(7, 160), random);
       }},
  };
}

}  // namespace tulle::bench
