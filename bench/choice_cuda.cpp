// What every kernel takes on a GPU, on families of generated matrices, beside what `default` takes, what a plan at
// effort max takes and the vendor's CSR and COO: the measurements that tools/tune fits the costs of
// src/plan/spmv_costs_cuda.hpp to.
//
//   tulle_choice_cuda RECORD.jsonl SECONDS [few|more|all|left-out [stats|KERNEL]]
//
// measures until that time has gone by, a line per matrix: all kernels, one alone, or what a plan sees of the matrix.
// Cold: the last-level cache is overwritten before every application. Patterns are made on all cores ahead of the
// device. Sizes take turns, so that a run that was cut off has some of each. docs/notes/0027-choice-cuda.md.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tulle/tulle.hpp>
#include <utility>

#include "kernels/backends.hpp"
#include "pattern_factory.hpp"
#include "record.hpp"
#include "stats_json.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

double since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

/// A pattern on the device.
struct device_pattern {
  index_t rows, cols;
  buffer<std::int32_t> rowptr;
  buffer<index_t> colind;
};

struct candidate {
  std::string name;
  std::unique_ptr<spmv_operator> op;
  double make_us = 0;
  std::vector<double> times;
};

/// Kernels whose lanes walk a whole row would take seconds on very long ones.
bool takes_too_long(std::string_view kernel, const csr_stats& s) {
  if (kernel == "csr.thread") return s.max > 20'000;
  if (kernel == "csr.warp") return s.max > 2'000'000;
  const bool walks = kernel == "ell" || kernel == "sell" || kernel == "bin_bsr.compact" || kernel == "bin_bsr";
  return walks && s.max > 50'000;
}

/// Microseconds with two digits behind the point.
double rounded(double us) { return std::round(us * 100) / 100; }

template <scalar T>
class stand {
 public:
  /// `only`: the one kernel to time, or all where it is empty.
  stand(const context& ctx, const device_pattern& p, std::string only = {})
      : ctx_(ctx),
        p_(p),
        only_(std::move(only)),
        values_(positive(ctx, p.colind.size(), 2)),
        x_(positive(ctx, static_cast<std::size_t>(p.cols), 1)),
        y_(ctx, static_cast<std::size_t>(p.rows)),
        reference_(ctx, static_cast<std::size_t>(p.rows)),
        result_(ctx, 1),
        sweep_(ctx, std::max<std::size_t>(4 * ctx.info().l2_bytes, 1 << 20)),
        a_(csr_view<T, std::int32_t>{p.rows, p.cols, static_cast<std::int32_t>(p.colind.size()), p.rowptr.data(),
                                     p.colind.data(), values_.data(), ctx.space()}) {
    for (int i = 0; i < 2 * samples; ++i) events_.emplace_back(ctx);
  }

  /// What a plan sees of the matrix alone.
  json inspected() { return describe(any_spmv_plan(ctx_, a_).stats()); }

  json run(json& stats) {
    const csr_stats all = statistics(ctx_, a_.as<T, std::int32_t>());
    if (stats.is_null()) stats = describe(all);
    std::vector<candidate> candidates;
    any_spmv_plan plan(ctx_, a_);
    {
      const any_spmv_plan again(ctx_, a_);  // the memory is there
      stats["inspected"] = describe(again.stats());
      planned_ = again.plan_microseconds();
    }
    reference_of(plan);
    for (const spmv_kernel& k : spmv_kernels(backend_kind::cuda)) add(k, all, candidates);
    double best = std::numeric_limits<double>::infinity();
    for (candidate& c : candidates) {
      if (c.times.empty()) time(c, best);
      best = std::min(best, median(c.times));
    }
    for (candidate& c : candidates) {  // once more, some time later
      if (median(c.times) < close * best) add_samples(c);
    }
    json us, make, bytes;
    for (const candidate& c : candidates) {
      us[c.name] = rounded(median(c.times));
      make[c.name] = std::round(c.make_us);
      bytes[c.name] = c.op->matrix_bytes();
    }
    if (!only_.empty()) return {{"us", us}, {"make_us", make}, {"bytes", bytes}, {"wrong", wrong_}};
    const double chosen = time_of(plan);
    spmv_options told;
    told.effort = spmv_effort::max;
    any_spmv_plan measured(ctx_, a_, told);
    return {{"chosen", std::string(plan.kernel())},
            {"chosen_us", chosen},
            {"plan_us", std::round(planned_)},
            {"measured", std::string(measured.kernel())},
            {"measured_us", time_of(measured)},
            {"plan_max_us", std::round(measured.plan_microseconds())},
            {"us", us},
            {"make_us", make},
            {"bytes", bytes},
            {"wrong", wrong_}};
  }

