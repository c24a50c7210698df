// C = A B on the CPU beside Eigen and MKL, in one process, in turns, so that what disturbs one disturbs all.
// bench/compare_spgemm_cpu.py builds and runs it; it is no part of the build.
//
//   spgemm_cpu_peers MATRIX f32|f64 THREADS SECONDS DUMP_FOLDER|- MKL_LIBRARY|- [KERNEL...]
//
// B is A, or A^T where A is rectangular. One JSON document on stdout. With a dump folder, A, B, C and the bounds of C's
// entries go there as raw arrays.
#include <Eigen/Sparse>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "mkl_library.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using json = nlohmann::ordered_json;
using tulle::index_t;

double microseconds(clock_type::time_point since) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - since).count();
}

template <class T>
using matrix = tulle::csr<T, std::int32_t>;

/// One way to compute C.
struct peer {
  std::string name;
  std::function<double()> run;                // computes C anew; microseconds, without freeing the last one
  std::function<tulle::matrix_ref()> result;  // the last one
  std::vector<double> times;
  double error_ratio = 0;
};

template <class T>
peer make_eigen(const matrix<T>& a, const matrix<T>& b) {
  using sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;
  const auto mapped = [](const matrix<T>& m) {
    return Eigen::Map<const sparse>(m.rows, m.cols, m.nnz(), m.rowptr.data(), m.colind.data(), m.values.data());
  };
  auto c = std::make_shared<sparse>();
  peer p;
  p.name = "eigen";
  p.run = [=, &a, &b] {
    *c = sparse();
    const auto x = mapped(a), y = mapped(b);
    const auto start = clock_type::now();
    *c = x * y;
    return microseconds(start);
  };
  p.result = [=] {
    c->makeCompressed();
    return tulle::matrix_ref(tulle::csr_view<T, std::int32_t>{
        static_cast<index_t>(c->rows()), static_cast<index_t>(c->cols()), static_cast<std::int32_t>(c->nonZeros()),
        c->outerIndexPtr(), c->innerIndexPtr(), c->valuePtr()});
  };
  return p;
}

/// A product of MKL's, freed with it.
struct mkl_product {
  explicit mkl_product(const mkl_library& m) : mkl(m) {}
  mkl_product(const mkl_product&) = delete;
  mkl_product& operator=(const mkl_product&) = delete;
  ~mkl_product() { reset(); }
  void reset() {
    if (handle != nullptr) check(mkl.get<int(void*)>("mkl_sparse_destroy")(handle));
    handle = nullptr;
  }

  mkl_library mkl;
  void* handle = nullptr;
};

/// With rows that are sorted, or as they come.
template <class T>
peer make_mkl(const mkl_library& mkl, const matrix<T>& a, const matrix<T>& b, bool sorted) {
  constexpr bool wide = sizeof(T) == 8;
  const auto handle_of = [&](const matrix<T>& m) {
    void* handle = nullptr;
    auto* rowptr = const_cast<int*>(m.rowptr.data());
    check(mkl.get<int(void**, int, int, int, int*, int*, int*, T*)>(wide ? "mkl_sparse_d_create_csr" : "mkl_sparse_s_create_csr")(
        &handle, 0, m.rows, m.cols, rowptr, rowptr + 1, const_cast<int*>(m.colind.data()), const_cast<T*>(m.values.data())));
    return handle;
  };
  void *const of_a = handle_of(a), *const of_b = handle_of(b);
  auto* multiply = mkl.get<int(int, void*, void*, void**)>("mkl_sparse_spmm");
  auto* order = mkl.get<int(void*)>("mkl_sparse_order");
  auto c = std::make_shared<mkl_product>(mkl);
  peer p;
  p.name = sorted ? "mkl.sorted" : "mkl";
  p.run = [=] {
    c->reset();
    const auto start = clock_type::now();
    check(multiply(10, of_a, of_b, &c->handle));
    if (sorted) check(order(c->handle));
    return microseconds(start);
  };
  p.result = [=, rows = a.rows, cols = b.cols] {
    check(order(c->handle));
    int base = 0, n = 0, m = 0, *begin = nullptr, *end = nullptr, *colind = nullptr;
    T* values = nullptr;
    check(mkl.get<int(void*, int*, int*, int*, int**, int**, int**, T**)>(wide ? "mkl_sparse_d_export_csr" : "mkl_sparse_s_export_csr")(
        c->handle, &base, &n, &m, &begin, &end, &colind, &values));
    return tulle::matrix_ref(tulle::csr_view<T, std::int32_t>{rows, cols, begin[rows], begin, colind, values});
  };
  return p;
}

/// The whole call, and the numeric phase of a plan.
template <class T>
std::pair<peer, peer> make_tulle(const tulle::context& ctx, const matrix<T>& a, const matrix<T>& b,
                                 const std::string& kernel) {
  tulle::spgemm_options options;
  options.kernel = kernel;
  auto c = std::make_shared<tulle::matrix_ref>();
  peer whole;
  whole.name = kernel.empty() ? "tulle" : "tulle:" + kernel;
  whole.run = [=, &a, &b] {
    *c = {};
    const auto start = clock_type::now();
    *c = tulle::spgemm(ctx, a, b, options);
    return microseconds(start);
  };
  whole.result = [=] { return *c; };

  const auto plan = std::make_shared<tulle::spgemm_plan<T>>(ctx, a.view(), b.view(), options);
  const tulle::matrix_ref again = plan->multiply();
  peer numeric;
  numeric.name = whole.name + ".numeric";
  numeric.run = [=] {
    const auto start = clock_type::now();
    plan->numeric(again);
    return microseconds(start);
  };
  numeric.result = [=] { return again; };
  return {std::move(whole), std::move(numeric)};
}

