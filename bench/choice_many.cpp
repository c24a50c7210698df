// What every kernel takes for several right-hand sides on a GPU, on families of generated matrices, beside what a plan
// that was told so many takes and the vendor's CSR and COO: the measurements that tools/tune fits the costs of
// src/plan/spmm_costs_cuda.hpp to.
//
//   tulle_choice_many RECORD.jsonl SECONDS [fitted|left-out] [vendor]    a line for each matrix, until that time has gone by
//
// A record that is there is gone on with. Cold: the last-level cache is overwritten before every application; median of
// 5, of 10 of those near the fastest. Answers are held to the bound. docs/notes/0029-choice-many.md.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>

#include "kernels/backends.hpp"
#include "many_task.hpp"
#include "pattern_factory.hpp"
#include "record.hpp"
#include "row_reads.hpp"
#include "spmm_check.hpp"
#include "spmm_vendor.hpp"
#include "stats_json.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

double rounded(double us) { return std::round(us * 100) / 100; }

/// Kernels with a pass of their own for several right-hand sides; all others of CSR share that of csr.warp.
bool is_candidate(const spmv_kernel& k) {
  constexpr std::string_view alike[] = {"csr.thread", "csr.stream", "csr.merge", "csr5", "csr5.blocked", "bin_bsr"};
  return k.role == kernel_role::production && k.has.many && k.name.find('/') == std::string_view::npos &&
         std::ranges::find(alike, k.name) == std::end(alike);
}

template <scalar T>
class stand {
 public:
  stand(const context& ctx, csr_view<T, std::int32_t> a, bool vendors) : ctx_(ctx), a_(a), vendors_(vendors) {
    for (int i = 0; i < 2 * samples; ++i) events_.emplace_back(ctx);
    sweep_ = buffer<std::byte>(ctx, std::max<std::size_t>(std::size_t{5} * ctx.info().l2_bytes / 2, 1 << 20));
  }

  /// `stats`: as a plan saw them.
  json run(const many_task& t, json& stats) {
    const std::size_t columns = static_cast<std::size_t>(t.columns);
    if (x_.size() < columns * static_cast<std::size_t>(a_.cols)) {
      x_ = buffer<T>(ctx_, columns * static_cast<std::size_t>(a_.cols));
      y_ = buffer<T>(ctx_, columns * static_cast<std::size_t>(a_.rows));
    }
    const vectors v = vectors_of(t);
    fill_random(v.placed_x, stream());
    us_ = json::object(), wrong_ = json::array(), best_ = std::numeric_limits<double>::infinity();
    spmv_options told;
    told.columns = t.columns;
    told.columns_order = t.by_row ? vector_order::row_major : vector_order::column_major;
    json out;
    {
      const any_spmv_plan warm(ctx_, a_, told);
    }
    const any_spmv_plan plan(ctx_, a_, told), alone(ctx_, a_);
    if (stats.is_null()) stats = describe(alone.stats());
    out["one_vector"] = std::string(plan.kernel());
    out["chosen"] = kernel_of(plan);
    out["plan_us"] = std::round(plan.plan_microseconds());
    out["plan_one_us"] = std::round(alone.plan_microseconds());
    us_["default"] = time("default", v, [&] { plan.apply_many(1, v.rx, 0, v.ry); });
    if (vendors_) {
      told.effort = spmv_effort::max;
      const any_spmv_plan measured(ctx_, a_, told);
      out["measured"] = kernel_of(measured);
      out["plan_max_us"] = std::round(measured.plan_microseconds());
      us_["measured"] = time("measured", v, [&] { measured.apply_many(1, v.rx, 0, v.ry); });
      told.effort = spmv_effort::standard;
    }
    measure_kernels(told, plan.stats(), v);
    if (vendors_) measure_vendor(v);
    out["us"] = us_;
    if (!wrong_.empty()) out["wrong"] = wrong_;
    return out;
  }

 private:
  static constexpr int samples = 5;
  static constexpr double hopeless = 2.5, close = 1.25;
  struct vectors {
    placed<T> placed_x;
    placed<const T> placed_y;
    strided_vectors x, y;
    const_multivector_ref rx;
    multivector_ref ry;
  };