 private:
  static constexpr int samples = 5;
  static constexpr double hopeless = 3, close = 1.25;

  /// 3/4 to 5/4, with all of its bits.
  static buffer<T> positive(const context& ctx, std::size_t n, std::uint64_t seed) {
    const vector_ops ops(ctx);
    buffer<T> out(ctx, n), noise(ctx, n);
    ops.fill(1.0, out);
    ops.random(seed, noise);
    ops.axpby(0.25, noise, 1.0, out);
    return out;
  }
  /// By a kernel that needs no set-up, and its norm.
  void reference_of(const any_spmv_plan&) {
    spmv_options options;
    options.kernel = "csr.stream";
    any_spmv_plan(ctx_, a_, options).apply(1, x_, 0, reference_);
    norm_ = norm(reference_);
  }
  double norm(const buffer<T>& v) {
    vector_ops(ctx_).norm2(v, result_);
    double out = 0;
    copy_bytes(ctx_, &out, memory_space::host, result_.data(), ctx_.space(), sizeof(double));
    ctx_.synchronize();
    return out;
  }
  /// All numbers are positive: |A| |x| = y, and two results differ by 2 gamma(n + 2) y at most, n the longest row.
  bool is_wrong(index_t longest) {
    const double u = std::numeric_limits<T>::epsilon() / 2, k = (static_cast<double>(longest) + 2) * u;
    vector_ops(ctx_).axpby(-1.0, reference_, 1.0, y_);
    return !(norm(y_) <= 2 * k / (1 - k) * norm_ * 1.001);
  }

  void add(const spmv_kernel& k, const csr_stats& all, std::vector<candidate>& to) {
    const bool vendor =
        k.role == kernel_role::vendor && (k.name.starts_with("cusparse.csr") || k.name.starts_with("cusparse.coo"));
    if (!vendor && k.role != kernel_role::production) return;
    if (!only_.empty() && k.name != only_) return;
    if (k.name.find('/') != std::string_view::npos || !contains(k.types, types_of(a_, {})) || k.name == "bin_bsr")
      return;
    if (!k.supports(all, a_.types, ctx_.info()).ok || takes_too_long(k.name, all)) return;
    try {
      const auto begin = clock::now();
      candidate c{std::string(k.name), k.make(ctx_, a_, all, {}), 0, {}};
      ctx_.synchronize();
      c.make_us = since(begin);
      fill_bytes(ctx_, y_.data(), y_.space(), 0xff, y_.bytes());
      c.op->apply(1, x_.data(), 0, y_.data(), ctx_.stream());
      if (is_wrong(all.max)) wrong_.push_back(c.name);
      to.push_back(std::move(c));
    } catch (const error& e) {
      fmt::print("  {}: {}\n", k.name, e.what());
    }
  }
  template <class F>
  std::vector<double> cold(const F& work, int count = samples) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      fill_bytes(ctx_, sweep_.data(), sweep_.space(), 0, sweep_.bytes());
      events_[2 * i].record(ctx_.stream());
      work();
      events_[2 * i + 1].record(ctx_.stream());
    }
    for (int i = 0; i < count; ++i) {
      events_[2 * i + 1].synchronize();
      times.push_back(events_[2 * i + 1].microseconds_since(events_[2 * i]));
    }
    return times;
  }
  /// Twice as many samples as one candidate takes at a time.
  double time_of(any_spmv_plan& plan) {
    std::vector<double> times;
    for (int i = 0; i < 2; ++i) {
      const std::vector<double> t = cold([&] { plan.apply(1, x_, 0, y_); });
      times.insert(times.end(), t.begin(), t.end());
    }
    return rounded(median(times));
  }
  auto applying(candidate& c) {
    return [this, &c] { c.op->apply(1, x_.data(), 0, y_.data(), ctx_.stream()); };
  }
  void time(candidate& c, double best) {
    c.times = cold(applying(c), 1);
    if (c.times.front() > hopeless * best + 20) return;
    c.times.clear();
    add_samples(c);
  }
  void add_samples(candidate& c) {
    const std::vector<double> t = cold(applying(c));
    c.times.insert(c.times.end(), t.begin(), t.end());
  }

  context ctx_;
  const device_pattern& p_;
  std::string only_;
  buffer<T> values_, x_, y_, reference_;
  buffer<double> result_;
  buffer<std::byte> sweep_;
  matrix_ref a_;
  std::vector<event> events_;
  std::vector<std::string> wrong_;
  double norm_ = 0, planned_ = 0;
};

