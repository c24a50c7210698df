// What `default` takes on a CPU beside every kernel that it could take, on the families of spmv_families.hpp and on
// real matrices. Families that the rules were fitted on say so; the others and the real matrices judge them.
//
//   tulle_choice_cpu RECORD.json SECONDS [FOLDER of .mtx]   measures what the record lacks until that time has gone by
//   tulle_choice_cpu RECORD.json judge                      what `default` takes today, by the times that are there
//
// Warm, one thread and two, f64 and f32; kernels take turns, so that what disturbs one disturbs all.
// docs/notes/0024-choice-cpu.md.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string_view>
#include <tulle/tulle.hpp>
#include <utility>

#include "kernels/backends.hpp"
#include "record.hpp"
#include "spmv_families.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

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
  std::unique_ptr<spmv_operator> op;
  std::vector<double> times;
  bool hopeless = false;
};

/// Medians of applications in a row, in turns.
class stand {
 public:
  stand(const context& ctx, shape of, std::size_t value)
      : ctx_(ctx), x_(ctx, of.cols * value), y_(ctx, of.rows * value) {
    std::fill_n(x_.data(), x_.size(), std::byte{0});
  }
  void measure(std::vector<candidate>& all) {
    constexpr double turn = 120, hopeless = 3, soon_over = 20;  // microseconds, but for the second
    constexpr int few = 5, many = 9;
    double fastest = std::numeric_limits<double>::infinity();
    std::vector<double> first;
    for (candidate& c : all) {
      (void)sample(c, 1);
      first.push_back(sample(c, 1));
      if (first.back() < 100) first.back() = sample(c, static_cast<int>(std::min(50.0, 20 / first.back() + 4)));
      fastest = std::min(fastest, first.back());
    }
    const int in_a_row = static_cast<int>(std::clamp(std::ceil(turn / fastest), 1.0, 2000.0));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].hopeless = first[i] > hopeless * fastest && first[i] * in_a_row > soon_over * turn;
      if (all[i].hopeless) all[i].times = {first[i]};
    }
    for (int i = 0; i < (fastest > 2000 ? few : many); ++i) {
      for (candidate& c : all) {
        if (!c.hopeless) c.times.push_back(sample(c, in_a_row));
      }
    }
  }

 private:
  double sample(candidate& c, int many) {
    const auto begin = clock::now();
    for (int i = 0; i < many; ++i) c.op->apply(1, x_.data(), 0, y_.data(), ctx_.stream());
    return since(begin) / many;
  }
  context ctx_;
  buffer<std::byte> x_, y_;
};

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
          {"gather_span", s.gather_span}};
}

/// As `inspect` made them.
csr_stats stats_from(const json& j) {
  csr_stats s;
  s.rows = j.at("rows"), s.cols = j.at("cols"), s.nnz = j.at("nnz"), s.max = j.at("max"), s.stddev = j.at("stddev");
  s.empty_rows = j.at("empty_rows"), s.ell_padding = j.at("ell_padding"), s.sell_padding = j.at("sell_padding");
  s.sell_sorted_padding = j.at("sell_sorted_padding");
  s.gather_sectors = j.at("gather_sectors"), s.gather_span = j.at("gather_span");
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
  const csr<T, std::int32_t> a = with_values<T>(ctx, p);
  const matrix_ref ref(a.view());
  const csr_stats all = statistics(ctx, a.view());
  json planned;
  {
    const any_spmv_plan plan = plan_of(ctx, ref);
    planned = {std::string(plan.kernel()), rounded(plan.plan_microseconds())};
    if (stats.is_null()) stats = stats_of(plan.stats());
  }
  std::vector<candidate> candidates;
  for (const spmv_kernel& k : spmv_kernels(backend_kind::cpu)) {
    const bool is_one = k.role == kernel_role::production && contains(k.types, types_of(ref, {}));
    if (is_one && k.supports(all, ref.types, ctx.info()).ok)
      candidates.push_back({std::string(k.name), k.make(ctx, ref, all, {}), {}});
  }
  stand(ctx, ref.dimensions(), sizeof(T)).measure(candidates);
  json us;
  for (const candidate& c : candidates) us[c.name] = rounded(median(c.times));
  return {{"precision", sizeof(T) == 8 ? "f64" : "f32"},
          {"threads", threads},
          {"planned", planned[0]},
          {"plan_us", planned[1]},
          {"us", us}};
}

