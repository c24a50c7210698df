// Vectors and symmetric tensors of three dimensions, and a conductivity as a sum of exchanges between cells.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace cardiac {

struct vec3 {
  double x = 0, y = 0, z = 0;
};
constexpr double dot(const vec3& a, const vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
constexpr vec3 cross(const vec3& a, const vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
constexpr vec3 scaled(const vec3& a, double by) { return {a.x * by, a.y * by, a.z * by}; }
constexpr vec3 sum(const vec3& a, const vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline vec3 unit(const vec3& a) { return scaled(a, 1 / std::sqrt(dot(a, a))); }

struct tensor {
  double xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0;
};
/// `across` in all directions, `along` in that of the unit vector f.
constexpr tensor transversely_isotropic(double along, double across, const vec3& f) {
  const double d = along - across;
  return {across + d * f.x * f.x, d * f.x * f.y, d * f.x * f.z,
          across + d * f.y * f.y, d * f.y * f.z, across + d * f.z * f.z};
}

/// From a cell to another, in cells.
struct shift {
  std::int16_t x = 0, y = 0, z = 0;
  constexpr bool operator==(const shift&) const = default;
  constexpr auto operator<=>(const shift&) const = default;
};

/// D = sum of weight[k] shift[k] shift[k]^T; shifts are later than {0, 0, 0}.
struct exchanges {
  std::array<shift, 6> to;
  std::array<double, 6> weight;
};

/// By the axes and one diagonal of each face, that of the sign of D's element there: no weight is negative where
/// conductivities along and across fibres differ by less than 3.7 (Weickert: Anisotropic Diffusion in Image Processing,
/// 1998, in two dimensions), and shifts change only where an element of D changes its sign.
exchanges by_faces(const tensor& d);

/// Selling's: for all that is positive definite. The superbase b0, b1, b2, b3 of the integers, of sum 0, whose vectors
/// are at obtuse angles in D gives D = - sum over pairs {i, j} of <b_i, D b_j> e e^T, e = b_k x b_l (Fehrenbach,
/// Mirebeau: Sparse non-negative stencils for anisotropic diffusion, J. Math. Imaging Vis. 49, 2014).
exchanges by_selling(const tensor& d);

}  // namespace cardiac
