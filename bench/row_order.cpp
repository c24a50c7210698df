// Rows of CSR in order and in order of length beside MKL and SciPy's loop; no part of the build:
//
//   g++ -std=c++20 -O3 -fopenmp -I. -Isrc -Iinclude bench/row_order.cpp bench/spmv_families.cpp bench/spmv_peers.cpp
//   -lfmt -ldl TULLE_MKL=.../libmkl_rt.so ./a.out > bench/results/row_order_cpu.json
//
// One thread, warm, in turns, the least of some short ones; answers of the two are the same bits, or it stops.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/spmv_families.hpp"
#include "bench/spmv_peers.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/rows_by_length.cpp"

namespace tulle::bench {
namespace {

using clock = std::chrono::steady_clock;

struct way {
  std::string name;
  std::function<void()> apply;
  double least = 1e30;
};

/// Microseconds of one application, the least of seven turns of each.
void measure(std::vector<way>& ways) {
  for (int turn = 0; turn < 7; ++turn) {
    for (way& w : ways) {
      const auto begin = clock::now();
      double us = 0;
      int times = 0;
      for (; us < 300 || times < 3; ++times) {
        w.apply();
        us = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
      }
      w.least = std::min(w.least, us / times);
    }
  }
}

template <scalar V>
std::string row_of(const family& from, double nnz) {
  std::string parameters;
  const pattern p = from.make(nnz, 0, parameters);
  std::mt19937_64 random(1);
  const auto number = [&] { return static_cast<V>(0.5 + static_cast<double>(random() >> 11) * 0x1p-53); };
  std::vector<V> values(p.colind.size()), x(static_cast<std::size_t>(p.cols));
  std::ranges::generate(values, number);
  std::ranges::generate(x, number);
  std::vector<V> in_order(p.rowptr.size() - 1), by_length(in_order), theirs(in_order);
  const csr_view<V, std::int32_t> a{p.rows(),        p.cols,          static_cast<std::int32_t>(values.size()),
                                    p.rowptr.data(), p.colind.data(), values.data()};
  const cpu::row_order order(p.rowptr.data(), 0, a.rows);
  std::vector<way> ways{{"in order",
                         [&] {
                           cpu::scaled<V> out{{1, 0}, in_order.data()};
                           cpu::multiply_rows(cpu::row_path::avx2, a, 0, a.rows, x.data(), out);
                         }},
                        {"in order of length", [&] {
                           cpu::scaled<V> out{{1, 0}, by_length.data()};
                           cpu::multiply_rows_by_length(a, order, 0, x.data(), out);
                         }}};
  for (auto& [name, apply] : spmv_peers<V>(a, x.data(), theirs.data(), 1)) ways.push_back({name, std::move(apply)});
  measure(ways);
  if (in_order != by_length) std::exit(1);
  std::string row =
      fmt::format("[\"{} {}\", \"{}\", \"{}\"", from.name, parameters, a.nnz, sizeof(V) == 8 ? "f64" : "f32");
  for (const way& w : ways) row += fmt::format(", \"{:.4g}\"", w.least);
  return row + "]";
}

}  // namespace
}  // namespace tulle::bench

int main() {
  using namespace tulle::bench;
  std::string rows;
  for (const double nnz : {12'000.0, 40'000.0, 400'000.0}) {
    for (const family& f : spmv_families()) {
      if (f.name != "R-MAT" && f.name != "k a row" && f.name != "nets of a circuit" && f.name != "1 or 9 a row")
        continue;
      for (const std::string& row : {row_of<double>(f, nnz), row_of<float>(f, nnz)})
        rows += (rows.empty() ? "" : ",\n") + row;
    }
  }
  constexpr auto header =
      R"(["matrix", "nonzeros", "", "rows in place, µs", "in order of length", "`mkl`", "`mkl.in_place`", "Eigen", "SciPy"])";
  fmt::print("{{\"context\": {{}},\n\"header\": {},\n\"rows\": [\n{}]}}\n", header, rows);
}
