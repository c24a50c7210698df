// What every kernel takes for several right-hand sides on a CPU, on families of generated matrices, beside what a plan
// that was told so many takes.
//
//   tulle_choice_many_cpu RECORD.jsonl SECONDS THREADS [left-out]    a line for each matrix, until that time has gone by
//
// A record that is there is gone on with. Warm, f64 and f32, the least of some short turns of each; all take turns, so
// that what disturbs one disturbs all. docs/notes/0029-choice-many.md.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "../cli/bench/load.hpp"
#include "core/parallel.hpp"
#include "kernels/backends.hpp"
#include "kernels/processor.hpp"
#include "many_task.hpp"
#include "record.hpp"
#include "spmv_families.hpp"
#include "stats_json.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

double since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}
double rounded(double us) { return us < 100 ? std::round(us * 1000) / 1000 : std::round(us * 10) / 10; }

/// Kernels with a pass of their own for several right-hand sides, and CSR on one thread and on all.
bool is_candidate(const spmv_kernel& k, int threads) {
  if (k.role != kernel_role::production || !k.has.many || k.name.find('/') != std::string_view::npos) return false;
  return k.name != "bin_bsr" && (threads > 1 || k.name != "csr.balanced");
}

struct candidate {
  std::string name;
  std::function<void()> apply;
  std::vector<double> times{};
  bool hopeless = false;
};

double sample(const candidate& c, int many) {
  const auto begin = clock::now();
  for (int i = 0; i < many; ++i) c.apply();
  return since(begin) / many;
}

/// All in turns; {name: microseconds}.
json measure(std::vector<candidate>& all) {
  constexpr double turn = 150, hopeless = 3;
  constexpr int turns = 7;
  double fastest = std::numeric_limits<double>::infinity();
  std::vector<double> first;
  for (candidate& c : all) {
    (void)sample(c, 1);
    first.push_back(std::min(sample(c, 1), sample(c, 1)));
    fastest = std::min(fastest, first.back());
  }
  const int in_a_row = static_cast<int>(std::clamp(std::ceil(turn / fastest), 1.0, 1000.0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].times = {first[i]};
    all[i].hopeless = first[i] > hopeless * fastest;
  }
  for (int i = 0; i < (fastest > 5000 ? 4 : turns); ++i) {
    for (candidate& c : all) {
      if (!c.hopeless) c.times.push_back(sample(c, in_a_row));
    }
  }
  json us;
  for (const candidate& c : all) us[c.name] = rounded(*std::ranges::min_element(c.times));
  return us;
}

template <scalar T>
json run(int threads, const pattern& p, json& stats) {
  const context ctx = context::cpu(threads);
  std::mt19937_64 random(1);
  std::vector<T> values(p.colind.size());
  for (T& v : values) v = static_cast<T>(0.5 + static_cast<double>(random() >> 11) * 0x1p-53);
  const csr<T, std::int32_t> a{p.rows(), p.cols, to_buffer(ctx, p.rowptr), to_buffer(ctx, p.colind), to_buffer(ctx, values)};
  const matrix_ref ref(a.view());
  const csr_stats all = statistics(ctx, a.view());
  if (stats.is_null()) {
    stats = describe(any_spmv_plan(ctx, ref).stats());
  }
  json out;
  for (const many_task& t : many_tasks_cpu) {
    const auto columns = static_cast<std::size_t>(t.columns);
    buffer<T> x(ctx, columns * static_cast<std::size_t>(a.cols)), y(ctx, columns * static_cast<std::size_t>(a.rows));
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<T>(1 + i % 7);
    std::fill_n(y.data(), y.size(), T{0});
    const auto at = [&](T* data, index_t n) {
      return strided_vectors{data, t.columns, t.by_row ? t.columns : 1, t.by_row ? 1 : std::int64_t{n}};
    };
    const strided_vectors of_x = at(x.data(), a.cols), of_y = at(y.data(), a.rows);
    const vector_order order = t.by_row ? vector_order::row_major : vector_order::column_major;
    const const_multivector_ref rx(scalar_type_of<T>, a.cols, t.columns, t.by_row ? t.columns : a.cols, order, x.data(),
                                   memory_space::host);
    const multivector_ref ry(scalar_type_of<T>, a.rows, t.columns, t.by_row ? t.columns : a.rows, order, y.data(),
                             memory_space::host);
    spmv_options told;
    told.columns = t.columns;
    told.columns_order = order;
    const any_spmv_plan plan(ctx, ref, told);
    std::vector<candidate> candidates{{"default", [&] { plan.apply_many(1, rx, 0, ry); }}};
    std::vector<std::unique_ptr<spmv_operator>> made;
    for (const spmv_kernel& k : spmv_kernels(backend_kind::cpu)) {
      if (!is_candidate(k, threads) || !contains(k.types, types_of(ref, {})) || !k.supports(all, ref.types, ctx.info()).ok)
        continue;
      made.push_back(k.make(ctx, ref, all, told));
      candidates.push_back({std::string(k.name), [&, op = made.back().get()] {
                              op->apply_many(1, of_x, 0, of_y, ctx.stream());
                            }});
    }
    json one{{"one_vector", std::string(plan.kernel())}, {"plan_us", rounded(plan.plan_microseconds())}};
    one["us"] = measure(candidates);
    out[t.name()] = one;
  }
  return out;
}

