// Y = A X on the CPU beside MKL's inspector-executor, in one process, in turns, so that what disturbs one disturbs both.
// On several threads a turn begins when OpenMP's have gone to sleep, and with a millisecond that is not measured.
// bench/compare_spmm_cpu.py builds and runs it; it is no part of the build.
//
//   spmm_cpu_peers THREADS MILLISECONDS MKL_LIBRARY|- [MATRIX|families:NONZEROS:VARIANT]...
//
// One JSON record a line on stdout for each matrix, type, number of columns and order. MILLISECONDS: spent on each
// record, about. Values and X are random; every answer is held to tulle's bound. The matrix and the vectors are in the
// caches as far as they fit.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "mkl_library.hpp"
#include "openmp_turns.hpp"
#include "spmv_families.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using json = nlohmann::ordered_json;
using tulle::index_t;
using tulle::vector_order;

double microseconds(clock_type::time_point since) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - since).count();
}

struct pattern {
  std::string name;
  tulle::csr<double, std::int32_t> a;
};

template <class T>
struct problem {
  tulle::csr<T, std::int32_t> a;
  index_t columns = 0;
  vector_order order = vector_order::row_major;
  std::vector<T> x, y;

  [[nodiscard]] std::int64_t ld(index_t rows) const { return order == vector_order::row_major ? columns : rows; }
  [[nodiscard]] std::size_t at(index_t i, index_t j, index_t rows) const {
    return static_cast<std::size_t>(order == vector_order::row_major ? std::int64_t{i} * columns + j
                                                                     : i + std::int64_t{j} * rows);
  }
};

/// One way to compute Y, ready to run.
struct peer {
  std::string name;
  std::string how;
  std::function<void()> apply;
  double error_ratio = 0;
  std::vector<double> times = {};
};

template <class T>
peer make_mkl(const mkl_library& mkl, problem<T>& p) {
  constexpr bool wide = sizeof(T) == 8;
  void* handle = nullptr;
  constexpr int no_transpose = 10;
  const int layout = p.order == vector_order::row_major ? 101 : 102;
  const mkl_library::descriptor general;
  auto* rowptr = p.a.rowptr.data();
  check(mkl.get<int(void**, int, int, int, int*, int*, int*, T*)>(wide ? "mkl_sparse_d_create_csr"
                                                                       : "mkl_sparse_s_create_csr")(
      &handle, 0, p.a.rows, p.a.cols, rowptr, rowptr + 1, p.a.colind.data(), p.a.values.data()));
  check(mkl.get<int(void*, int, mkl_library::descriptor, int, int, int)>("mkl_sparse_set_mm_hint")(
      handle, no_transpose, general, layout, p.columns, 1000));
  check(mkl.get<int(void*)>("mkl_sparse_optimize")(handle));
  auto* mm = mkl.get<int(int, T, void*, mkl_library::descriptor, int, const T*, int, int, T, T*, int)>(
      wide ? "mkl_sparse_d_mm" : "mkl_sparse_s_mm");
  auto* destroy = mkl.get<int(void*)>("mkl_sparse_destroy");
  const std::shared_ptr<void> owner(handle, [destroy](void* h) { destroy(h); });
  return {"mkl", "inspector-executor", [=, &p] {
            check(mm(no_transpose, T{1}, owner.get(), general, layout, p.x.data(), p.columns,
                     static_cast<int>(p.ld(p.a.cols)), T{0}, p.y.data(), static_cast<int>(p.ld(p.a.rows))));
          }};
}

template <class T>
peer make_tulle(const tulle::context& ctx, problem<T>& p, const std::string& kernel) {
  tulle::spmv_options options;
  options.kernel = kernel;
  options.columns = p.columns;  // as MKL is told
  options.columns_order = p.order;
  const auto plan = std::make_shared<tulle::spmv_plan<T>>(ctx, p.a, options);
  const tulle::scalar_type type = tulle::scalar_type_of<T>;
  const tulle::memory_space host = tulle::memory_space::host;
  const tulle::const_multivector_ref x{type, p.a.cols, p.columns, p.ld(p.a.cols), p.order, p.x.data(), host};
  const tulle::multivector_ref y{type, p.a.rows, p.columns, p.ld(p.a.rows), p.order, p.y.data(), host};
  return {kernel.empty() ? "tulle" : kernel, plan->explain(),
          [plan, x, y] { plan->tulle::linear_operator::apply_many(1, x, 0, y); }};
}

