#include "tensor.hpp"

#include <stdexcept>
#include <utility>

namespace cardiac {
namespace {

using integers = std::array<int, 3>;

double product(const integers& a, const tensor& d, const integers& b) {
  return a[0] * (d.xx * b[0] + d.xy * b[1] + d.xz * b[2]) + a[1] * (d.xy * b[0] + d.yy * b[1] + d.yz * b[2]) +
         a[2] * (d.xz * b[0] + d.yz * b[1] + d.zz * b[2]);
}
integers sum(const integers& a, const integers& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
integers cross(const integers& a, const integers& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
shift later_of_two(const integers& e) {
  const shift s{static_cast<std::int16_t>(e[0]), static_cast<std::int16_t>(e[1]), static_cast<std::int16_t>(e[2])};
  const shift opposite{static_cast<std::int16_t>(-s.x), static_cast<std::int16_t>(-s.y),
                       static_cast<std::int16_t>(-s.z)};
  return s > opposite ? s : opposite;
}

constexpr std::array<std::array<int, 4>, 6> pairs = {
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}}};

}  // namespace

exchanges by_faces(const tensor& d) {
  const double xy = std::abs(d.xy), xz = std::abs(d.xz), yz = std::abs(d.yz);
  const auto sign = [](double v) { return static_cast<std::int16_t>(v < 0 ? -1 : 1); };
  return {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, sign(d.xy), 0}, {1, 0, sign(d.xz)}, {0, 1, sign(d.yz)}}},
          {d.xx - xy - xz, d.yy - xy - yz, d.zz - xz - yz, xy, xz, yz}};
}

exchanges by_selling(const tensor& d) {
  constexpr int most_steps = 200;
  const double trace = d.xx + d.yy + d.zz;
  const double nothing = 1e-12 * trace;
  std::array<integers, 4> b = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, -1, -1}}};
  bool obtuse = false;
  for (int step = 0; !obtuse; ++step) {
    if (step == most_steps) throw std::invalid_argument("a conductivity is not positive definite, or nearly so");
    obtuse = true;
    for (const auto& [i, j, k, l] : pairs) {
      const auto at = [&](int n) -> integers& { return b[static_cast<std::size_t>(n)]; };
      if (product(at(i), d, at(j)) <= nothing) continue;
      const integers minus = {-at(i)[0], -at(i)[1], -at(i)[2]};
      b = {minus, at(j), sum(at(i), at(k)), sum(at(i), at(l))};
      obtuse = false;
      break;
    }
  }
  exchanges out;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto at = [&](int n) -> const integers& {
      return b[static_cast<std::size_t>(pairs[p][static_cast<std::size_t>(n)])];
    };
    const double weight = -product(at(0), d, at(1));
    out.to[p] = later_of_two(cross(at(2), at(3)));
    out.weight[p] = weight > nothing ? weight : 0;
  }
  return out;
}

}  // namespace cardiac