struct job {
  const family* from;
  double nonzeros;
  int variant;
};

std::string key_of(const std::string& family, double about, int threads) {
  return fmt::format("{}/{:.0f}/{}", family, about, threads);
}
std::set<std::string> known(const char* file) {
  std::set<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const json of = json::parse(line, nullptr, false);
    if (of.is_object() && of.contains("family")) out.insert(key_of(of["family"], of["about"], of["threads"]));
  }
  return out;
}

/// Small ones first.
std::vector<job> jobs_for(const std::vector<family>& families) {
  constexpr double about[] = {3e3, 3e4, 3e5, 1e6};
  std::vector<job> jobs;
  for (int size = 0; size < 4; ++size) {
    for (int f = 0; f < static_cast<int>(families.size()); ++f) {
      if (size == 3 && f % 2 == 0) continue;
      jobs.push_back({&families[static_cast<std::size_t>(f)], std::round(about[size] * (1 + 0.1 * (f % 10))), size + f});
    }
  }
  return jobs;
}

int run_all(int argc, char** argv) {
  const auto end = clock::now() + std::chrono::seconds(std::atoi(argv[2]));
  const int threads = std::atoi(argv[3]);
  const bool left_out = argc > 4;
  const std::vector<family> families = left_out ? spmv_families_left_out() : spmv_families();
  const std::set<std::string> before = known(argv[1]);
  std::ofstream out(argv[1], std::ios::app);
  if (before.empty()) {
    out << json{{"context",
                 {{"commit", built_from().commit},
                  {"date", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
                  {"device", context::cpu(1).info().name},
                  {"processor", tulle::name(this_processor())}}}}
        << std::endl;
  }
  const std::vector<job> jobs = jobs_for(families);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const job& of = jobs[i];
    if (before.contains(key_of(of.from->name, of.nonzeros, threads))) continue;
    if (clock::now() > end) {
      fmt::print("time is over: {} of {} matrices\n", i, jobs.size());
      return 0;
    }
    std::string parameters;
    const pattern p = of.from->make(of.nonzeros, of.variant, parameters);
    if (threads > 1 && threads_for(2, std::int64_t{p.rows()} + p.rowptr.back()) == 1) continue;
    json stats;
    const cli::bench::load_watch load;
    json line{{"family", of.from->name},   {"about", of.nonzeros}, {"parameters", parameters},
              {"fitted", of.from->fitted && !left_out}, {"threads", threads}};
    const json f64 = run<double>(threads, p, stats), f32 = run<float>(threads, p, stats);
    line["others"] = rounded(load.others().value_or(0));
    line["stats"] = stats, line["f64"] = f64, line["f32"] = f32;
    out << line << std::endl;
  }
  fmt::print("all there\n");
  return 0;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} RECORD.jsonl SECONDS THREADS [left-out]\n", argv[0]);
    return 2;
  }
  return tulle::bench::run_all(argc, argv);
}
