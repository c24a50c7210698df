// Several right-hand sides: what tulle chooses, its candidates and all algorithms of cuSPARSE side by side, cold, on an
// NVIDIA GPU. Rows of the record: docs/notes/0025-spmm-cuda.md.
//
// A kernel named "untold NAME" is not told how many columns come.
//
//   tulle_spmm OUT.json [--seconds S] [--only TEXT] [--columns N] [--order row|column] [--kernels A,B,...] [--ours 1]
//              [--files FILE...]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>

#include "record.hpp"
#include "spmm_check.hpp"
#include "spmm_matrices.hpp"
#include "spmm_vendor.hpp"

namespace tulle::bench {
namespace {

using clock_type = std::chrono::steady_clock;

struct settings {
  std::string out = {};
  double seconds = 90;
  std::string only;
  std::vector<std::string> kernels;  // beside what is chosen
  std::vector<std::string> files;
  index_t columns = 0;      // 0: 32, 8 and 128
  std::string order;        // row or column; empty: both
  bool ours_alone = false;  // not the vendor
};

/// Sizes, and how both lie.
struct task {
  index_t columns;
  bool by_row;
};

/// What reading a row of X for every nonzero takes out of L2, measured at about 5.5 TB/s on an NVIDIA H200, and what
/// reading A and X and writing Y once takes at its 4.52 TB/s.
template <class T>
double gather_us(csr_view<T, std::int32_t> a, task t) {
  return 1.0 * a.nnz * t.columns * sizeof(T) / 5.5e6;
}
template <class T>
double memory_us(csr_view<T, std::int32_t> a, task t) {
  return (1.0 * a.nnz * (sizeof(T) + 4) + 4.0 * a.rows + (1.0 * a.rows + a.cols) * t.columns * sizeof(T)) / 4.52e6;
}

class benchmark {
 public:
  explicit benchmark(settings s)
      : settings_(std::move(s)), ctx_(context::cuda()), flush_(ctx_, std::size_t{160} << 20) {}

  int run() {
    std::vector<spmm_matrix> all = spmm_matrices();
    for (std::size_t i = 0; i < settings_.files.size(); ++i) {
      const std::string file = settings_.files[i];
      const std::string name = file.substr(file.find_last_of('/') + 1);
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(std::min(i + 1, all.size())),
                 {name.substr(0, name.find('.')), [file] { return read_pattern(file); }, true});
    }
    if (!settings_.only.empty())
      std::erase_if(all, [&](const spmm_matrix& m) { return m.name.find(settings_.only) == std::string::npos; });
    std::vector<std::future<pattern>> made;
    for (const spmm_matrix& m : all) made.push_back(std::async(std::launch::async, m.make));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (seconds() > settings_.seconds) {
        fmt::print(stderr, "out of time before {}\n", all[i].name);
        break;
      }
      try {
        measure(all[i], made[i].get());
      } catch (const std::exception& e) {
        fmt::print(stderr, "{}: {}\n", all[i].name, e.what());
      }
      (void)write();
    }
    return write();
  }

