// y = A x on the CPU beside MKL's inspector-executor and Eigen, in one process and one OpenMP runtime, in turns, so that
// what disturbs one disturbs all. bench/compare_spmv_cpu.py builds and runs it; it is no part of the build.
//
//   spmv_cpu_peers MATRIX f32|f64 THREADS REPEATS MKL_LIBRARY|- DUMP_FOLDER|- [KERNEL...]
//
// One JSON document on stdout. With a dump folder, the matrix, x and the reference go there as raw arrays.
#include <Eigen/Sparse>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <tulle/tulle.hpp>
#include <vector>

#include "mkl_library.hpp"
#include "openmp_turns.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using json = nlohmann::ordered_json;
using tulle::index_t;

double microseconds(clock_type::time_point since) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - since).count();
}

/// One way to compute y, ready to run.
struct peer {
  std::string name;
  std::string how;
  double plan_us = 0;
  std::function<void()> apply;
  double moved_bytes = 0;  // matrix as stored, x and y; 0 where that is not known
  double error_ratio = 0;
  std::vector<double> cold, warm;
};

/// Overwrites more than the last-level cache, on threads that end.
void evict(int threads) {
  static std::vector<unsigned char> bytes(std::size_t{512} << 20);
  const auto part = [&](int of) {
    const std::size_t share = bytes.size() / static_cast<std::size_t>(threads);
    for (std::size_t i = 0; i < share; i += 64) ++bytes[static_cast<std::size_t>(of) * share + i];
  };
  std::vector<std::jthread> all;
  for (int i = 1; i < threads; ++i) all.emplace_back(part, i);
  part(0);
}

template <class T>
struct problem {
  tulle::csr<T, std::int32_t> a;
  std::vector<T> x, y;
  tulle::spmv_reference reference;
};

/// `aggressive`: MKL may keep a copy in a format of its own.
template <class T>
peer make_mkl(const mkl_library& mkl, problem<T>& p, bool aggressive) {
  constexpr bool wide = sizeof(T) == 8;
  void* handle = nullptr;
  constexpr int no_transpose = 10;
  const mkl_library::descriptor general;
  const auto start = clock_type::now();
  auto* rowptr = p.a.rowptr.data();
  check(mkl.get<int(void**, int, int, int, int*, int*, int*, T*)>(wide ? "mkl_sparse_d_create_csr" : "mkl_sparse_s_create_csr")(
      &handle, 0, p.a.rows, p.a.cols, rowptr, rowptr + 1, p.a.colind.data(), p.a.values.data()));
  check(mkl.get<int(void*, int, mkl_library::descriptor, int)>("mkl_sparse_set_mv_hint")(handle, no_transpose, general, 10000));
  check(mkl.get<int(void*, int)>("mkl_sparse_set_memory_hint")(handle, aggressive ? 81 : 80));
  check(mkl.get<int(void*)>("mkl_sparse_optimize")(handle));
  const double plan = microseconds(start);
  auto* mv = mkl.get<int(int, T, void*, mkl_library::descriptor, const T*, T, T*)>(wide ? "mkl_sparse_d_mv" : "mkl_sparse_s_mv");
  return {aggressive ? "mkl" : "mkl.in_place", "inspector-executor", plan,
          [=, &p] { check(mv(no_transpose, T{1}, handle, general, p.x.data(), T{0}, p.y.data())); }};
}

template <class T>
peer make_eigen(problem<T>& p) {
  using matrix = Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>>;
  const matrix a(p.a.rows, p.a.cols, static_cast<int>(p.a.nnz()), p.a.rowptr.data(), p.a.colind.data(), p.a.values.data());
  return {"eigen", "row-major, OpenMP", 0,
          [&p, a] {
            const Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> x(p.x.data(), p.a.cols);
            Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(p.y.data(), p.a.rows).noalias() = a * x;
          }};
}

template <class T>
peer make_tulle(const tulle::context& ctx, problem<T>& p, const std::string& kernel) {
  tulle::spmv_options options;
  options.kernel = kernel;
  const auto start = clock_type::now();
  const auto plan = std::make_shared<tulle::spmv_plan<T>>(ctx, p.a, options);
  const double time = microseconds(start);
  const double moved = static_cast<double>(plan->matrix_bytes() + sizeof(T) * (p.x.size() + p.y.size()));
  return {kernel.empty() ? "tulle" : "tulle:" + kernel, plan->explain(), time,
          [plan, &p] {
            plan->apply(T{1}, tulle::host_span<const T>(p.x.data(), p.x.size()), T{0}, tulle::host_span<T>(p.y.data(), p.y.size()));
          },
          moved};
}