/// Sizes take turns; of the largest some families only.
std::vector<job> jobs_for(const std::vector<family>& families) {
  struct turn {
    double nonzeros;
    int every, variant;
  };
  constexpr turn turns[] = {{1e7, 1, 0}, {1e6, 1, 1}, {3e7, 2, 2}, {1e5, 1, 3}, {3e6, 1, 4},
                            {1e4, 1, 5}, {3e7, 2, 3}, {1e6, 1, 6}, {1e7, 1, 7}, {3e5, 1, 8}};
  std::vector<job> jobs;
  for (const turn& t : turns) {
    const int rest = t.variant % t.every;
    for (int f = 0; f < static_cast<int>(families.size()); ++f) {
      if (f % t.every != rest) continue;
      jobs.push_back({&families[static_cast<std::size_t>(f)], t.nonzeros * (1 + 0.07 * (f % 10)), t.variant + f});
    }
  }
  return jobs;
}

std::vector<family> families_of(std::string_view which) {
  if (which == "left-out") return spmv_families_left_out();
  std::vector<family> all = which == "more" ? std::vector<family>{} : spmv_families();
  if (which != "few") {
    for (family& f : spmv_families_more()) all.push_back(std::move(f));
  }
  return all;
}

int run_all(int argc, char** argv) {
  const auto begin = clock::now();
  const auto end = begin + std::chrono::seconds(std::atoi(argv[2]));
  const std::vector<family> families = families_of(argc > 3 ? argv[3] : "");
  const std::vector<job> jobs = jobs_for(families);
  pattern_factory<> factory(jobs);
  const context ctx = context::cuda();
  const std::string only = argc > 4 ? argv[4] : "";
  std::ofstream out(argv[1]);
  out << json{{"context",
               {{"commit", built_from().commit},
                {"date", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
                {"device", ctx.info().name},
                {"multiprocessors", ctx.info().multiprocessors},
                {"compute_capability", ctx.info().compute_capability},
                {"memory_gbs", ctx.info().memory_gbs},
                {"l2_bytes", ctx.info().l2_bytes}}}}
      << std::endl;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (clock::now() > end) {
      fmt::print("time is over: {} of {} matrices\n", i, jobs.size());
      return 0;
    }
    const job& of = jobs[i];
    const auto [made, parameters, nothing] = factory.take(i);
    const device_pattern p{made.rows(), made.cols, to_buffer(ctx, made.rowptr), to_buffer(ctx, made.colind)};
    json line{{"family", of.from->name},
              {"about", of.nonzeros},
              {"variant", of.variant},
              {"parameters", parameters},
              {"fitted", of.from->fitted}};
    json stats;
    if (only == "stats") {
      line["stats"]["inspected"] = stand<float>(ctx, p).inspected();
      out << line << std::endl;
      continue;
    }
    try {
      const json f64 = stand<double>(ctx, p, only).run(stats), f32 = stand<float>(ctx, p, only).run(stats);
      line["stats"] = stats, line["f64"] = f64, line["f32"] = f32;
      out << line << std::endl;
      fmt::print("{:5.1f} s {} {} {:.0f}: {} nonzeros, {} {}, {} {} {}\n", since(begin) / 1e6, of.from->name,
                 parameters, of.nonzeros, made.colind.size(), f64.value("chosen", only), f64.value("chosen_us", 0.0),
                 f32.value("chosen", only), f32.value("chosen_us", 0.0),
                 f64["wrong"].empty() && f32["wrong"].empty() ? "" : "WRONG");
    } catch (const std::exception& e) {
      fmt::print("{} {}: {}\n", of.from->name, parameters, e.what());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} RECORD.jsonl SECONDS [few|more|all|left-out [stats|KERNEL]]\n", argv[0]);
    return 2;
  }
  return tulle::bench::run_all(argc, argv);
}