template <class T>
matrix<T> load(const tulle::context& ctx, const std::string& spec) {
  const bool generated = tulle::is_generator(spec);
  const auto read = generated ? tulle::generate<T>(ctx, spec) : tulle::read_matrix_market<T>(spec);
  const tulle::matrix_ref sorted = tulle::sum_duplicates(ctx, read);
  matrix<T> a = sorted.types.offset == tulle::offset_type::i32
                    ? tulle::clone(ctx, sorted.as<T, std::int32_t>())
                    : tulle::with_offsets<std::int32_t>(ctx, sorted.as<T, std::int64_t>());
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> in(-1, 1);
  std::generate_n(a.values.data(), a.values.size(), [&] { return in(random); });  // patterns hold ones
  return a;
}

void dump(const std::string& file, const void* data, std::size_t bytes) {
  std::FILE* f = std::fopen(file.c_str(), "wb");
  if (f == nullptr || std::fwrite(data, 1, bytes, f) != bytes || std::fclose(f) != 0) throw std::runtime_error(file);
}

void dump(const std::string& prefix, const tulle::matrix_ref& m) {
  const auto nnz = static_cast<std::size_t>(m.nnz);
  dump(prefix + "rowptr", m.rowptr, (static_cast<std::size_t>(m.rows) + 1) * sizeof(std::int32_t));
  dump(prefix + "colind", m.colind, nnz * sizeof(index_t));
  dump(prefix + "values", m.values, nnz * size_of(m.types.value));
}

/// In turns until the time is up, 3 times at least. Returns the number of turns.
int measure(std::vector<peer>& peers, double seconds) {
  const auto start = clock_type::now();
  int turns = 0;
  for (; turns < 3 || (turns < 1000 && microseconds(start) < 1e6 * seconds); ++turns) {
    for (peer& p : peers) p.times.push_back(p.run());
  }
  return turns;
}

json times(std::vector<double> t) {
  std::ranges::sort(t);
  return {{"min", t.front()}, {"median", t[t.size() / 2]}};
}

template <class T>
json run(const std::vector<std::string>& arguments) {
  const auto ctx = tulle::context::cpu(std::stoi(arguments[2]));
  const matrix<T> a = load<T>(ctx, arguments[0]);
  matrix<T> transposed;
  const bool square = a.rows == a.cols;
  if (!square) transposed = tulle::to_csr(ctx, tulle::transpose(a.view()));
  const matrix<T>& b = square ? a : transposed;
  std::vector<std::string> kernels{""};
  kernels.insert(kernels.end(), arguments.begin() + 6, arguments.end());
  std::vector<peer> peers;
  for (const std::string& kernel : kernels) {
    auto [whole, numeric] = make_tulle(ctx, a, b, kernel);
    peers.push_back(std::move(whole));
    peers.push_back(std::move(numeric));
  }
  peers.push_back(make_eigen(a, b));
  if (arguments[5] != "-") {
    const mkl_library mkl(arguments[5].c_str());
    for (const bool sorted : {false, true}) peers.push_back(make_mkl(mkl, a, b, sorted));
  }
  constexpr auto most = std::numeric_limits<std::int64_t>::max();  // products: every row is checked
  std::int64_t nnz = 0;
  for (peer& p : peers) {
    p.run();
    const tulle::matrix_ref c = p.result();
    nnz = c.nnz;
    p.error_ratio = tulle::check_spgemm<T, std::int32_t>(ctx, {.a = a.view(), .b = b.view()}, c.as<T, std::int32_t>(), most)
                        .error_ratio;
    if (arguments[4] != "-" && p.name == "tulle") {
      dump(arguments[4] + "/c_", c);
      dump(arguments[4] + "/a_", a);
      dump(arguments[4] + "/b_", b);
    }
  }
  const int turns = measure(peers, std::stod(arguments[3]));
  const std::int64_t products = tulle::spgemm_plan<T>(ctx, a.view(), b.view()).products();
  json out = {{"matrix", arguments[0]}, {"precision", arguments[1]}, {"operation", square ? "A A" : "A A^T"},
              {"rows", a.rows},         {"inner", a.cols},           {"cols", b.cols},
              {"nnz_a", a.nnz()},       {"products", products},      {"nnz_c", nnz},
              {"repeats", turns}};
  for (const peer& p : peers) {
    out["peers"].push_back({{"name", p.name}, {"us", times(p.times)}, {"error_ratio", p.error_ratio}});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 6) {
    std::fprintf(stderr, "spgemm_cpu_peers MATRIX f32|f64 THREADS SECONDS DUMP_FOLDER|- MKL_LIBRARY|- [KERNEL...]\n");
    return 2;
  }
  try {
    std::printf("%s\n", (arguments[1] == "f32" ? run<float>(arguments) : run<double>(arguments)).dump().c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
