// C = U V^T at the entries of a pattern beside cuSPARSE's cusparseSDDMM, in turns, with a cold L2 and a warm one
// (docs/notes/0026-sddmm-and-spmm-cpu.md): `tulle_sddmm [-o FILE] [--seconds N] [MATRIX...]`, matrices being files or
// gen:... `cpu`: on the CPU, beside nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "record.hpp"

namespace {

using namespace tulle;
using bench::row;

const row header = {"matrix",          "type",       "k",         "order",       "nnz",        "ours cold, µs",
                    "vendor cold, µs", "cold ratio", "ours warm", "vendor warm", "warm ratio", "GB/s of V",
                    "error / bound"};

/// U or V: `rows` of k features.
template <scalar T>
struct features {
  buffer<T> data;
  const_multivector_ref ref;

  features(const context& ctx, index_t rows, index_t k, vector_order order, std::uint64_t seed)
      : data(ctx, static_cast<std::size_t>(rows) * static_cast<std::size_t>(k)),
        ref(scalar_type_of<T>, rows, k, order == vector_order::row_major ? k : rows, order, data.data(), ctx.space(),
            ctx.device()) {
    vector_ops(ctx).random(seed, data);
  }
};

/// The largest error over its bound among a few thousand entries.
template <scalar T>
double error_ratio(const context& ctx, const csr<T, std::int64_t>& a, const features<T>& u, const features<T>& v,
                   const buffer<T>& c) {
  const std::vector<T> all_u = to_vector(ctx, u.data), all_v = to_vector(ctx, v.data), all_c = to_vector(ctx, c);
  const index_t k = u.ref.count;
  const long double n = (k + 4) * static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  double worst = 0;
  const std::int64_t step = std::max<std::int64_t>(1, a.nnz() / 4001);
  index_t i = 0;
  for (std::int64_t e = 0; e < a.nnz(); e += step) {
    while (a.rowptr.data()[i + 1] <= e) ++i;
    const index_t j = a.colind.data()[e];
    long double sum = 0, size = 0;
    for (index_t f = 0; f < k; ++f) {
      const long double term =
          static_cast<long double>(
              all_u[static_cast<std::size_t>(i * u.ref.row_stride() + f * u.ref.vector_stride())]) *
          all_v[static_cast<std::size_t>(j * v.ref.row_stride() + f * v.ref.vector_stride())];
      sum += term;
      size += std::fabs(term);
    }
    worst = std::max(worst,
                     static_cast<double>(std::fabs(all_c[static_cast<std::size_t>(e)] - sum) / (n / (1 - n) * size)));
  }
  return worst;
}

struct times {
  std::vector<double> cold, warm;
};

/// In turns: one cold run of each, then a warm one.
std::vector<times> by_turns(const context& ctx, double seconds, const std::vector<std::function<void()>>& peers) {
  const std::size_t flushed = ctx.backend() == backend_kind::cpu ? std::size_t{64} << 20 : std::size_t{256} << 20;
  static buffer<float> flush(ctx, flushed / sizeof(float));
  std::vector<times> all(peers.size());
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds;
  };
  for (int i = 0; i < 3 || (i < 23 && left()); ++i) {
    for (std::size_t p = 0; p < peers.size(); ++p) {
      fill_bytes(ctx, flush.data(), ctx.space(), i, flush.bytes());
      const double cold = bench::sample(ctx, 1, peers[p]), warm = bench::sample(ctx, 1, peers[p]);
      if (i == 0) continue;
      all[p].cold.push_back(cold);
      all[p].warm.push_back(warm);
    }
  }
  return all;
}

template <scalar T>
row measure(const context& ctx, const std::string& name, const csr<T, std::int64_t>& host, const matrix_ref& a,
            index_t k, vector_order order, double seconds) {
  const bool by_row = order == vector_order::row_major;
  const features<T> u(ctx, a.rows, k, order, 1), v(ctx, a.cols, k, order, 2);
  buffer<T> c(ctx, static_cast<std::size_t>(a.nnz)), other(ctx, static_cast<std::size_t>(a.nnz));
  const any_sddmm_plan ours(ctx, a, {.column_major = !by_row});
  std::vector<std::function<void()>> peers{[&] { ours.apply(1, u.ref, v.ref, 0, c); }};
  std::optional<any_sddmm_plan> vendor;
  if (ctx.backend() == backend_kind::cuda) {
    vendor.emplace(ctx, a, sddmm_options{.kernel = "cusparse.sddmm"});
    peers.emplace_back([&] { vendor->apply(1, u.ref, v.ref, 0, other); });
  }
  const std::vector<times> t = by_turns(ctx, seconds, peers);
  const auto us = [](double value) { return fmt::format("{:.1f}", value); };
  const double cold = bench::median(t[0].cold), warm = bench::median(t[0].warm);
  const double vendor_cold = vendor ? bench::median(t[1].cold) : NAN,
               vendor_warm = vendor ? bench::median(t[1].warm) : NAN;
  row out{name,
          std::string(tulle::name(scalar_type_of<T>)),
          std::to_string(k),
          std::string(tulle::name(order)),
          std::to_string(a.nnz),
          us(cold),
          us(vendor_cold),
          fmt::format("{:.2f}", vendor_cold / cold),
          us(warm),
          us(vendor_warm),
          fmt::format("{:.2f}", vendor_warm / warm),
          us(static_cast<double>(a.nnz) * k * sizeof(T) / cold / 1000),
          fmt::format("{:.3f}", error_ratio<T>(ctx, host, u, v, c))};
  fmt::print("{}\n", fmt::join(out, "  "));
  std::fflush(stdout);
  return out;
}

template <scalar T>
void run(const context& ctx, const std::string& spec, double seconds, std::vector<row>& rows) {
  const context host = context::cpu();
  const csr<T, std::int64_t> a = is_generator(spec) ? generate<T>(host, spec) : read_matrix_market<T>(spec);
  buffer<std::int32_t> rowptr(host, a.rowptr.size());  // cuSPARSE takes no others
  std::copy_n(a.rowptr.data(), a.rowptr.size(), rowptr.data());
  const csr_view<T, std::int32_t> narrow{a.rows,
                                         a.cols,
                                         static_cast<std::int32_t>(a.nnz()),
                                         rowptr.data(),
                                         a.colind.data(),
                                         a.values.data(),
                                         memory_space::host};
  const matrix_ref there = clone(ctx, matrix_ref(narrow));
  const std::string name = spec.substr(spec.find_last_of('/') + 1);
  for (const index_t k : {32, 128}) {
    for (const vector_order order : {vector_order::row_major, vector_order::column_major}) {
      if (order == vector_order::column_major && k == 128) continue;
      try {
        rows.push_back(measure<T>(ctx, name, a, there, k, order, seconds));
      } catch (const error& e) {
        fmt::print("{} {} k={}: {}\n", name, tulle::name(scalar_type_of<T>), k, e.what());
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  double seconds = 0.5;
  bool on_cpu = false;
  std::vector<std::string> matrices;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "-o" && i + 1 < argc) {
      file = argv[++i];
    } else if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::stod(argv[++i]);
    } else if (argument == "cpu") {
      on_cpu = true;
    } else {
      matrices.push_back(argument);
    }
  }
  const context ctx = on_cpu ? context::cpu() : context::cuda();
  std::vector<row> rows;
  for (const std::string& matrix : matrices) {
    run<float>(ctx, matrix, seconds, rows);
    run<double>(ctx, matrix, seconds, rows);
    if (!file.empty() && bench::write_record(file, ctx, header, rows) != 0) return 1;
  }
}
