// What `default` takes for matrices of blocks, beside every kernel that it could take, on families of block graphs,
// full and with holes. Families that the rule of choice was fitted on say so; the others judge it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <numeric>
#include <random>

#include "blocks.hpp"

namespace tulle::bench {
namespace {

/// Rows of block columns, sorted and without repeats.
using block_rows = std::vector<std::vector<index_t>>;

/// Nodes of a grid of n x n x depth, joined where `joined(|dx|, |dy|, |dz|)` of distances up to 1.
template <class F>
block_rows grid(index_t n, index_t depth, const F& joined) {
  block_rows rows;
  for (index_t z = 0; z < depth; ++z) {
    for (index_t y = 0; y < n; ++y) {
      for (index_t x = 0; x < n; ++x) {
        auto& row = rows.emplace_back();
        for (int d = 0; d < 27; ++d) {
          const index_t dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
          if (!joined(std::abs(dx), std::abs(dy), std::abs(dz))) continue;
          const index_t u = x + dx, v = y + dy, w = z + dz;
          if (std::min({u, v, w}) >= 0 && std::max(u, v) < n && w < depth) row.push_back((w * n + v) * n + u);
        }
      }
    }
  }
  return rows;
}
bool everything(int, int, int) { return true; }
bool along_axes(int dx, int dy, int dz) { return dx + dy + dz <= 1; }
bool without_corners(int dx, int dy, int dz) { return dx + dy + dz <= 2; }

/// The diagonal, and six more above and below it, farther and farther away.
block_rows far_diagonals(index_t count) {
  block_rows rows(static_cast<std::size_t>(count));
  for (index_t r = 0; r < count; ++r) {
    for (const index_t d : {-3000, -700, -150, -30, -8, -1, 0, 1, 8, 30, 150, 700, 3000}) {
      if (r + d >= 0 && r + d < count) rows[static_cast<std::size_t>(r)].push_back(r + d);
    }
  }
  return rows;
}

/// A plane of n x n nodes cut into triangles, of which a twentieth of the edges is missing; nodes are numbered anyhow
/// within pieces of 256, as meshes out of a generator are.
block_rows triangles(index_t n) {
  constexpr index_t piece = 256;
  std::mt19937_64 random(3);
  std::vector<index_t> number(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  std::iota(number.begin(), number.end(), 0);
  for (std::size_t first = 0; first < number.size(); first += piece) {
    std::shuffle(number.begin() + static_cast<std::ptrdiff_t>(first),
                 number.begin() + static_cast<std::ptrdiff_t>(std::min(first + piece, number.size())), random);
  }
  block_rows rows(number.size());
  const auto join = [&](index_t a, index_t b) {
    rows[static_cast<std::size_t>(number[a])].push_back(number[b]);
    if (a != b) rows[static_cast<std::size_t>(number[b])].push_back(number[a]);
  };
  for (index_t y = 0; y < n; ++y) {
    for (index_t x = 0; x < n; ++x) {
      const index_t at = y * n + x;
      join(at, at);
      if (x + 1 < n && random() % 20 != 0) join(at, at + 1);
      if (y + 1 < n && random() % 20 != 0) join(at, at + n);
      if (x + 1 < n && y + 1 < n && random() % 20 != 0) join(at, at + n + 1);
    }
  }
  for (auto& row : rows) std::ranges::sort(row);
  return rows;
}

/// `least` to `most` blocks a row, at most `reach` from the diagonal.
block_rows scattered(index_t count, int least, int most, std::int64_t reach) {
  std::mt19937_64 random(11);
  block_rows rows(static_cast<std::size_t>(count));
  for (index_t r = 0; r < count; ++r) {
    auto& row = rows[static_cast<std::size_t>(r)];
    const auto length = least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
    row.push_back(r);
    for (int k = 1; k < length; ++k) {
      const std::int64_t at = r + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * reach)) - reach;
      row.push_back(static_cast<index_t>((at % count + count) % count));
    }
    std::ranges::sort(row);
    row.erase(std::ranges::unique(row).begin(), row.end());
  }
  return rows;
}

struct pattern {
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
};

pattern fill_blocks(const block_rows& blocks, index_t b, double fill) {
  std::mt19937_64 random(5);
  const auto limit = static_cast<std::uint64_t>(fill * static_cast<double>(1ull << 32));
  pattern p;
  for (const auto& row : blocks) {
    for (index_t i = 0; i < b; ++i) {
      for (const index_t c : row) {
        for (index_t j = 0; j < b; ++j) {
          if (fill >= 1 || random() >> 32 < limit) p.colind.push_back(c * b + j);
        }
      }
      p.rowptr.push_back(static_cast<std::int64_t>(p.colind.size()));
    }
  }
  return p;
}

/// Values that no kernel can store in fewer bytes.
template <scalar T>
csr<T> matrix_of(const context& ctx, const pattern& p) {
  const auto n = static_cast<index_t>(p.rowptr.size() - 1);
  csr<T> a{n, n, to_buffer(ctx, p.rowptr), to_buffer(ctx, p.colind), buffer<T>(ctx, p.colind.size())};
  vector_ops(ctx).random(2, a.values);
  return a;
}

struct family {
  std::string name;
  bool fitted;
  std::function<block_rows(int block)> make;
};

/// Of about `entries` entries each, unless they say so.
std::vector<family> families(double entries) {
  const auto count = [=](int b, double blocks) { return static_cast<index_t>(entries / (b * b * blocks)); };
  const auto root = [=](int b, double blocks, int dimensions) {
    return static_cast<index_t>(std::pow(entries / (b * b * blocks), 1.0 / dimensions));
  };
  const auto cube = [=](int b, int blocks, const auto& joined) {
    const index_t n = root(b, blocks, 3);
    return grid(n, n, joined);
  };
  return {
      {"27 neighbours in a cube", true, [=](int b) { return cube(b, 27, everything); }},
      {"27 neighbours in a cube, half as large", true, [=](int b) { return cube(b, 54, everything); }},
      {"19 neighbours in a cube", true, [=](int b) { return cube(b, 19, without_corners); }},
      {"7 neighbours in a cube", true, [=](int b) { return cube(b, 7, along_axes); }},
      {"5 neighbours in a plane", true, [=](int b) { return grid(root(b, 5, 2), 1, along_axes); }},
      {"12 anywhere", true, [=](int b) { return scattered(count(b, 12), 12, 12, count(b, 12) / 2); }},
      {"12 anywhere, half as large", true, [=](int b) { return scattered(count(b, 24), 12, 12, count(b, 24) / 2); }},
      {"9 within 500", true, [=](int b) { return scattered(count(b, 9), 9, 9, 500); }},
      {"4 to 28 anywhere", false, [=](int b) { return scattered(count(b, 16), 4, 28, count(b, 16) / 2); }},
      {"5 to 15 within 3000", false, [=](int b) { return scattered(count(b, 10), 5, 15, 3000); }},
      {"9 neighbours in a plane, twice as large", false, [=](int b) { return grid(root(b, 4.5, 2), 1, everything); }},
      {"13 diagonals, half as large", false, [=](int b) { return far_diagonals(count(b, 26)); }},
      {"triangles, shuffled", false, [=](int b) { return triangles(root(b, 7, 2)); }}};
}

/// One of the kernels that take a matrix, or what `default` takes (no name).
struct candidate {
  std::string name;
  any_spmv_plan plan;
  std::vector<double> times;
};

std::vector<candidate> candidates(const context& ctx, const matrix_ref& a) {
  std::vector<candidate> made;
  for (const std::string name : {"", "bin_bsr.compact", "bsr", "packed", "csr5"}) {
    try {
      spmv_options options;
      options.kernel = name;
      made.push_back({name, any_spmv_plan(ctx, a, options), {}});
    } catch (const error&) {  // the kernel does not take the matrix
    }
  }
  return made;
}

/// JSON of one matrix: microseconds by kernel, and of 4 right-hand sides those of kernels of blocks. Kernels take
/// turns, so that what disturbs one disturbs all.
template <scalar T>
std::string time_kernels(const context& ctx, const csr<T>& a, const std::string& label, bool fitted) {
  constexpr int turns = 4;
  const auto n = static_cast<std::size_t>(a.rows);
  buffer<T> x(ctx, 4 * n), y(ctx, 4 * n);
  vector_ops(ctx).random(1, x);
  const auto single = [&](buffer<T>& v) { return vector_ref(scalar_type_of<T>, v.data(), a.rows, ctx.space()); };
  const auto four = [&](buffer<T>& v) {
    return multivector_view<T>{a.rows, 4, 4, vector_order::row_major, v.data(), ctx.space()};
  };
  std::vector<candidate> all = candidates(ctx, matrix_ref(a.view()));
  for (int turn = 0; turn < turns; ++turn) {
    for (candidate& c : all) {
      c.times.push_back(microseconds(ctx, [&] { c.plan.apply(1, single(x), 0, single(y)); }));
    }
  }
  std::string us, many, bytes, chosen;
  double best = 0, taken = 0;
  for (const candidate& c : all) {
    const double time = std::ranges::min(c.times);
    if (c.name.empty()) {
      chosen = c.plan.kernel(), taken = time;
      continue;
    }
    best = best == 0 ? time : std::min(best, time);
    const char* const comma = us.empty() ? "" : ", ";
    us += fmt::format("{}\"{}\": {:.1f}", comma, c.name, time);
    bytes += fmt::format("{}\"{}\": {:.2f}", comma, c.name,
                         static_cast<double>(c.plan.matrix_bytes()) / static_cast<double>(a.nnz()));
    if (c.name == "csr5") continue;
    many += fmt::format("{}\"{}\": {:.1f}", many.empty() ? "" : ", ", c.name,
                        microseconds(ctx, [&] { c.plan.apply_many(1, four(x), 0, four(y)); }));
  }
  fmt::print("{:<34} f{} {:5.1f}M {:<15} {:6.1f} {:.2f} {} | bytes: {} | 4: {}\n", label, 8 * sizeof(T), a.nnz() / 1e6,
             chosen, taken, taken / best, us, bytes, many);
  std::fflush(stdout);
  return fmt::format(
      R"({{"matrix": "{}", "precision": "f{}", "fitted": {}, "nnz": {}, "chosen": "{}", "chosen_us": {:.1f}, "us": {{{}}}, "bytes_per_nonzero": {{{}}}, "rhs4_us": {{{}}}}})",
      label, 8 * sizeof(T), fitted, a.nnz(), chosen, taken, us, bytes, many);
}

}  // namespace

