// What `default` takes on a CPU beside every kernel that it could take and beside other libraries (spmv_peers.hpp), on
// the families of spmv_families.hpp and on real matrices. Families that the rules were fitted on say so; the others and
// the real matrices judge them.
//
//   tulle_choice_cpu RECORD.json SECONDS THREADS [FOLDER]
//     measures what the record lacks until that time has gone by, of the families or of the folder's .mtx files
//   tulle_choice_cpu RECORD.json inspect [FOLDER]
//     what a plan looks at today, of the matrices that are there
//   tulle_choice_cpu RECORD.json terms
//     what tools/tune fits costs to, a line for each run
//   tulle_choice_cpu RECORD.json judge
//     what `default` takes today, by the times that are there
//
// On more threads than one, those that were measured on one and are worth several. Warm, f64 and f32, the least of some
// short turns of each; all take turns, so that what disturbs one disturbs all. What other processes took of the machine
// meanwhile is in the record. docs/notes/0024-choice-cpu.md.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <tulle/tulle.hpp>
#include <utility>

#include "../cli/bench/load.hpp"
#include "core/parallel.hpp"
#include "kernels/backends.hpp"
#include "kernels/processor.hpp"
#include "openmp_turns.hpp"
#include "plan/choose_spmv.hpp"
#include "plan/spmv_costs_cpu.hpp"
#include "record.hpp"
#include "spmv_families.hpp"
#include "spmv_peers.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

/// So large that kernels are not beside each other in memory: what a plan takes alone.
constexpr double large = 1e8;

double since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

template <scalar T>
csr<T, std::int32_t> with_values(const context& ctx, const pattern& p) {
  std::mt19937_64 random(1);
  std::vector<T> values(p.colind.size());
  for (T& v : values) v = static_cast<T>(0.5 + static_cast<double>(random() >> 11) * 0x1p-53);
  return {p.rows(), p.cols, to_buffer(ctx, p.rowptr), to_buffer(ctx, p.colind), to_buffer(ctx, values)};
}

struct candidate {
  std::string name;
  std::function<void()> apply;
  bool is_peer = false;
  bool is_other = false;  // on OpenMP's threads (openmp_turns.hpp)
  std::vector<double> times{};
  bool hopeless = false;

  [[nodiscard]] double least() const { return *std::ranges::min_element(times); }
};

/// Microseconds of one of so many applications in a row.
double sample(const candidate& c, int many) {
  const auto begin = clock::now();
  for (int i = 0; i < many; ++i) c.apply();
  return since(begin) / many;
}

/// Applications in a row, in turns. On several threads the threads of the library before have gone to sleep when
/// another's turn begins, and its own are awake when it is timed.
void measure(std::vector<candidate>& all, int threads) {
  constexpr double turn = 120, hopeless = 5, soon_over = 20;  // microseconds, but for the second
  constexpr int few = 9, many_alone = 15;
  constexpr std::chrono::milliseconds awake{3};  // what disturbs a core lasts some milliseconds
  double fastest = std::numeric_limits<double>::infinity();
  std::vector<double> first;
  for (candidate& c : all) {
    (void)sample(c, 1);
    first.push_back(sample(c, 1));
    const int some = first.back() < 100 ? static_cast<int>(std::min(50.0, 20 / first.back() + 4)) : 1;
    for (int i = 0; i < 4; ++i) first.back() = std::min(first.back(), sample(c, some));  // others may take the core
    fastest = std::min(fastest, first.back());
  }
  const int in_a_row = static_cast<int>(std::clamp(std::ceil(turn / fastest), 1.0, 2000.0));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].hopeless = first[i] > hopeless * fastest && first[i] * in_a_row > soon_over * turn;
    if (all[i].hopeless) all[i].times = {first[i]};
  }
  for (int i = 0; i < (fastest > 2000 || threads > 1 ? few : many_alone); ++i) {
    bool others = true;  // had the turn before
    for (candidate& c : all) {
      if (c.hopeless) continue;
      if (threads > 1 && c.is_other != others) wait_for_sleep();
      if (threads > 1) keep_awake(awake, c.apply);
      others = c.is_other;
      c.times.push_back(sample(c, in_a_row));
    }
  }
}

