// What `default` takes for matrices of blocks, beside every kernel that it could take, on families of block graphs,
// full and with holes. Families that the rule of choice was fitted on say so; the others judge it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "blocks.hpp"

namespace tulle::bench {
namespace {

/// Rows of block columns, sorted and without repeats.
using block_rows = std::vector<std::vector<index_t>>;

block_rows grid(index_t n, bool corners) {
  block_rows rows;
  for (index_t z = 0; z < n; ++z) {
    for (index_t y = 0; y < n; ++y) {
      for (index_t x = 0; x < n; ++x) {
        auto& row = rows.emplace_back();
        for (int d = 0; d < 27; ++d) {
          const index_t dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
          if (!corners && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1) continue;
          const index_t u = x + dx, v = y + dy, w = z + dz;
          if (std::min({u, v, w}) >= 0 && std::max({u, v, w}) < n) row.push_back((w * n + v) * n + u);
        }
      }
    }
  }
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

  template <scalar T>
  [[nodiscard]] csr<T> matrix(const context& ctx) const {
    const auto n = static_cast<index_t>(rowptr.size() - 1);
    return {n, n, to_buffer(ctx, rowptr), to_buffer(ctx, colind), to_buffer(ctx, std::vector<T>(colind.size(), T{1}))};
  }
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

struct family {
  std::string name;
  bool fitted;
  std::function<block_rows(int block)> make;
};

/// Of about `entries` entries each.
std::vector<family> families(double entries) {
  const auto side = [=](int b, int blocks) { return static_cast<index_t>(std::cbrt(entries / (b * b * blocks))); };
  const auto count = [=](int b, int blocks) { return static_cast<index_t>(entries / (b * b * blocks)); };
  return {{"27 neighbours in a cube", true, [=](int b) { return grid(side(b, 27), true); }},
          {"12 anywhere", true, [=](int b) { return scattered(count(b, 12), 12, 12, count(b, 12) / 2); }},
          {"7 neighbours in a cube", false, [=](int b) { return grid(side(b, 7), false); }},
          {"4 to 28 anywhere", false, [=](int b) { return scattered(count(b, 16), 4, 28, count(b, 16) / 2); }},
          {"9 within 500", true, [=](int b) { return scattered(count(b, 9), 9, 9, 500); }},
          {"5 to 15 within 3000", false, [=](int b) { return scattered(count(b, 10), 5, 15, 3000); }}};
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
  buffer<T> x = to_buffer(ctx, std::vector<T>(4 * n, T{1})), y(ctx, 4 * n);
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
  std::string us, many, chosen;
  double best = 0, taken = 0;
  for (const candidate& c : all) {
    const double time = std::ranges::min(c.times);
    if (c.name.empty()) {
      chosen = c.plan.kernel(), taken = time;
      continue;
    }
    best = best == 0 ? time : std::min(best, time);
    us += fmt::format("{}\"{}\": {:.1f}", us.empty() ? "" : ", ", c.name, time);
    if (c.name == "csr5") continue;
    many += fmt::format("{}\"{}\": {:.1f}", many.empty() ? "" : ", ", c.name,
                        microseconds(ctx, [&] { c.plan.apply_many(1, four(x), 0, four(y)); }));
  }
  fmt::print("{:<34} f{} {:5.1f}M {:<15} {:6.1f} {:.2f} {} | 4: {}\n", label, 8 * sizeof(T), a.nnz() / 1e6, chosen,
             taken, taken / best, us, many);
  return fmt::format(
      R"({{"matrix": "{}", "precision": "f{}", "fitted": {}, "nnz": {}, "chosen": "{}", "chosen_us": {:.1f}, "us": {{{}}}, "rhs4_us": {{{}}}}})",
      label, 8 * sizeof(T), fitted, a.nnz(), chosen, taken, us, many);
}

}  // namespace

std::string time_choices(const context& ctx, int smaller) {
  std::string out;
  const auto add = [&](const std::string& record) { out += (out.empty() ? "\n" : ",\n") + record; };
  for (const family& f : families(15e6 / smaller)) {
    for (const int b : {2, 3, 4, 6, 8}) {
      const block_rows blocks = f.make(b);
      for (const double fill : {1.0, f.fitted ? 0.8 : 0.9, f.fitted ? 0.6 : 0.7}) {
        const std::string label = fmt::format("{}, {} x {}, {:.0f}%", f.name, b, b, 100 * fill);
        const pattern p = fill_blocks(blocks, b, fill);
        add(time_kernels(ctx, p.matrix<double>(ctx), label, f.fitted));
        if (fill >= 0.8) add(time_kernels(ctx, p.matrix<float>(ctx), label, f.fitted));
      }
    }
  }
  return "\"choices\": [" + out + "]";
}

}  // namespace tulle::bench
