// A x = b by conjugate gradients with Jacobi's preconditioner on the CPU beside Eigen's, in one process, in turns, so
// that what disturbs one disturbs all. It is no part of the build:
//
//   g++ -std=c++20 -O3 -march=native -fopenmp -DNDEBUG -Iinclude -Ibuild/cpu-only/include -I/usr/include/eigen3
//       bench/cg_cpu_peers.cpp build/cpu-only/src/libtulle.a -lfmt -lz -lzstd -llzma -ldl -o cg_cpu_peers
//   cg_cpu_peers THREADS REPEATS ITERATIONS FILE.json MATRIX...
//
// Per matrix and solver one line: microseconds an iteration (median and least over the repeats; every solve takes so
// many iterations, fewer of large matrices, whatever its residual) and the true residual. The model is what cg.fused
// moves: the bytes of its matrix and 12 vectors, at the triad bandwidth of the same run. FILE.json is what
// tools/bench_table.py makes tables of.
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/Sparse>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct peer {
  std::string name;
  std::function<int(std::vector<double>& x)> solve;  // returns the iterations
  std::vector<double> microseconds;                  // an iteration
  double residual = 0, median = 0;
};

double seconds(clock_type::time_point since) {
  return std::chrono::duration<double>(clock_type::now() - since).count();
}

/// Bytes a second of a = b + s c.
double triad(int threads) {
  const std::size_t n = std::size_t{1} << 26;
  std::vector<double> a(n), b(n), c(n);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const auto begin = clock_type::now();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3 * c[i];
    best = std::max(best, 3.0 * 8 * static_cast<double>(n) / seconds(begin));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return std::fprintf(stderr, "usage: cg_cpu_peers THREADS REPEATS ITERATIONS FILE.json MATRIX...\n"), 2;
  const int threads = std::atoi(argv[1]), repeats = std::atoi(argv[2]), most = std::atoi(argv[3]);
  Eigen::setNbThreads(threads);
  const tulle::context ctx = tulle::context::cpu(threads);
  const double bandwidth = triad(threads);
  std::printf("triad %.1f GB/s\n", bandwidth * 1e-9);
  std::string rows;
  for (int arg = 5; arg < argc; ++arg) {
    const std::string spec = argv[arg];
    const auto a =
        tulle::is_generator(spec) ? tulle::generate<double>(ctx, spec) : tulle::read_matrix_market<double>(spec);
    const std::vector<int> rowptr(a.rowptr.data(), a.rowptr.data() + a.rows + 1);
    using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
    const Eigen::Map<const matrix> mapped(a.rows, a.cols, static_cast<int>(a.values.size()), rowptr.data(),
                                          a.colind.data(), a.values.data());
    const double n = a.rows, nnz = static_cast<double>(a.values.size());
    const int iterations = std::clamp(static_cast<int>(2e9 / nnz), 10, most);
    std::vector<double> b(static_cast<std::size_t>(a.rows));
    tulle::vector_ops(ctx).random(1, b);

    std::vector<peer> peers;
    Eigen::ConjugateGradient<matrix, Eigen::Lower | Eigen::Upper> eigen;
    eigen.compute(mapped);
    eigen.setTolerance(1e-300);
    eigen.setMaxIterations(iterations);
    peers.push_back({"Eigen", [&](std::vector<double>& x) {
                       const Eigen::Map<const Eigen::VectorXd> rhs(b.data(), a.rows);
                       Eigen::Map<Eigen::VectorXd>(x.data(), a.rows) = eigen.solve(rhs);
                       return static_cast<int>(eigen.iterations());
                     }});
    std::vector<tulle::cg_solver> solvers;
    solvers.reserve(8);
    for (const auto& k : tulle::kernels(tulle::backend_kind::cpu)) {
      if (k.operation != tulle::kernel_operation::cg) continue;
      tulle::cg_options options;
      options.rtol = 0;
      options.max_iterations = iterations;
      options.zero_guess = true;
      options.kernel = k.name;
      const auto begin = clock_type::now();
      solvers.emplace_back(ctx, a, options);
      const double setup = seconds(begin) * 1e3;
      peers.push_back({std::string(k.name),
                       [&b, &s = solvers.back()](std::vector<double>& x) { return s.solve(b, x).iterations; }});
      std::printf("%s: set-up %.2f ms: %s\n", spec.c_str(), setup, solvers.back().explain().c_str());
    }
    for (int round = 0; round <= repeats; ++round) {
      for (peer& p : peers) {
        std::vector<double> x(b.size());
        const auto begin = clock_type::now();
        const int done = p.solve(x);
        const double time = seconds(begin) * 1e6 / std::max(done, 1);
        if (round > 0) p.microseconds.push_back(time);
        const Eigen::Map<const Eigen::VectorXd> rhs(b.data(), a.rows), solution(x.data(), a.rows);
        p.residual = (rhs - mapped * solution).norm() / rhs.norm();
      }
    }
    tulle::spmv_options packed;
    packed.kernel = "packed";
    const double bytes = static_cast<double>(tulle::any_spmv_plan(ctx, a, packed).matrix_bytes());
    const double model = (bytes + 8 * 12 * n) / bandwidth * 1e6;
    for (peer& p : peers) {
      std::ranges::sort(p.microseconds);
      p.median = p.microseconds[p.microseconds.size() / 2];
      std::printf("%-40s %-16s %9.2f us (least %9.2f)  %5.2f of Eigen  %5.2f of the model of %.2f us, residual %.2e\n",
                  spec.c_str(), p.name.c_str(), p.median, p.microseconds.front(), p.median / peers.front().median,
                  p.median / model, model, p.residual);
    }
    std::fflush(stdout);
    char row[400];
    std::snprintf(
        row, sizeof row,
        "%s\n  [\"%s\", \"%.0f\", \"%.0f\", \"%.1f\", \"%.1f\", \"%.1f\", \"%.2f\", \"%.2f\", \"%.1f\", \"%.2f\"]",
        rows.empty() ? "" : ",", spec.c_str(), n, nnz, peers[1].median, peers[2].median, peers[0].median,
        peers[1].median / peers[0].median, bytes / nnz, model, peers[1].median / model);
    rows += row;
  }
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%FT%TZ", std::gmtime(&now));
  std::ofstream(argv[4]) << "{\n \"context\": {\"commit\": \"" << tulle::built_from().commit << "\", \"date\": \""
                         << date << "\", \"device\": \"" << ctx.info().name << ", " << threads << " threads, triad "
                         << static_cast<int>(bandwidth * 1e-8) / 10.0 << " GB/s, Eigen " << EIGEN_WORLD_VERSION << '.'
                         << EIGEN_MAJOR_VERSION << "\"},\n \"header\": [\"f64, Jacobi; µs an iteration\", \"rows\", "
                         << "\"nonzeros\", \"`cg.fused`\", \"`cg.operations`\", \"Eigen\", \"fused / Eigen\", "
                         << "\"bytes per nonzero\", \"model\", \"fused / model\"],\n \"rows\": [" << rows
                         << "\n ]\n}\n";
}