json stats_of(const csr_stats& s) {
  return {{"rows", s.rows},
          {"cols", s.cols},
          {"nnz", s.nnz},
          {"max", s.max},
          {"stddev", s.stddev},
          {"empty_rows", s.empty_rows},
          {"ell_padding", s.ell_padding},
          {"sell_padding", s.sell_padding},
          {"sell_sorted_padding", s.sell_sorted_padding},
          {"gather_sectors", s.gather_sectors},
          {"gather_span", s.gather_span},
          {"block_fill", s.block_fill},
          {"diagonal", s.diagonal},
          {"slice_padding", s.slice_padding}};
}

/// As `inspect` made them.
csr_stats stats_from(const json& j) {
  csr_stats s;
  s.rows = j.at("rows"), s.cols = j.at("cols"), s.nnz = j.at("nnz"), s.max = j.at("max"), s.stddev = j.at("stddev");
  s.empty_rows = j.at("empty_rows"), s.ell_padding = j.at("ell_padding"), s.sell_padding = j.at("sell_padding");
  s.sell_sorted_padding = j.at("sell_sorted_padding");
  s.gather_sectors = j.at("gather_sectors"), s.gather_span = j.at("gather_span");
  if (j.contains("block_fill")) s.block_fill = j.at("block_fill");
  s.diagonal = j.value("diagonal", 0.0);
  s.slice_padding = j.value("slice_padding", s.sell_sorted_padding);
  s.mean = s.rows == 0 ? 0 : static_cast<double>(s.nnz) / s.rows;
  s.skew = s.mean == 0 ? 1 : s.max / s.mean;
  return s;
}

double rounded(double us) { return us < 100 ? std::round(us * 1000) / 1000 : std::round(us * 10) / 10; }

/// The second plan: the system has found its memory.
any_spmv_plan plan_of(const context& ctx, const matrix_ref& a) {
  if (a.nnz < 1'000'000) (void)any_spmv_plan(ctx, a);
  return {ctx, a};
}

template <scalar T>
json run(int threads, const pattern& p, json& stats) {
  const context ctx = context::cpu(threads);
  const cli::bench::load_watch load;
  const csr<T, std::int32_t> a = with_values<T>(ctx, p);
  const matrix_ref ref(a.view());
  const bool alone = static_cast<double>(a.nnz()) > large / 2;
  const csr_stats all = alone ? csr_stats{} : statistics(ctx, a.view());
  buffer<T> x(ctx, static_cast<std::size_t>(a.cols)), y(ctx, static_cast<std::size_t>(a.rows));
  std::fill_n(x.data(), x.size(), T{1});
  std::fill_n(y.data(), y.size(), T{0});
  const any_spmv_plan plan = plan_of(ctx, ref);
  if (stats.is_null()) stats = stats_of(plan.stats());
  std::vector<candidate> candidates{{"default", [&] { plan.apply(1, x, 0, y); }, true}};
  std::vector<std::unique_ptr<spmv_operator>> made;
  for (const spmv_kernel& k : spmv_kernels(backend_kind::cpu)) {
    if (alone) break;
    const bool is_one = k.role == kernel_role::production && contains(k.types, types_of(ref, {}));
    if (!is_one || !k.supports(all, ref.types, ctx.info()).ok) continue;
    made.push_back(k.make(ctx, ref, all, {}));
    candidates.push_back({std::string(k.name), [&ctx, &x, &y, op = made.back().get()] {
                            op->apply(1, x.data(), 0, y.data(), ctx.stream());
                          }});
  }
  for (auto& [name, apply] : spmv_peers<T>(a.view(), x.data(), y.data(), threads)) {
    candidates.push_back({name, std::move(apply), true, true});
  }
  measure(candidates, threads);
  json us, peers;
  for (const candidate& c : candidates) (c.is_peer ? peers : us)[c.name] = rounded(c.least());
  if (alone) us[std::string(plan.kernel())] = peers["default"];
  return {{"precision", sizeof(T) == 8 ? "f64" : "f32"},
          {"threads", threads},
          {"planned", plan.kernel()},
          {"plan_us", rounded(plan.plan_microseconds())},
          {"others", rounded(load.others().value_or(0))},
          {"us", us},
          {"peers", peers}};
}