/// What a plan takes by today's rules: where a kernel does not take the matrix, the one without set-up.
std::string choice(const json& stats, const json& one) {
  device_info device = context::cpu(1).info();
  device.multiprocessors = one.at("threads");
  const type_key types{one.at("precision") == "f64" ? scalar_type::f64 : scalar_type::f32, offset_type::i32};
  const std::string chosen = choose_spmv(stats_from(stats), types, device).kernel;
  return one.at("us").contains(chosen) ? chosen : "csr.balanced";
}

class record_file {
 public:
  explicit record_file(std::string name) : name_(std::move(name)) {
    if (std::ifstream in(name_); in) all_ = json::parse(in);
    for (const json& r : matrices()) known_.insert(key(r.at("family"), r.at("matrix")));
  }
  [[nodiscard]] bool has(const std::string& family, const std::string& matrix) const {
    return known_.contains(key(family, matrix));
  }
  void add(const std::string& family, const std::string& matrix, const std::string& parameters, bool fitted,
           const pattern& p) {
    json stats, runs = json::array();
    for (const int threads : {1, 2}) {
      runs.push_back(run<double>(threads, p, stats));
      runs.push_back(run<float>(threads, p, stats));
    }
    known_.insert(key(family, matrix));
    all_["choice_cpu"].push_back({{"family", family},
                                  {"matrix", matrix},
                                  {"parameters", parameters},
                                  {"fitted", fitted},
                                  {"stats", stats},
                                  {"runs", runs}});
  }
  void judge() {
    for (json& r : matrices()) {
      for (json& one : r.at("runs")) one["chosen"] = choice(r.at("stats"), one);
    }
  }
  void write() {
    const auto now = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
    if (all_["context"].is_null()) {
      all_["context"] = {{"commit", built_from().commit}, {"date", now}, {"device", context::cpu(1).info().name}};
    }
    std::ofstream out(name_);
    out << "{\"context\": " << all_["context"] << ",\n\"choice_cpu\": [";
    for (const char* between = "\n"; const json& r : matrices()) out << std::exchange(between, ",\n") << r;
    out << "]}\n";
  }

 private:
  static std::string key(const std::string& family, const std::string& matrix) { return family + "/" + matrix; }
  json& matrices() {
    if (all_["choice_cpu"].is_null()) all_["choice_cpu"] = json::array();
    return all_["choice_cpu"];
  }
  std::string name_;
  json all_;
  std::set<std::string> known_;
};

/// Sizes of family number f; the largest for one family in three.
std::vector<double> sizes(int f) {
  std::vector<double> all{100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6};
  for (double& n : all) n *= 1 + 0.1 * (f % 10);
  if (f % 3 == 0) all.push_back(1e7);
  return all;
}

void measure_families(record_file& record, clock::time_point end) {
  const auto families = spmv_families();
  // Small matrices of all families first: an end that comes early leaves out large ones.
  for (std::size_t size = 0; size < 11; ++size) {
    for (int f = 0; f < static_cast<int>(families.size()); ++f) {
      const auto of_family = sizes(f);
      if (size >= of_family.size()) continue;
      const family& from = families[static_cast<std::size_t>(f)];
      const std::string about = fmt::format("{:.0f}", of_family[size]);
      if (record.has(from.name, about)) continue;
      if (clock::now() > end) return;
      std::string parameters;
      const pattern p = from.make(of_family[size], static_cast<int>(size) + f, parameters);
      record.add(from.name, about, parameters, from.fitted, p);
      fmt::print("{} {} {}: {} nonzeros\n", from.name, about, parameters, p.colind.size());
    }
  }
}

void measure_files(record_file& record, const std::filesystem::path& folder, clock::time_point end) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    const std::string name = file.stem().string();
    if (file.extension() != ".mtx" || record.has("real", name)) continue;
    if (clock::now() > end) return;
    try {
      const csr<double> a = read_matrix_market<double>(file);
      pattern p{a.cols, {}, {a.colind.data(), a.colind.data() + a.nnz()}};
      p.rowptr.assign(a.rowptr.data(), a.rowptr.data() + a.rows + 1);
      record.add("real", name, "", false, p);
    } catch (const error& e) {
      fmt::print("{}: {}\n", name, e.what());
    }
  }
}

int run_all(int argc, char** argv) {
  record_file record(argv[1]);
  if (std::string_view(argv[2]) != "judge") {
    const auto end = clock::now() + std::chrono::seconds(std::atoi(argv[2]));
    argc > 3 ? measure_files(record, argv[3], end) : measure_families(record, end);
  }
  record.judge();
  record.write();
  return 0;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} RECORD.json SECONDS|judge [FOLDER of .mtx]\n", argv[0]);
    return 2;
  }
  return tulle::bench::run_all(argc, argv);
}
