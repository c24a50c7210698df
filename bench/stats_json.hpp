// Statistics of a matrix in records, and back.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <tulle/formats/stats.hpp>

namespace tulle::bench {

inline nlohmann::ordered_json describe(const csr_stats::x_reads& r) {
  return {r.sectors, r.lines, r.slice_sectors, r.tile_sectors, r.window_sectors, r.slab_sectors};
}
inline nlohmann::ordered_json describe(const csr_stats& s) {
  using json = nlohmann::ordered_json;
  json fill = json::array();
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) fill.push_back(std::round(s.block_fill[b] * 1e4) / 1e4);
  return {{"rows", s.rows},
          {"cols", s.cols},
          {"nnz", s.nnz},
          {"max", s.max},
          {"stddev", s.stddev},
          {"empty_rows", s.empty_rows},
          {"bandwidth", s.bandwidth},
          {"column_window", s.column_window},
          {"ell_padding", s.ell_padding},
          {"sell_padding", s.sell_padding},
          {"sell_sorted_padding", s.sell_sorted_padding},
          {"gather_sectors", s.gather_sectors},
          {"gather_span", s.gather_span},
          {"tile_padding", s.tile_padding},
          {"tile_columns", s.tile_columns},
          {"slice_padding", s.slice_padding},
          {"offset_bytes", s.offset_bytes},
          {"reads_f64", describe(s.reads_f64)},
          {"reads_f32", describe(s.reads_f32)},
          {"diagonal", s.diagonal},
          {"block_fill", fill}};
}

inline csr_stats::x_reads reads_from(const nlohmann::ordered_json& j) { return {j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), j.at(5)}; }

/// As a plan saw them.
inline csr_stats stats_from(const nlohmann::ordered_json& j) {
  csr_stats s;
  s.rows = j.at("rows"), s.cols = j.at("cols"), s.nnz = j.at("nnz"), s.max = j.at("max");
  s.empty_rows = j.at("empty_rows"), s.sell_padding = j.at("sell_padding");
  s.gather_sectors = j.at("gather_sectors"), s.gather_span = j.at("gather_span");
  s.tile_padding = j.at("tile_padding"), s.tile_columns = j.value("tile_columns", 0), s.offset_bytes = j.at("offset_bytes");
  s.slice_padding = j.at("slice_padding"), s.stddev = j.at("stddev"), s.diagonal = j.value("diagonal", 0.0);
  s.reads_f64 = reads_from(j.at("reads_f64")), s.reads_f32 = reads_from(j.at("reads_f32"));
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) s.block_fill[b] = j.at("block_fill").at(b - 2);
  s.mean = s.rows == 0 ? 0 : static_cast<double>(s.nnz) / s.rows;
  s.skew = s.mean == 0 ? 1 : s.max / s.mean;
  s.ell_padding = s.skew;
  s.sell_sorted_padding = s.sell_padding;
  return s;
}

}  // namespace tulle::bench
