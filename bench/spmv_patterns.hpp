// What families of matrices are made of.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <random>

#include "spmv_families.hpp"

namespace tulle::bench {

using column_list = std::vector<index_t>;
using engine = std::mt19937_64;

inline int pick(std::initializer_list<int> from, int variant) {
  return from.begin()[static_cast<std::size_t>(variant) % from.size()];
}
inline index_t below(engine& random, std::int64_t n) {
  return static_cast<index_t>((random() >> 32) * static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)) >> 32);
}
inline double real(engine& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
inline index_t count(double n) { return static_cast<index_t>(std::max(n, 2.0)); }

/// Neighbours of a point at distance 1 in `axes` directions, with those across corners or without.
inline pattern grid(int axes, bool corners, double nonzeros, std::string& label) {
  const double points = corners ? std::pow(3, axes) : 2 * axes + 1;
  const index_t n = count(std::pow(nonzeros / points, 1.0 / axes)), depth = axes == 3 ? n : 1;
  pattern p{n * n * depth};
  column_list row;
  for (index_t z = 0; z < depth; ++z) {
    for (index_t y = 0; y < n; ++y) {
      for (index_t x = 0; x < n; ++x) {
        for (int d = 0; d < 27; ++d) {
          const index_t dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
          if (!corners && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1) continue;
          const index_t u = x + dx, v = y + dy, w = z + dz;
          if (std::min({u, v, w}) >= 0 && std::max(u, v) < n && w < depth) row.push_back((w * n + v) * n + u);
        }
        p.add_row(row);
      }
    }
  }
  label += fmt::format("n={}", n);
  return p;
}

/// The same with rows and columns in random order.
inline pattern shuffled(const pattern& of, engine& random) {
  column_list order(static_cast<std::size_t>(of.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  column_list place(order.size()), row;
  for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = static_cast<index_t>(i);
  pattern p{of.cols};
  for (const index_t r : order) {
    for (auto k = of.rowptr[r]; k < of.rowptr[r + 1]; ++k) row.push_back(place[static_cast<std::size_t>(of.colind[k])]);
    p.add_row(row);
  }
  return p;
}

/// Blocks of b x b where `of` has an entry.
inline pattern in_blocks(const pattern& of, index_t b) {
  pattern p{of.cols * b};
  column_list row;
  for (index_t r = 0; r < of.rows(); ++r) {
    for (index_t i = 0; i < b; ++i) {
      for (auto k = of.rowptr[r]; k < of.rowptr[r + 1]; ++k) {
        for (index_t j = 0; j < b; ++j) row.push_back(of.colind[k] * b + j);
      }
      p.add_row(row);
    }
  }
  return p;
}

/// Rows of length(r) entries, entry k of which is in column(r, k).
template <class Length, class Column>
pattern rows_of(index_t rows, index_t cols, const Length& length, const Column& column) {
  pattern p{cols};
  column_list row;
  for (index_t r = 0; r < rows; ++r) {
    const index_t n = std::min(length(r), cols);
    for (index_t k = 0; k < n; ++k) {
      const std::int64_t c = column(r, k);
      row.push_back(static_cast<index_t>((c % cols + cols) % cols));
    }
    p.add_row(row);
  }
  return p;
}

/// Zipf's law by the inverse of its continuous form: 1 / rank^s.
inline index_t zipf(engine& random, index_t n, double s) {
  const double most = std::pow(n + 1.0, 1 - s);
  return static_cast<index_t>(std::pow(1 + real(random) * (most - 1), 1 / (1 - s))) - 1;
}

inline pattern rmat(double nonzeros, int degree, engine& random) {
  const int scale = std::max(2, static_cast<int>(std::lround(std::log2(nonzeros / degree))));
  const index_t n = index_t{1} << scale;
  std::vector<std::uint64_t> edges(static_cast<std::size_t>(nonzeros));
  for (auto& e : edges) {
    std::uint64_t r = 0, c = 0;
    for (int i = 0; i < scale; ++i) {
      const double u = real(random);
      r = 2 * r + (u > 0.76 ? 1 : 0), c = 2 * c + ((u > 0.57 && u < 0.76) || u > 0.95 ? 1 : 0);
    }
    e = r << 32 | c;
  }
  std::ranges::sort(edges);
  pattern p{n};
  column_list row;
  std::size_t k = 0;
  for (index_t r = 0; r < n; ++r) {
    for (; k < edges.size() && edges[k] >> 32 == static_cast<std::uint64_t>(r); ++k)
      row.push_back(static_cast<index_t>(edges[k]));
    p.add_row(row);
  }
  return p;
}

/// Diagonal blocks of size(i), one after another, until there are so many nonzeros.
template <class Size>
pattern diagonal_blocks(double nonzeros, const Size& size) {
  pattern p;
  column_list row;
  for (index_t first = 0; static_cast<double>(p.colind.size()) < nonzeros; first = p.cols) {
    const index_t b = size();
    for (index_t i = 0; i < b; ++i) {
      for (index_t j = 0; j < b; ++j) row.push_back(first + j);
      p.add_row(row);
    }
    p.cols += b;
  }
  return p;
}

}  // namespace tulle::bench
