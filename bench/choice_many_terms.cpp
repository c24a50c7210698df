// What tools/tune fits costs for several right-hand sides with, from a record of tulle_choice_many: a line for each
// matrix, type of values and task, with the terms of every kernel (src/plan/spmm_terms_cuda.hpp). Needs no GPU.
//
//   tulle_choice_many_terms RECORD.jsonl
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "kernels/bsr_block.hpp"
#include "kernels/row_lanes.hpp"
#include "plan/spmm_terms_cuda.hpp"
#include "stats_json.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;

/// Lines of X over those up to which short rows stay whole; infinite (null in JSON) where rows are longer.
double of_few_lines(const csr_stats& s, index_t columns, std::size_t value) {
  if (!short_rows::has(s.max, s.mean)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(short_rows::lines(s.nnz, columns, static_cast<int>(value))) / short_rows::few_lines;
}

int run(const char* file) {
  std::ifstream in(file);
  device_info device;
  device.backend = backend_kind::cuda;
  for (std::string line; std::getline(in, line);) {
    const json r = json::parse(line);
    if (r.contains("context")) {
      const json& c = r.at("context");
      device.multiprocessors = c.at("multiprocessors"), device.l2_bytes = c.at("l2_bytes");
      continue;
    }
    const csr_stats s = stats_from(r.at("stats").at("inspected"));
    for (const auto& [precision, value] : {std::pair{"f64", std::size_t{8}}, std::pair{"f32", std::size_t{4}}}) {
      const index_t b = best_bsr_block(s, value);
      for (const auto& [task, measured] : r.at(precision).items()) {
        const tulle::many_task t{std::atoi(task.c_str()), task.ends_with('r'), value};
        const spmm_terms_of terms(s, t, device);
        json of;
        for (const std::string_view k : many_candidates) of[std::string(k)] = terms.of(k).of;
        fmt::print("{}\n", json{{"family", r.at("family")},
                                {"parameters", r.at("parameters")},
                                {"nnz", s.nnz},
                                {"precision", precision},
                                {"task", task},
                                {"block_rows", s.rows / b},
                                {"fill", s.block_fill[static_cast<std::size_t>(b)]},
                                {"skew", s.skew},
                                {"longest", s.max},
                                {"of_few_lines", of_few_lines(s, t.columns, value)},
                                {"whole", pieces_stay_whole(s, t)},
                                {"terms", of},
                                {"us", measured.at("us")}}
                               .dump());
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace tulle::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} RECORD.jsonl\n", argv[0]);
    return 2;
  }
  return tulle::bench::run(argv[1]);
}
