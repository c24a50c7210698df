// What tools/tune fits costs with, from a record of tulle_choice_cuda: a line for each matrix and type of values, with
// the terms of every kernel (src/plan/spmv_terms_cuda.hpp) and what `default` chooses today. Needs no GPU.
//
//   tulle_choice_cuda_terms RECORD.jsonl
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <tulle/tulle.hpp>

#include "plan/spmv_costs_cuda.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;

csr_stats::x_reads reads_from(const json& j) { return {j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), j.at(5)}; }

/// As a plan saw them.
csr_stats stats_from(const json& j) {
  csr_stats s;
  s.rows = j.at("rows"), s.cols = j.at("cols"), s.nnz = j.at("nnz"), s.max = j.at("max");
  s.empty_rows = j.at("empty_rows"), s.sell_padding = j.at("sell_padding");
  s.gather_sectors = j.at("gather_sectors"), s.gather_span = j.at("gather_span");
  s.tile_padding = j.at("tile_padding"), s.offset_bytes = j.at("offset_bytes");
  s.slice_padding = j.at("slice_padding");
  s.reads_f64 = reads_from(j.at("reads_f64")), s.reads_f32 = reads_from(j.at("reads_f32"));
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) s.block_fill[b] = j.at("block_fill").at(b - 2);
  s.mean = s.rows == 0 ? 0 : static_cast<double>(s.nnz) / s.rows;
  s.skew = s.mean == 0 ? 1 : s.max / s.mean;
  s.ell_padding = s.skew;
  s.sell_sorted_padding = s.sell_padding;
  return s;
}

int run(const char* file) {
  std::ifstream in(file);
  device_info device;
  device.backend = backend_kind::cuda;
  for (std::string line; std::getline(in, line);) {
    const json r = json::parse(line);
    if (r.contains("context")) {
      const json& c = r.at("context");
      device.name = c.at("device"), device.multiprocessors = c.at("multiprocessors");
      device.compute_capability = c.at("compute_capability"), device.l2_bytes = c.at("l2_bytes");
      continue;
    }
    const csr_stats s = stats_from(r.at("stats").at("inspected"));
    for (const auto& [precision, type] : {std::pair{"f64", scalar_type::f64}, std::pair{"f32", scalar_type::f32}}) {
      const spmv_terms_of terms(s, size_of(type), device);
      json of;
      for (const std::string_view k : cuda_candidates) of[std::string(k)] = terms.of(k).of;
      const type_key types{type, offset_type::i32};
      fmt::print("{}\n", json{{"family", r.at("family")},
                              {"parameters", r.at("parameters")},
                              {"nnz", s.nnz},
                              {"precision", precision},
                              {"chosen", choose_spmv(s, types, device).kernel},
                              {"terms", of},
                              {"us", r.contains(precision) ? r.at(precision).at("us") : json{}}}
                             .dump());
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
