// A beam that bends under a load: tulle_example_elasticity [cpu|cuda] [CELLS [FILE.vtk]]
//
// 3-D linear elasticity on trilinear hexahedra (Hughes, The Finite Element Method, 2000, chapter 3): a beam of 5 CELLS
// x CELLS x CELLS unit cubes, Young's modulus 1, Poisson's ratio 0.3, clamped where x = 0 and pulled down where it
// ends. Three unknowns a node make a matrix of 3 x 3 blocks, which is given to the solver as it is; its diagonal blocks
// are the preconditioner. FILE.vtk (for ParaView and others) holds the deformed body.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "backend.hpp"

namespace {

constexpr double youngs_modulus = 1, poissons_ratio = 0.3;
constexpr double total_load = 1e-4;

using element_matrix = std::array<std::array<double, 24>, 24>;

/// Corner c of a cube is at (c & 1, c >> 1 & 1, c >> 2).
constexpr int corner(int c, int axis) { return c >> axis & 1; }

/// The stiffness of a unit cube, by 2 x 2 x 2 Gauss points.
element_matrix stiffness() {
  const double lambda = youngs_modulus * poissons_ratio / ((1 + poissons_ratio) * (1 - 2 * poissons_ratio));
  const double mu = youngs_modulus / (2 * (1 + poissons_ratio));
  element_matrix k{};
  const double offset = 0.5 / std::sqrt(3.0);
  for (int point = 0; point < 8; ++point) {
    double gradient[8][3];  // of the shape functions
    for (int c = 0; c < 8; ++c) {
      for (int axis = 0; axis < 3; ++axis) {
        gradient[c][axis] = 1;
        for (int d = 0; d < 3; ++d) {
          const double at = corner(point, d) == 1 ? 0.5 + offset : 0.5 - offset;
          const double factor = d == axis ? (corner(c, d) == 1 ? 1 : -1) : (corner(c, d) == 1 ? at : 1 - at);
          gradient[c][axis] *= factor;
        }
      }
    }
    for (int a = 0; a < 8; ++a) {
      for (int b = 0; b < 8; ++b) {
        const double dot =
            gradient[a][0] * gradient[b][0] + gradient[a][1] * gradient[b][1] + gradient[a][2] * gradient[b][2];
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) {
            const double value = lambda * gradient[a][i] * gradient[b][j] + mu * gradient[a][j] * gradient[b][i] +
                                 (i == j ? mu * dot : 0);
            k[static_cast<std::size_t>(3 * a + i)][static_cast<std::size_t>(3 * b + j)] += value / 8;
          }
        }
      }
    }
  }
  return k;
}

struct beam {
  int nx, ny, nz;  // cells

  /// Nodes where x = 0 are clamped and no unknowns.
  [[nodiscard]] tulle::index_t nodes() const { return nx * (ny + 1) * (nz + 1); }
  [[nodiscard]] tulle::index_t node(int x, int y, int z) const { return ((x - 1) * (ny + 1) + y) * (nz + 1) + z; }
};

struct block_matrix {
  std::vector<std::int64_t> rowptr{0};
  std::vector<tulle::index_t> colind;
  std::vector<double> values;  // 9 a block
};

block_matrix assemble(const beam& body) {
  const element_matrix k = stiffness();
  block_matrix a;
  for (int x = 1; x <= body.nx; ++x) {
    for (int y = 0; y <= body.ny; ++y) {
      for (int z = 0; z <= body.nz; ++z) {
        for (int n = 0; n < 27; ++n) {  // the neighbours in the order of their numbers
          const int dx = n / 9 - 1, dy = n / 3 % 3 - 1, dz = n % 3 - 1;
          if (x + dx < 1 || x + dx > body.nx || y + dy < 0 || y + dy > body.ny || z + dz < 0 || z + dz > body.nz)
            continue;
          double block[9] = {};
          for (int c = 0; c < 8; ++c) {  // this node is corner c of a cell
            const int cx = x - corner(c, 0), cy = y - corner(c, 1), cz = z - corner(c, 2);
            const int ox = x + dx - cx, oy = y + dy - cy, oz = z + dz - cz;
            if (cx < 0 || cx >= body.nx || cy < 0 || cy >= body.ny || cz < 0 || cz >= body.nz) continue;
            if (ox < 0 || ox > 1 || oy < 0 || oy > 1 || oz < 0 || oz > 1) continue;
            const int other = ox + 2 * oy + 4 * oz;
            for (int i = 0; i < 9; ++i) {
              block[i] += k[static_cast<std::size_t>(3 * c + i / 3)][static_cast<std::size_t>(3 * other + i % 3)];
            }
          }
          a.colind.push_back(body.node(x + dx, y + dy, z + dz));
          a.values.insert(a.values.end(), block, block + 9);
        }
        a.rowptr.push_back(static_cast<std::int64_t>(a.colind.size()));
      }
    }
  }
  return a;
}