std::string time_choices(const context& ctx, int smaller) {
  std::string out;
  const auto add = [&](const std::string& record) { out += (out.empty() ? "\n" : ",\n") + record; };
  for (const family& f : families(15e6 / smaller)) {
    const auto patterns_of = [&f](int b) {
      const block_rows blocks = f.make(b);
      std::vector<std::pair<int, pattern>> made;
      for (const int percent : {100, f.fitted ? 80 : 90, f.fitted ? 60 : 70}) {
        made.emplace_back(percent, fill_blocks(blocks, b, percent / 100.0));
      }
      return made;
    };
    std::map<int, std::future<std::vector<std::pair<int, pattern>>>> made;  // side by side, as all are made on the host
    for (int b = 2; b <= 8; ++b) made[b] = std::async(std::launch::async, patterns_of, b);
    for (auto& [b, patterns] : made) {
      for (const auto& [percent, p] : patterns.get()) {
        const std::string label = fmt::format("{}, {} x {}, {}%", f.name, b, b, percent);
        add(time_kernels(ctx, matrix_of<double>(ctx, p), label, f.fitted));
        add(time_kernels(ctx, matrix_of<float>(ctx, p), label, f.fitted));
      }
    }
  }
  return "\"choices\": [" + out + "]";
}

}  // namespace tulle::bench