/// What the kernels that a choice is made of count of a matrix, for tools/tune.
json terms_of(const json& stats, const json& one, processor_class processor) {
  const spmv_subject_cpu subject(stats_from(stats), one.at("precision") == "f64" ? 8 : 4, processor);
  json all;
  for (std::size_t k = 0; k < kernels_cpu.size(); ++k) {
    if (k >= first_of_blocks_cpu && subject.blocks == 0) continue;
    json terms = json::array();
    for (const double t : kernels_cpu[k].of(subject)) terms.push_back(std::round(10 * t) / 10);
    all[std::string(kernels_cpu[k].kernel)] = {{"shares", shares_cpu(k, stats_from(stats), one.at("threads"), processor)},
                                               {"terms", terms}};
  }
  return all;
}

/// What a plan takes by today's rules: where a kernel does not take the matrix, the one without set-up.
std::string choice(const json& stats, const json& one, processor_class processor) {
  const type_key types{one.at("precision") == "f64" ? scalar_type::f64 : scalar_type::f32, offset_type::i32};
  const std::string chosen = choose_spmv_cpu(stats_from(stats), types, one.at("threads"), processor).kernel;
  return one.at("us").contains(chosen) ? chosen : "csr.balanced";
}

class record_file {
 public:
  explicit record_file(std::string name) : name_(std::move(name)) {
    if (std::ifstream in(name_); in) all_ = json::parse(in);
    if (all_["choice_cpu"].is_null()) all_["choice_cpu"] = json::array();
    for (std::size_t i = 0; i < matrices().size(); ++i) {
      const json& r = matrices()[i];
      place_[key(r.at("family"), r.at("matrix"))] = i;
    }
  }
  [[nodiscard]] bool has(const std::string& family, const std::string& matrix) const {
    return place_.contains(key(family, matrix));
  }
  [[nodiscard]] bool has(const std::string& family, const std::string& matrix, int threads) {
    return has(family, matrix) && std::ranges::any_of(of(family, matrix).at("runs"),
                                                      [&](const json& r) { return r.at("threads") == threads; });
  }
  /// Whether the matrix, as it was on one thread, is worth more of them.
  [[nodiscard]] bool is_shared(const std::string& family, const std::string& matrix) {
    if (!has(family, matrix)) return false;
    const json& stats = of(family, matrix).at("stats");
    return threads_for_product(2, stats.at("rows").get<std::int64_t>() + stats.at("nnz").get<std::int64_t>()) > 1;
  }
  void add(const std::string& family, const std::string& matrix, const std::string& parameters, bool fitted,
           const pattern& p, int threads) {
    if (!has(family, matrix)) {
      place_[key(family, matrix)] = matrices().size();
      matrices().push_back({{"family", family},
                            {"matrix", matrix},
                            {"parameters", parameters},
                            {"fitted", fitted},
                            {"stats", nullptr},
                            {"runs", json::array()}});
    }
    json& r = of(family, matrix);
    r["fitted"] = fitted;
    r["runs"].push_back(run<double>(threads, p, r["stats"]));
    r["runs"].push_back(run<float>(threads, p, r["stats"]));
  }
  /// What a plan sees of it.
  void inspect(const std::string& family, const std::string& matrix, const pattern& p) {
    const context ctx = context::cpu(1);
    const csr<double, std::int32_t> a = with_values<double>(ctx, p);
    of(family, matrix)["stats"] = stats_of(any_spmv_plan(ctx, matrix_ref(a.view())).stats());
  }
  void judge() {
    name_context();
    const processor_class processor = measured_on();
    for (json& r : matrices()) {
      for (json& one : r.at("runs")) one["chosen"] = choice(r.at("stats"), one, processor);
    }
  }
  /// {matrix, family, fitted, run, terms by kernel} of every run, a line each.
  void write_terms() {
    const processor_class processor = measured_on();
    for (const json& r : matrices()) {
      for (const json& one : r.at("runs")) {
        fmt::print("{}\n", json{{"family", r.at("family")},
                                {"matrix", r.at("matrix")},
                                {"fitted", r.at("fitted")},
                                {"nnz", r.at("stats").at("nnz")},
                                {"precision", one.at("precision")},
                                {"threads", one.at("threads")},
                                {"us", one.at("us")},
                                {"kernels", terms_of(r.at("stats"), one, processor)}}
                               .dump());
      }
    }
  }
  processor_class measured_on() const {
    const std::string of = all_.at("context").at("processor");
    for (const auto c : {processor_class::gathers, processor_class::loads, processor_class::narrow}) {
      if (of == tulle::name(c)) return c;
    }
    return this_processor();
  }
  void name_context() {
    const auto now = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
    if (all_["context"].is_null()) {
      all_["context"] = {{"commit", built_from().commit},
                         {"date", now},
                         {"device", context::cpu(1).info().name},
                         {"processor", tulle::name(this_processor())}};
    }
  }
  void write() {
    std::ofstream out(name_);
    out << "{\"context\": " << all_["context"] << ",\n\"choice_cpu\": [";
    for (const char* between = "\n"; const json& r : matrices()) out << std::exchange(between, ",\n") << r;
    out << "]}\n";
  }