/// The largest error over its bound, of one column.
template <class T>
double error_ratio(const tulle::context& ctx, const problem<T>& p, index_t column) {
  std::vector<T> x(static_cast<std::size_t>(p.a.cols)), y(static_cast<std::size_t>(p.a.rows));
  for (index_t i = 0; i < p.a.cols; ++i) x[static_cast<std::size_t>(i)] = p.x[p.at(i, column, p.a.cols)];
  for (index_t i = 0; i < p.a.rows; ++i) y[static_cast<std::size_t>(i)] = p.y[p.at(i, column, p.a.rows)];
  const auto reference =
      tulle::reference_spmv<T>(ctx, T{1}, p.a.view(), tulle::host_span<const T>(x.data(), x.size()), T{0}, {});
  return tulle::error_ratio(reference, tulle::host_span<const T>(y.data(), y.size()));
}

double median(std::vector<double> t) {
  std::ranges::nth_element(t, t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2));
  return t[t.size() / 2];
}

template <class T>
problem<T> make_problem(const tulle::context& ctx, const pattern& from, index_t columns, vector_order order) {
  problem<T> p;
  p.a.rows = from.a.rows;
  p.a.cols = from.a.cols;
  p.a.rowptr = tulle::buffer<std::int32_t>(ctx, from.a.rowptr.size());
  p.a.colind = tulle::buffer<index_t>(ctx, from.a.colind.size());
  p.a.values = tulle::buffer<T>(ctx, from.a.values.size());
  std::copy_n(from.a.rowptr.data(), from.a.rowptr.size(), p.a.rowptr.data());
  std::copy_n(from.a.colind.data(), from.a.colind.size(), p.a.colind.data());
  std::copy_n(from.a.values.data(), from.a.values.size(), p.a.values.data());
  p.columns = columns;
  p.order = order;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> in(-1, 1);
  p.x.resize(static_cast<std::size_t>(p.a.cols) * static_cast<std::size_t>(columns));
  std::ranges::generate(p.x, [&] { return in(random); });
  p.y.resize(static_cast<std::size_t>(p.a.rows) * static_cast<std::size_t>(columns));
  return p;
}

/// What the other left in the caches is gone. `alone`: on one thread.
void warm_up(const peer& of, bool alone) {
  if (alone) return of.apply();
  tulle::bench::wait_for_sleep();
  tulle::bench::keep_awake(std::chrono::milliseconds(1), of.apply);
}

template <class T>
void run(const tulle::context& ctx, const mkl_library* mkl, const pattern& from, index_t columns, vector_order order,
         double budget, const std::vector<std::string>& kernels) {
  problem<T> p = make_problem<T>(ctx, from, columns, order);
  std::vector<peer> peers{make_tulle(ctx, p, "")};
  for (const std::string& kernel : kernels) peers.push_back(make_tulle(ctx, p, kernel));
  if (mkl != nullptr) peers.push_back(make_mkl(*mkl, p));
  double once = 0;
  for (peer& each : peers) {
    std::ranges::fill(p.y, std::numeric_limits<T>::quiet_NaN());
    each.apply();
    each.error_ratio = error_ratio(ctx, p, columns - 1);
    const auto start = clock_type::now();
    each.apply();
    once += microseconds(start);
  }
  const bool alone = ctx.threads() == 1;
  const int calls = static_cast<int>(std::clamp(100 / once, 1.0, 50.0));  // at least about 100 us a sample
  const int samples = static_cast<int>(std::clamp(1000 * budget / (once * calls), 5.0, 51.0));
  const int of_turn = alone ? 1 : (samples + 4) / 5;
  for (int i = 0; i < samples; i += of_turn) {
    for (peer& each : peers) {
      warm_up(each, alone);
      for (int k = 0; k < of_turn; ++k) {
        const auto start = clock_type::now();
        for (int c = 0; c < calls; ++c) each.apply();
        each.times.push_back(microseconds(start) / calls);
      }
    }
  }
  json out = {{"matrix", from.name},      {"type", sizeof(T) == 8 ? "f64" : "f32"},
              {"columns", columns},       {"order", order == vector_order::row_major ? "row" : "column"},
              {"threads", ctx.threads()}, {"rows", p.a.rows},
              {"nnz", p.a.nnz()}};
  for (const peer& each : peers) {
    out[each.name] = {{"us", median(each.times)},
                      {"min_us", std::ranges::min(each.times)},
                      {"error_ratio", each.error_ratio},
                      {"how", each.how}};
  }
  std::printf("%s\n", out.dump().c_str());
  std::fflush(stdout);
}