  vectors vectors_of(const many_task& t) {
    const auto at = [&](T* data, index_t n) {
      return placed<T>{data, n, t.columns, t.by_row ? t.columns : 1, t.by_row ? 1 : n};
    };
    const placed<T> x = at(x_.data(), a_.cols), y = at(y_.data(), a_.rows);
    const vector_order order = t.by_row ? vector_order::row_major : vector_order::column_major;
    return {x,
            {y.data, y.rows, y.columns, y.row_stride, y.vector_stride},
            {x.data, t.columns, x.row_stride, x.vector_stride},
            {y.data, t.columns, y.row_stride, y.vector_stride},
            {scalar_type_of<T>, a_.cols, t.columns, t.by_row ? t.columns : a_.cols, order, x.data,
             memory_space::device},
            {scalar_type_of<T>, a_.rows, t.columns, t.by_row ? t.columns : a_.rows, order, y.data,
             memory_space::device}};
  }
  static std::string kernel_of(const any_spmv_plan& plan) {
    const std::string said = plan.explain(), before = " right-hand sides by ";
    const std::size_t at = said.find(before);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + before.size();
    return said.substr(begin, said.find_first_of(", ", begin) - begin);
  }

  void measure_kernels(const spmv_options& told, const csr_stats& seen, const vectors& v) {
    const matrix_ref a(a_);
    struct candidate {
      std::string name;
      std::unique_ptr<spmv_operator> op;
    };
    std::vector<candidate> all;
    for (const spmv_kernel& k : spmv_kernels(backend_kind::cuda)) {
      if (!is_candidate(k) || !contains(k.types, types_of(a, {})) || !k.supports(seen, a.types, ctx_.info()).ok) continue;
      guarded(k.name, [&] { all.push_back({std::string(k.name), k.make(ctx_, a, seen, told)}); });
    }
    std::ranges::stable_partition(all, [](const candidate& c) { return c.name == "packed" || c.name == "csr.pieces"; });
    for (candidate& c : all) {
      guarded(c.name, [&] { us_[c.name] = time(c.name, v, [&] { c.op->apply_many(1, v.x, 0, v.y, ctx_.stream()); }); });
    }
  }
  void measure_vendor(const vectors& v) {
    for (const auto& [name, which] : vendor_algorithms) {
      guarded(name, [&] {
        vendor<T> of(ctx_, a_, which);
        us_[name] = time(name, v, [&] { of.run(v.x, v.y); });
      });
    }
  }
  template <class F>
  void guarded(std::string_view name, const F& f) {
    try {
      f();
    } catch (const error& e) {
      fmt::print("  {}: {}\n", name, e.what());
    }
  }

  /// Median; the faster of two runs where both were far from the fastest.
  template <class F>
  double time(std::string_view name, const vectors& v, const F& once) {
    fill_bytes(ctx_, y_.data(), y_.space(), 0xff, std::size_t(v.x.count) * static_cast<std::size_t>(a_.rows) * sizeof(T));
    once();
    const placed<const T> x{v.placed_x.data, v.placed_x.rows, v.placed_x.columns, v.placed_x.row_stride,
                            v.placed_x.vector_stride};
    if (!(error_over_bound<T>(a_, x, v.placed_y, stream()) <= 1)) wrong_.push_back(std::string(name));
    const auto is_hopeless = [&](double us) { return us > hopeless * best_ + 20; };
    std::vector<double> times = cold(once, 1);
    if (is_hopeless(times.front())) times.front() = std::min(times.front(), cold(once, 1).front());
    if (is_hopeless(times.front())) return rounded(times.front());
    times = cold(once, samples);
    if (median(times) < close * best_) {
      const std::vector<double> more = cold(once, samples);
      times.insert(times.end(), more.begin(), more.end());
    }
    best_ = std::min(best_, median(times));
    return rounded(median(times));
  }
  template <class F>
  std::vector<double> cold(const F& once, int count) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      fill_bytes(ctx_, sweep_.data(), sweep_.space(), static_cast<unsigned char>(i), sweep_.bytes());
      events_[2 * i].record(ctx_.stream());
      once();
      events_[2 * i + 1].record(ctx_.stream());
    }
    for (int i = 0; i < count; ++i) {
      events_[2 * i + 1].synchronize();
      times.push_back(events_[2 * i + 1].microseconds_since(events_[2 * i]));
    }
    return times;
  }
  [[nodiscard]] cudaStream_t stream() const { return static_cast<cudaStream_t>(ctx_.stream().native); }

  context ctx_;
  csr_view<T, std::int32_t> a_;
  bool vendors_;
  buffer<T> x_, y_;
  buffer<std::byte> sweep_;
  std::vector<event> events_;
  json us_, wrong_;
  double best_ = 0;
};

