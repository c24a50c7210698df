// What tools/tune fits costs with, from a record of tulle_choice_cuda: a line for each matrix and type of values, with
// the terms of every kernel (src/plan/spmv_terms_cuda.hpp) and what `default` chooses today. Needs no GPU.
//
//   tulle_choice_cuda_terms RECORD.jsonl
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <tulle/tulle.hpp>

#include "plan/spmv_costs_cuda.hpp"
#include "stats_json.hpp"

namespace tulle::bench {
namespace {

using json = nlohmann::ordered_json;

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
      const json took = r.value(precision, json::object());
      fmt::print("{}\n", json{{"family", r.at("family")},
                              {"parameters", r.at("parameters")},
                              {"nnz", s.nnz},
                              {"precision", precision},
                              {"chosen", choose_spmv(s, types, device).kernel},
                              {"terms", of},
                              {"us", took.value("us", json{})},
                              {"measured_us", took.value("measured_us", json{})}}
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