tulle::csr<double, std::int32_t> from_arrays(const tulle::context& ctx, index_t rows, index_t cols, std::size_t nnz,
                                             const auto* rowptr, const index_t* colind) {
  tulle::csr<double, std::int32_t> a;
  a.rows = rows;
  a.cols = cols;
  a.rowptr = tulle::buffer<std::int32_t>(ctx, static_cast<std::size_t>(rows) + 1);
  a.colind = tulle::buffer<index_t>(ctx, nnz);
  a.values = tulle::buffer<double>(ctx, nnz);
  std::copy_n(rowptr, static_cast<std::size_t>(rows) + 1, a.rowptr.data());
  std::copy_n(colind, nnz, a.colind.data());
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> in(-1, 1);
  std::generate_n(a.values.data(), nnz, [&] { return in(random); });
  return a;
}

void for_each_pattern(const tulle::context& ctx, const std::string& spec,
                      const std::function<void(const pattern&)>& f) {
  if (!spec.starts_with("families:")) {
    const auto wide =
        tulle::is_generator(spec) ? tulle::generate<double>(ctx, spec) : tulle::read_matrix_market<double>(spec);
    f({spec.substr(spec.find_last_of('/') + 1),
       from_arrays(ctx, wide.rows, wide.cols, wide.colind.size(), wide.rowptr.data(), wide.colind.data())});
    return;
  }
  const double nonzeros = std::stod(spec.substr(9));
  const int variant = std::stoi(spec.substr(spec.find_last_of(':') + 1));
  for (const tulle::bench::family& family : tulle::bench::spmv_families()) {
    std::string label = family.name + " ";
    const tulle::bench::pattern made = family.make(nonzeros, variant, label);
    if (made.colind.empty()) continue;
    f({label, from_arrays(ctx, made.rows(), made.cols, made.colind.size(), made.rowptr.data(), made.colind.data())});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4) {
    std::fprintf(stderr,
                 "spmm_cpu_peers THREADS MILLISECONDS MKL_LIBRARY|- [--kernel NAME]... [--columns N]... MATRIX...\n");
    return 2;
  }
  try {
    const auto ctx = tulle::context::cpu(std::stoi(arguments[0]));
    const double budget = std::stod(arguments[1]);
    std::unique_ptr<mkl_library> mkl;
    if (arguments[2] != "-") {
      mkl = std::make_unique<mkl_library>(arguments[2].c_str());
      mkl->get<void(int)>("MKL_Set_Num_Threads")(ctx.threads());
    }
    std::vector<std::string> kernels, matrices;
    std::vector<index_t> columns;
    for (std::size_t i = 3; i < arguments.size(); ++i) {
      if (arguments[i] == "--kernel") {
        kernels.push_back(arguments[++i]);
      } else if (arguments[i] == "--columns") {
        columns.push_back(std::stoi(arguments[++i]));
      } else {
        matrices.push_back(arguments[i]);
      }
    }
    if (columns.empty()) columns = {8, 32};
    for (const std::string& spec : matrices) {
      for_each_pattern(ctx, spec, [&](const pattern& p) {
        for (const index_t count : columns) {
          for (const vector_order order : {vector_order::row_major, vector_order::column_major}) {
            run<float>(ctx, mkl.get(), p, count, order, budget, kernels);
            run<double>(ctx, mkl.get(), p, count, order, budget, kernels);
          }
        }
      });
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