/// Sizes take turns; of some a half of the families, or a quarter.
std::vector<job> jobs_for(const std::vector<family>& families, bool all) {
  struct turn {
    double nonzeros;
    int every, variant;
  };
  constexpr turn turns[] = {{1e6, 1, 1}, {1e7, 2, 0}, {1e5, 2, 3}, {3e6, 2, 4}, {3e5, 2, 8}, {1e4, 4, 5}, {2.5e7, 4, 2}};
  std::vector<job> jobs;
  for (const turn& t : turns) {
    for (int f = 0; f < static_cast<int>(families.size()); ++f) {
      if (!all && f % t.every != t.variant % t.every) continue;
      jobs.push_back({&families[static_cast<std::size_t>(f)], t.nonzeros * (1 + 0.07 * (f % 10)), t.variant + f});
    }
  }
  return jobs;
}

std::string key_of(std::string_view family, double about, int variant) {
  return fmt::format("{}/{:.0f}/{}", family, about, variant);
}

/// The matrices that a record has.
std::set<std::string> known(const char* file) {
  std::set<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const json of = json::parse(line, nullptr, false);
    if (of.is_object() && of.contains("family")) out.insert(key_of(of["family"].get<std::string>(), of["about"], of["variant"]));
  }
  return out;
}

json context_of(const context& ctx) {
  return {{"context",
           {{"commit", built_from().commit},
            {"date", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
            {"device", ctx.info().name},
            {"multiprocessors", ctx.info().multiprocessors},
            {"compute_capability", ctx.info().compute_capability},
            {"memory_gbs", ctx.info().memory_gbs},
            {"l2_bytes", ctx.info().l2_bytes}}}};
}

template <class T>
json measure(const context& ctx, const pattern& p, const buffer<std::int32_t>& rowptr, const buffer<index_t>& colind,
             bool vendors, json& stats) {
  buffer<T> values(ctx, p.colind.size());
  fill_random(values.data(), static_cast<std::int64_t>(values.size()), static_cast<cudaStream_t>(ctx.stream().native));
  stand<T> of(ctx, {p.rows(), p.cols, static_cast<std::int32_t>(p.colind.size()), rowptr.data(), colind.data(), values.data(),
                    ctx.space()}, vendors);
  json out;
  for (const many_task& t : many_tasks_cuda) {
    constexpr double most_bytes = 8e9;
    if ((1.0 * p.rows() + p.cols) * t.columns * sizeof(T) < most_bytes) out[t.name()] = of.run(t, stats);
  }
  return out;
}

int run_all(int argc, char** argv) {
  const auto begin = clock::now(), end = begin + std::chrono::seconds(std::atoi(argv[2]));
  const bool left_out = argc > 3 && std::string_view(argv[3]) == "left-out";
  const bool vendors = argc > 4 && std::string_view(argv[4]) == "vendor";
  std::vector<family> families = left_out ? spmv_families_left_out() : spmv_families();
  if (!left_out) {
    for (family& f : spmv_families_more()) families.push_back(std::move(f));
  }
  std::vector<job> jobs = jobs_for(families, left_out);
  const std::set<std::string> before = known(argv[1]);
  std::erase_if(jobs, [&](const job& j) { return before.contains(key_of(j.from->name, j.nonzeros, j.variant)); });
  pattern_factory<json> factory(jobs, [](const pattern& p) { return row_reads(p)(); });
  const context ctx = context::cuda();
  std::ofstream out(argv[1], std::ios::app);
  if (before.empty()) out << context_of(ctx) << std::endl;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (clock::now() > end) {
      fmt::print("time is over: {} of {} matrices\n", i, jobs.size());
      return 0;
    }
    const job& of = jobs[i];
    const auto [p, parameters, reads] = factory.take(i);
    const buffer<std::int32_t> rowptr = to_buffer(ctx, p.rowptr);
    const buffer<index_t> colind = to_buffer(ctx, p.colind);
    json line{{"family", of.from->name},
              {"about", std::round(of.nonzeros)},
              {"variant", of.variant},
              {"parameters", parameters},
              {"fitted", !left_out},
              {"row_reads", reads}};
    json stats;
    try {
      const json f64 = measure<double>(ctx, p, rowptr, colind, vendors, stats);
      const json f32 = measure<float>(ctx, p, rowptr, colind, vendors, stats);
      line["stats"]["inspected"] = stats, line["f64"] = f64, line["f32"] = f32;
      out << line << std::endl;
    } catch (const std::exception& e) {
      fmt::print("{} {}: {}\n", of.from->name, parameters, e.what());
    }
    if (i % 20 == 0) fmt::print("{:.1f} s, {} of {}\n", std::chrono::duration<double>(clock::now() - begin).count(), i, jobs.size());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} RECORD.jsonl SECONDS [fitted|left-out] [vendor]\n", argv[0]);
    return 2;
  }
  return tulle::bench::run_all(argc, argv);
}