 private:
  static std::string key(const std::string& family, const std::string& matrix) { return family + "/" + matrix; }
  json& matrices() { return all_["choice_cpu"]; }
  json& of(const std::string& family, const std::string& matrix) { return matrices()[place_.at(key(family, matrix))]; }

  std::string name_;
  json all_;
  std::map<std::string, std::size_t> place_;
};

/// Sizes of family number f; the largest but one for one family in three, the largest for four.
std::vector<double> sizes(int f, const std::string& name) {
  std::vector<double> all{100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6};
  for (double& n : all) n *= 1 + 0.1 * (f % 10);
  const bool has_large = name == "5 points" || name == "27 points" || name == "k within w" || name == "k a row";
  if (f % 3 == 0 || has_large) all.push_back(1e7);
  if (has_large) all.push_back(large);
  return all;
}

/// Small matrices of all families first: an end that comes early leaves out large ones. `each(family, matrix,
/// parameters, pattern)` of those that `wanted(family, matrix)`; false: no more.
template <class Wanted, class F>
void for_families(const Wanted& wanted, const F& each) {
  const auto families = spmv_families();
  for (std::size_t size = 0; size < 12; ++size) {
    for (int f = 0; f < static_cast<int>(families.size()); ++f) {
      const family& from = families[static_cast<std::size_t>(f)];
      const auto of_family = sizes(f, from.name);
      if (size >= of_family.size()) continue;
      const std::string about = fmt::format("{:.0f}", of_family[size]);
      if (!wanted(from.name, about)) continue;
      std::string parameters;
      const pattern p = from.make(of_family[size], static_cast<int>(size) + f, parameters);
      if (!each(from, about, parameters, p)) return;
    }
  }
}

/// The same of the files of a folder.
template <class Wanted, class F>
void for_files(const std::filesystem::path& folder, const Wanted& wanted, const F& each) {
  const family real{"real", false, {}};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    const std::string name = file.stem().string();
    if (file.extension() != ".mtx" || !wanted(real.name, name)) continue;
    try {
      const csr<double> a = read_matrix_market<double>(file);
      pattern p{a.cols, {}, {a.colind.data(), a.colind.data() + a.nnz()}};
      p.rowptr.assign(a.rowptr.data(), a.rowptr.data() + a.rows + 1);
      if (!each(real, name, "", p)) return;
    } catch (const error& e) {
      fmt::print("{}: {}\n", name, e.what());
    }
  }
}

int run_all(const std::vector<std::string>& arguments) {
  record_file record(arguments[0]);
  const std::string& what = arguments[1];
  const auto go = [&](std::size_t folder, const auto& wanted, const auto& each) {
    arguments.size() > folder ? for_files(arguments[folder], wanted, each) : for_families(wanted, each);
  };
  if (what == "inspect") {
    go(
        2, [&](const auto& family, const auto& matrix) { return record.has(family, matrix); },
        [&](const family& from, const std::string& name, const std::string&, const pattern& p) {
          record.inspect(from.name, name, p);
          return true;
        });
  } else if (what != "judge" && what != "terms") {
    const auto end = clock::now() + std::chrono::seconds(std::stoi(what));
    const int threads = std::stoi(arguments.at(2));
    go(
        3,
        [&](const auto& family, const auto& matrix) {
          return !record.has(family, matrix, threads) && (threads == 1 || record.is_shared(family, matrix));
        },
        [&](const family& from, const std::string& name, const std::string& parameters, const pattern& p) {
          if (clock::now() > end) return false;
          record.add(from.name, name, parameters, from.fitted, p, threads);
          fmt::print("{} {} {}: {} nonzeros\n", from.name, name, parameters, p.colind.size());
          return true;
        });
  }
  if (what == "terms") return record.write_terms(), 0;
  record.judge();
  record.write();
  return 0;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} RECORD.json SECONDS THREADS|inspect|terms|judge [FOLDER of .mtx]\n", argv[0]);
    return 2;
  }
  return tulle::bench::run_all({argv + 1, argv + argc});
}
