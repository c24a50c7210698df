#include "domain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace cardiac {
namespace {

constexpr double inner_width = 7, inner_length = 17, wall = 3, base = 5;  // mm
constexpr double first_depth = 0.25, first_height = -0.6 * inner_length;

/// Half the length of an ellipsoid at a distance from its axis; 0 beyond.
double half_length(double distance, double width, double length) {
  const double q = distance / width;
  return q < 1 ? length * std::sqrt(1 - q * q) : 0;
}

/// The first cell whose centre is at z or above, counted from `lowest`.
int cell_above(double z, double lowest, double h) { return static_cast<int>(std::ceil((z - lowest) / h - 0.5)); }

/// Runs of each line, one after another, and their cells in this order.
void collect(domain& d, const std::vector<std::vector<run>>& of_line) {
  std::int64_t cells = 0;
  d.first_of_line.assign(1, 0);
  d.runs.clear();
  for (const std::vector<run>& runs : of_line) {
    for (run r : runs) {
      r.first = static_cast<index_t>(cells);
      cells += r.end - r.begin;
      if (cells > std::numeric_limits<index_t>::max()) throw std::invalid_argument("more than 2^31 cells");
      d.runs.push_back(r);
    }
    d.first_of_line.push_back(static_cast<std::int32_t>(d.runs.size()));
  }
  d.cells = static_cast<index_t>(cells);
}

std::vector<std::vector<run>> lines_of(int nx, int ny) {
  return std::vector<std::vector<run>>(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny));
}

}  // namespace

domain make_box(int nx, int ny, int nz, double h) {
  domain d{nx, ny, nz, h, {}, {}, {}, 0};
  auto lines = lines_of(nx, ny);
  for (std::vector<run>& line : lines) line = {{0, nz, 0}};
  collect(d, lines);
  return d;
}

std::vector<run> ventricle::runs_at(double x, double y, double lowest, double h) const {
  const double distance = std::hypot(x, y) / scale_;
  const double outer = scale_ * half_length(distance, inner_width + wall, inner_length + wall);
  const double inner = scale_ * half_length(distance, inner_width, inner_length);
  const double top = std::min(outer, scale_ * base);
  std::vector<run> out;
  const auto add = [&](double from, double to) {
    const run r{cell_above(from, lowest, h), cell_above(to, lowest, h), 0};
    if (r.end > r.begin) out.push_back(r);
  };
  if (inner > 0) {
    add(-outer, -inner);
    add(inner, top);
  } else if (outer > 0) {
    add(-outer, top);
  }
  return out;
}

domain ventricle::cells_of_edge(double h) const {
  const double width = scale_ * (inner_width + wall), length = scale_ * (inner_length + wall);
  const int across = 2 * static_cast<int>(std::ceil(width / h));
  domain d;
  d.nx = d.ny = across;
  d.nz = static_cast<int>(std::ceil((length + scale_ * base) / h));
  d.h = h;
  d.corner = {-across / 2 * h, -across / 2 * h, -length};
  auto lines = lines_of(across, across);
#pragma omp parallel for
  for (int i = 0; i < across * across; ++i) {
    const vec3 at = d.centre(i / across, i % across, 0);
    lines[static_cast<std::size_t>(i)] = runs_at(at.x, at.y, -length, h);
  }
  collect(d, lines);
  return d;
}

domain ventricle::cells(double count) const {
  const double volume = 3236 * std::pow(scale_, 3);
  double h = std::cbrt(volume / count);
  domain d = cells_of_edge(h);
  for (int i = 0; i < 3 && d.cells > 0; ++i) {
    h *= std::cbrt(d.cells / count);
    d = cells_of_edge(h);
  }
  return d;
}

double ventricle::depth(const vec3& p) const {
  const double across = (p.x * p.x + p.y * p.y) / (scale_ * scale_), along = p.z * p.z / (scale_ * scale_);
  double d = 0.5;
  for (int i = 0; i < 8; ++i) {  // Newton
    const double a = inner_width + wall * d, b = inner_length + wall * d;
    const double value = across / (a * a) + along / (b * b) - 1;
    const double slope = -2 * wall * (across / (a * a * a) + along / (b * b * b));
    const double step = value / slope;
    d -= step;
    if (std::abs(step) < 1e-9) break;
  }
  return std::clamp(d, 0.0, 1.0);
}

vec3 ventricle::fibre(const vec3& p) const {
  const double d = depth(p);
  const double a = inner_width + wall * d, b = inner_length + wall * d;
  const vec3 normal = unit({p.x / (a * a), p.y / (a * a), p.z / (b * b)});
  const vec3 around = unit({-p.y, p.x, 0});
  const double angle = std::numbers::pi / 3 * (1 - 2 * d);
  return sum(scaled(around, std::cos(angle)), scaled(cross(normal, around), std::sin(angle)));
}

bool ventricle::is_excited_first(const vec3& p) const { return p.z < scale_ * first_height && depth(p) < first_depth; }

tensor diffusivity(const vec3& fibre) {
  constexpr double chi_c = 1.4;  // uF/mm^3; S/m is 1e-3 S/mm, uF/ms is 1e-3 S
  constexpr double along = 0.34 * 0.12 / (0.34 + 0.12) / chi_c, across = 0.06 * 0.08 / (0.06 + 0.08) / chi_c;
  return transversely_isotropic(along, across, fibre);
}

}  // namespace cardiac