 private:
  int write() const {
    return write_record(settings_.out, ctx_,
                        {"matrix", "graph", "rows", "cols", "nnz", "type", "columns", "order", "kernel", "us", "least",
                         "plan us", "error", "gather us", "memory us"},
                        rows_);
  }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock_type::now() - began_).count(); }

  void measure(const spmm_matrix& m, const pattern& p) {
    fmt::print(stderr, "[{:.1f} s] {}: {} x {}, {}\n", seconds(), m.name, p.rows(), p.cols, p.colind.size());
    rowptr_ = to_buffer(ctx_, p.rowptr);
    colind_ = to_buffer(ctx_, p.colind);
    type<float>(m, p);
    type<double>(m, p);
  }

  template <class T>
  void type(const spmm_matrix& m, const pattern& p) {
    buffer<T> values(ctx_, p.colind.size());
    fill_random(values.data(), static_cast<std::int64_t>(values.size()), stream());
    const csr_view<T, std::int32_t> a{p.rows(),
                                      p.cols,
                                      static_cast<std::int32_t>(p.colind.size()),
                                      rowptr_.data(),
                                      colind_.data(),
                                      values.data(),
                                      memory_space::device};
    buffer<T> x(ctx_, std::size_t{128} * static_cast<std::size_t>(a.cols)),
        y(ctx_, std::size_t{128} * static_cast<std::size_t>(a.rows));
    for (const index_t columns : {32, 8, 128}) {
      for (const bool by_row : {true, false}) {
        if (seconds() > settings_.seconds) return;
        if (settings_.columns > 0 && columns != settings_.columns) continue;
        if (!settings_.order.empty() && (settings_.order == "row") != by_row) continue;
        if (!by_row && columns == 128 && a.nnz > 10'000'000) continue;  // the vendor takes up to 80 ms
        one_task(m, a, {columns, by_row}, x, y);
      }
    }
  }

  template <class T>
  void one_task(const spmm_matrix& m, csr_view<T, std::int32_t> a, task t, buffer<T>& x, buffer<T>& y) {
    const auto placed_in = [&](T* data, index_t n) {
      return placed<T>{data, n, t.columns, t.by_row ? t.columns : 1, t.by_row ? 1 : n};
    };
    const placed<T> px = placed_in(x.data(), a.cols), py = placed_in(y.data(), a.rows);
    fill_random(px, stream());
    const strided_vectors sx{px.data, t.columns, px.row_stride, px.vector_stride},
        sy{py.data, t.columns, py.row_stride, py.vector_stride};
    const vector_order order = t.by_row ? vector_order::row_major : vector_order::column_major;
    const const_multivector_ref rx(scalar_type_of<T>, a.cols, t.columns, t.by_row ? t.columns : a.cols, order, x.data(),
                                   memory_space::device);
    const multivector_ref ry(scalar_type_of<T>, a.rows, t.columns, t.by_row ? t.columns : a.rows, order, y.data(),
                             memory_space::device);

    const auto record = [&](const std::string& kernel, double plan, const auto& once) {
      std::vector<double> times;
      fill_bytes(ctx_, y.data(), memory_space::device, 0xff, y.bytes());
      once();
      const double error =
          error_over_bound<T>(a, {px.data, px.rows, px.columns, px.row_stride, px.vector_stride},
                              {py.data, py.rows, py.columns, py.row_stride, py.vector_stride}, stream());
      int repeats = 10;
      for (int i = 0; i < repeats; ++i) {
        fill_bytes(ctx_, flush_.data(), memory_space::device, static_cast<unsigned char>(i), flush_.bytes());
        times.push_back(sample(ctx_, 1, once));
        if (times.front() > 1500) repeats = times.front() > 6000 ? 3 : 5;
      }
      rows_.push_back({m.name, m.graph ? "graph" : "", std::to_string(a.rows), std::to_string(a.cols),
                       std::to_string(a.nnz), sizeof(T) == 8 ? "f64" : "f32", std::to_string(t.columns),
                       t.by_row ? "row" : "column", kernel, fmt::format("{:.2f}", median(times)),
                       fmt::format("{:.2f}", *std::ranges::min_element(times)), fmt::format("{:.0f}", plan),
                       fmt::format("{:.3g}", error), fmt::format("{:.1f}", gather_us<T>(a, t)),
                       fmt::format("{:.1f}", memory_us<T>(a, t))});
    };
    const auto guarded = [&](const std::string& kernel, const auto& f) {
      try {
        f();
      } catch (const std::exception& e) {
        fmt::print(stderr, "{} {} {}: {}: {}\n", m.name, t.columns, t.by_row, kernel, e.what());
      }
    };
    const auto ours = [&](const std::string& label, const spmv_options& options) {
      guarded(label, [&] {
        any_spmv_plan plan(ctx_, a, options);
        record(label, plan.plan_microseconds(), [&] { plan.apply_many(1, rx, 0, ry); });
      });
    };
    spmv_options told;
    told.columns = t.columns;
    told.columns_order = order;
    ours("default", {});
    ours("default told", told);
    for (const std::string& kernel : settings_.kernels) {
      const bool untold = kernel.starts_with("untold ");
      spmv_options named = untold ? spmv_options{} : told;
      named.kernel = kernel.substr(untold ? 7 : 0);
      ours(kernel, named);
    }
    if (settings_.ours_alone) return;
    for (const auto& [name, which] : vendor_algorithms) {
      guarded(name, [&] {
        const auto begin = clock_type::now();
        vendor<T> v(ctx_, a, which);
        v.run(sx, sy);
        ctx_.synchronize();
        record(name, std::chrono::duration<double, std::micro>(clock_type::now() - begin).count(),
               [&] { v.run(sx, sy); });
      });
    }
  }

  [[nodiscard]] cudaStream_t stream() const { return static_cast<cudaStream_t>(ctx_.stream().native); }

  settings settings_;
  context ctx_;
  buffer<unsigned char> flush_;
  buffer<std::int32_t> rowptr_;
  buffer<index_t> colind_;
  std::vector<row> rows_;
  clock_type::time_point began_ = clock_type::now();
};

std::vector<std::string> parts(const std::string& text, char between) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  tulle::bench::settings s;
  s.out = argv[1];
  for (int i = 2; i + 1 < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds")
      s.seconds = std::atof(argv[++i]);
    else if (word == "--only")
      s.only = argv[++i];
    else if (word == "--columns")
      s.columns = std::atoi(argv[++i]);
    else if (word == "--order")
      s.order = argv[++i];
    else if (word == "--ours")
      s.ours_alone = std::atoi(argv[++i]) != 0;
    else if (word == "--kernels")
      s.kernels = tulle::bench::parts(argv[++i], ',');
    else if (word == "--files") {
      while (++i < argc) s.files.emplace_back(argv[i]);
    }
  }
  return tulle::bench::benchmark(std::move(s)).run();
}