template <class T>
problem<T> load(const tulle::context& ctx, const std::string& spec) {
  const bool generated = tulle::is_generator(spec);
  auto wide = generated ? tulle::generate<T>(ctx, spec) : tulle::read_matrix_market<T>(spec);
  problem<T> p;
  p.a.rows = wide.rows;
  p.a.cols = wide.cols;
  p.a.rowptr = tulle::buffer<std::int32_t>(ctx, wide.rowptr.size());
  std::copy_n(wide.rowptr.data(), wide.rowptr.size(), p.a.rowptr.data());
  p.a.colind = std::move(wide.colind);
  p.a.values = std::move(wide.values);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> in(-1, 1);
  if (!generated) std::generate_n(p.a.values.data(), p.a.values.size(), [&] { return in(random); });  // patterns hold ones
  p.x.resize(static_cast<std::size_t>(p.a.cols));
  std::ranges::generate(p.x, [&] { return in(random); });
  p.y.resize(static_cast<std::size_t>(p.a.rows));
  p.reference = tulle::reference_spmv<T>(ctx, T{1}, p.a.view(), tulle::host_span<const T>(p.x.data(), p.x.size()), T{0}, {});
  return p;
}

template <class V>
void dump(const std::string& file, const V* data, std::size_t count) {
  std::FILE* f = std::fopen(file.c_str(), "wb");
  if (f == nullptr || std::fwrite(data, sizeof(V), count, f) != count || std::fclose(f) != 0) throw std::runtime_error(file);
}

template <class T>
void dump(const problem<T>& p, const std::string& folder) {
  dump(folder + "/rowptr", p.a.rowptr.data(), p.a.rowptr.size());
  dump(folder + "/colind", p.a.colind.data(), p.a.colind.size());
  dump(folder + "/values", p.a.values.data(), p.a.values.size());
  dump(folder + "/x", p.x.data(), p.x.size());
  dump(folder + "/reference", p.reference.value.data(), p.reference.value.size());
  dump(folder + "/bound", p.reference.bound.data(), p.reference.bound.size());
}

/// In turns: one cold run of each, then of each two to fill the caches and three timed. On several threads a cold run
/// begins with all of them asleep, and on warm ones they are awake.
void measure(std::vector<peer>& peers, int threads, int repeats) {
  for (int i = 0; i < repeats; ++i) {
    std::ranges::rotate(peers, peers.begin() + 1);  // none is always the first
    for (peer& p : peers) {
      evict(threads);
      if (threads > 1) tulle::bench::wait_for_sleep();
      auto start = clock_type::now();
      p.apply();
      p.cold.push_back(microseconds(start));
      if (threads > 1) tulle::bench::keep_awake(std::chrono::milliseconds(1), p.apply);
      for (int k = 0; k < 5; ++k) {
        start = clock_type::now();
        p.apply();
        if (k >= 2) p.warm.push_back(microseconds(start));
      }
    }
  }
}

json times(std::vector<double> t) {
  std::ranges::sort(t);
  return {{"min", t.front()}, {"median", t[t.size() / 2]}};
}

template <class T>
json run(const std::vector<std::string>& arguments) {
  const int threads = std::stoi(arguments[2]);
  const auto ctx = tulle::context::cpu(threads);
  problem<T> p = load<T>(ctx, arguments[0]);
  if (arguments[5] != "-") dump(p, arguments[5]);
  std::vector<peer> peers;
  peers.push_back(make_tulle(ctx, p, ""));
  for (std::size_t i = 6; i < arguments.size(); ++i) {
    try {
      peers.push_back(make_tulle(ctx, p, arguments[i]));
    } catch (const tulle::error& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
  }
  if (arguments[4] != "-") {
    static const mkl_library mkl(arguments[4].c_str());
    mkl.get<void(int)>("MKL_Set_Num_Threads")(threads);
    peers.push_back(make_mkl(mkl, p, true));
    peers.push_back(make_mkl(mkl, p, false));
  }
  Eigen::setNbThreads(threads);
  peers.push_back(make_eigen(p));
  for (peer& each : peers) {
    std::ranges::fill(p.y, std::numeric_limits<T>::quiet_NaN());
    each.apply();
    each.error_ratio = tulle::error_ratio(p.reference, tulle::host_span<const T>(p.y.data(), p.y.size()));
  }
  const std::string first = peers.front().name;
  measure(peers, threads, std::stoi(arguments[3]));
  std::ranges::rotate(peers, std::ranges::find(peers, first, &peer::name));
  json out = {{"matrix", arguments[0]}, {"precision", arguments[1]}, {"rows", p.a.rows}, {"cols", p.a.cols}, {"nnz", p.a.nnz()}};
  for (const peer& each : peers) {
    out["peers"].push_back({{"name", each.name}, {"how", each.how}, {"plan_us", each.plan_us}, {"cold_us", times(each.cold)},
                            {"warm_us", times(each.warm)}, {"error_ratio", each.error_ratio}, {"moved_bytes", each.moved_bytes}});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 6) {
    std::fprintf(stderr, "spmv_cpu_peers MATRIX f32|f64 THREADS REPEATS MKL_LIBRARY|- DUMP_FOLDER|- [KERNEL...]\n");
    return 2;
  }
  try {
    std::printf("%s\n", (arguments[1] == "f32" ? run<float>(arguments) : run<double>(arguments)).dump().c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
