// A x from values in fewer bytes beside f64 whole, cold, on a GPU: `tulle_narrow_values [-o FILE]`; what
// `tulle bench --precision-study` measures of the same meshes with every error against its bound, without that.
// docs/notes/0019-narrow-values.md.
#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "record.hpp"

namespace {

using namespace tulle;

std::uint64_t hash(std::int64_t n) {
  std::uint64_t h = static_cast<std::uint64_t>(n) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 31);
}

/// make(value, row, column) of every entry, on all cores.
template <class Make>
std::vector<double> made_of(const csr<double>& a, const Make& make) {
  std::vector<double> out(a.values.size());
  const auto rows = [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      for (std::int64_t k = a.rowptr.data()[r]; k < a.rowptr.data()[r + 1]; ++k)
        out[static_cast<std::size_t>(k)] = make(a.values.data()[k], r, a.colind.data()[k]);
    }
  };
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    const auto part = [&](int j) { return static_cast<index_t>(std::int64_t{a.rows} * j / threads); };
    running.emplace_back(rows, part(i), part(i + 1));
  }
  running.clear();
  return out;
}

class comparison {
 public:
  explicit comparison(const context& ctx) : ctx_(ctx), sweep_(ctx, 4 * ctx.info().l2_bytes / sizeof(double)) {}

  void add(const std::string& spec) {
    const csr<double> host = generate<double>(context::cpu(), spec);
    csr<double> a{host.rows, host.cols, clone(ctx_, host.rowptr), clone(ctx_, host.colind), clone(ctx_, host.values)};
    x_ = buffer<double>(ctx_, static_cast<std::size_t>(a.cols));
    vector_ops(ctx_).random(1, x_);
    base_ = 0;
    measure(spec, "f64", a.view());
    const std::vector<double> graded = made_of(host, [](double v, index_t row, index_t) {
      const std::int64_t region = row / 4096;
      return region % 5 == static_cast<std::int64_t>(hash(region / 5) % 5) ? v : v * 0x1p-12;
    });
    {
      const csr<float> floats{host.rows, host.cols, clone(ctx_, host.rowptr), clone(ctx_, host.colind),
                              to_buffer(ctx_, std::vector<float>(host.values.data(), host.values.data() + host.nnz()))};
      measure(spec, "f32 under f64", floats.view(), {.vector_type = scalar_type::f64});
    }
    measure(spec, "all rows f32, row=1e-07", a.view(), {.values = {1e-7, error_bound::row}});
    a.values = to_buffer(ctx_, graded);
    measure(spec, "80% of regions f32", a.view(), {.values = {0x1p-30, error_bound::norm}});
    a.values = to_buffer(ctx_, made_of(host, [](double, index_t r, index_t c) { return r == c ? 26.1 : -0.9; }));
    measure(spec, "constant coefficients", a.view());
  }
  [[nodiscard]] const std::vector<bench::row>& rows() const { return rows_; }

 private:
  void measure(const std::string& matrix, const std::string& form, const matrix_ref& a,
               const spmv_options& options = {}) {
    const any_spmv_plan plan(ctx_, a, options);
    buffer<double> y(ctx_, x_.size());
    std::vector<double> times;
    for (int i = 0; i < 24; ++i) {
      vector_ops(ctx_).fill(0, sweep_);  // out of L2
      const double us = bench::sample(ctx_, 1, [&] { plan.apply(1, x_, 0, y); });
      if (i >= 3) times.push_back(us);
    }
    const double us = bench::median(times);
    const any_spmv_plan exact(ctx_, a, {.effort = spmv_effort::none, .vector_type = options.vector_type});
    const std::vector<double> given = to_vector(ctx_, y);
    exact.apply(1, x_, 0, y);
    const std::vector<double> expected = to_vector(ctx_, y);
    double away = 0, largest = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      away = std::max(away, std::abs(given[i] - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
    if (base_ == 0) base_ = us;
    std::string stored;
    for (const stored_share& s : plan.stored().shares) {
      stored += fmt::format("{}{} {:.0f}%", stored.empty() ? "" : ", ", s.storage,
                            100 * static_cast<double>(s.entries) / static_cast<double>(a.nnz));
    }
    const double bytes = static_cast<double>(plan.matrix_bytes());
    const double all = bytes + 8 * static_cast<double>(x_.size() + y.size());
    rows_.push_back({matrix, form, std::string(plan.kernel()), stored,
                     fmt::format("{:.2f}", bytes / static_cast<double>(a.nnz)), fmt::format("{:.1f}", us),
                     fmt::format("{:.2f}", base_ / us), fmt::format("{:.2f}", 1e-6 * all / us),
                     fmt::format("{:.0e}", away / largest)});
    fmt::print("{}\n", fmt::join(rows_.back(), "  "));
    std::fflush(stdout);
  }

  context ctx_;
  buffer<double> sweep_, x_;
  double base_ = 0;
  std::vector<bench::row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const context ctx = context::cuda();
    comparison all(ctx);
    for (const char* spec : {"gen:stencil:points=7,n=256", "gen:fem:dof=3,n=63", "gen:stencil:points=27,n=200"})
      all.add(spec);
    if (argc < 3) return 0;
    return bench::write_record(argv[2], ctx,
                               {"matrix", "values", "kernel", "stored", "bytes a nonzero", "cold, µs", "over f64",
                                "TB/s", "away from a CSR's y"},
                               all.rows());
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