/// The load, spread over the end of the beam.
std::vector<double> load(const beam& body) {
  std::vector<double> b(static_cast<std::size_t>(body.nodes()) * 3);
  for (int y = 0; y <= body.ny; ++y) {
    for (int z = 0; z <= body.nz; ++z) {
      const double share = (y % body.ny == 0 ? 0.5 : 1) * (z % body.nz == 0 ? 0.5 : 1) / (body.ny * body.nz);
      b[static_cast<std::size_t>(body.node(body.nx, y, z)) * 3 + 2] = -total_load * share;
    }
  }
  return b;
}

void write_vtk(const std::string& file, const beam& body, const std::vector<double>& u) {
  std::ofstream out(file);
  const auto moved = [&](int x, int y, int z, int axis) {
    return x == 0 ? 0 : u[static_cast<std::size_t>(body.node(x, y, z)) * 3 + static_cast<std::size_t>(axis)];
  };
  const auto for_nodes = [&](auto f) {
    for (int z = 0; z <= body.nz; ++z) {
      for (int y = 0; y <= body.ny; ++y) {
        for (int x = 0; x <= body.nx; ++x) f(x, y, z);
      }
    }
  };
  const long long count = static_cast<long long>(body.nx + 1) * (body.ny + 1) * (body.nz + 1);
  out << "# vtk DataFile Version 3.0\na beam under a load\nASCII\nDATASET STRUCTURED_GRID\nDIMENSIONS " << body.nx + 1
      << ' ' << body.ny + 1 << ' ' << body.nz + 1 << "\nPOINTS " << count << " double\n";
  for_nodes([&](int x, int y, int z) {
    out << x + moved(x, y, z, 0) << ' ' << y + moved(x, y, z, 1) << ' ' << z + moved(x, y, z, 2) << '\n';
  });
  out << "POINT_DATA " << count << "\nVECTORS displacement double\n";
  for_nodes([&](int x, int y, int z) {
    out << moved(x, y, z, 0) << ' ' << moved(x, y, z, 1) << ' ' << moved(x, y, z, 2) << '\n';
  });
  if (!out.flush()) throw tulle::error(tulle::status::file_io, file + " cannot be written");
}

int run(const tulle::context& ctx, int cells, const std::string& file) {
  const beam body{5 * cells, cells, cells};
  const tulle::index_t n = 3 * body.nodes();
  const block_matrix a = assemble(body);
  const tulle::bsr_view<double, std::int64_t> view{n,
                                                   n,
                                                   static_cast<std::int64_t>(a.values.size()),
                                                   3,
                                                   body.nodes(),
                                                   static_cast<std::int64_t>(a.colind.size()),
                                                   a.rowptr.data(),
                                                   a.colind.data(),
                                                   a.values.data(),
                                                   nullptr,
                                                   tulle::memory_space::host};
  tulle::cg_options options;
  options.preconditioner = tulle::preconditioner_kind::block_jacobi;
  const tulle::cg_solver solver(ctx, view, options);
  std::printf("%d cells, %d unknowns\n%s\n", body.nx * body.ny * body.nz, n, solver.explain().c_str());

  const auto b = to_buffer(ctx, load(body));
  auto x = to_buffer(ctx, std::vector<double>(static_cast<std::size_t>(n)));
  const auto begin = std::chrono::steady_clock::now();
  const tulle::cg_result result = solver.solve(b, x);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%d iterations in %.3f s, residual %.1e of the load\n", result.iterations, seconds,
              result.residual / result.rhs);
  if (!result.converged()) return std::printf("%s\n", tulle::name(static_cast<tulle::status>(result.code)).data()), 1;

  const std::vector<double> u = to_vector(ctx, x);
  const double sag = -u[static_cast<std::size_t>(body.node(body.nx, cells / 2, cells / 2)) * 3 + 2];
  const double length = body.nx, height = cells, inertia = height * height * height * height / 12;
  const double bending = total_load * length * length * length / (3 * youngs_modulus * inertia);
  const double shear = total_load * length / (5.0 / 6 * youngs_modulus / (2 * (1 + poissons_ratio)) * height * height);
  std::printf("the end sags by %.4g; Timoshenko's beam by %.4g\n", sag, bending + shear);
  if (!file.empty()) write_vtk(file, body, u);
  const bool plausible = std::fabs(sag / (bending + shear) - 1) < 0.2;
  std::printf(plausible ? "as beams do\n" : "not as beams do\n");
  return plausible ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const tulle::context ctx = take_context(argc, argv);
  constexpr const char* usage = "tulle_example_elasticity [cpu|cuda] [CELLS [FILE.vtk]], 2 to 100";
  if (argc > 3) show_usage(usage);
  return run(ctx, argc > 1 ? number(argv[1], 2, 100, usage) : 6, argc > 2 ? argv[2] : "");
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
