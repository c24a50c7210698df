#include "spgemm_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cells.hpp"
#include "machine.hpp"

namespace tulle::cli::bench {
namespace {

const spgemm_record* numeric_of(std::span<const spgemm_record> records, const spgemm_record& whole) {
  const auto found = std::ranges::find_if(
      records, [&](const spgemm_record& r) { return r.kernel == whole.kernel && r.phase == "numeric"; });
  return found == records.end() ? nullptr : &*found;
}

void add_row(table& t, const spgemm_record& r, const spgemm_record* numeric) {
  const auto of_gather = r.percent_of_gather();
  const bool right = r.is_right() && (numeric == nullptr || numeric->is_right());
  std::string remarks = r.sorted ? "" : "UNSORTED";
  if (r.same_bits) remarks += fmt::format("{}same bits", remarks.empty() ? "" : ", ");
  t.row({r.kernel, median_cell(r), spread_cell(r.time), three_digits(r.gflops()),
         percent_cell(r.percent_of_bandwidth()), percent_cell(of_gather.value_or(0)),
         numeric == nullptr ? "-" : median_cell(*numeric), numeric == nullptr ? "-" : spread_cell(numeric->time),
         numeric == nullptr ? "-" : three_digits(numeric->gflops()),
         numeric == nullptr ? "-" : fmt::format("{:.2f}", r.time.median / numeric->time.median),
         human_bytes(static_cast<double>(r.peak_bytes)),
         error_cell(std::max(r.error_ratio, numeric == nullptr ? 0 : numeric->error_ratio), right), remarks},
        mark_of(r), look_of(r, right));
}

}  // namespace

std::string spgemm_record::name() const { return fmt::format("spgemm/{}/{}/{}/{}", kernel, matrix, precision, phase); }

std::string spgemm_record::complaint() const {
  return fmt::format("error is {:.3g} times its bound{}{}", error_ratio, sorted ? "" : ", rows not sorted",
                     wrong.empty() ? "" : "; " + wrong);
}

double spgemm_record::compulsory_bytes() const {
  return entry_bytes() * static_cast<double>(nnz + (transposed_b ? nnz_b : 0) + nnz_c) + 12.0 * rows;
}

std::optional<double> spgemm_record::percent_of_gather() const {
  if (cache_bandwidth <= 0) return std::nullopt;
  return gather_gbs() * 1e11 / cache_bandwidth;
}

json to_json(const spgemm_record& r) {
  json j = common_json(r.name(), r);
  j.update(object(field("gflops", r.gflops()), field("gbs", r.gbs()),
                  field("percent_of_bandwidth", unless_unknown(r.percent_of_bandwidth())),
                  field("compulsory_bytes", r.compulsory_bytes()), field("gather_gbs", r.gather_gbs()),
                  field("percent_of_gather", nullable(r.percent_of_gather())), field("products", r.products),
                  field("nnz_c", r.nnz_c), field("compression", r.compression()), field("peak_bytes", r.peak_bytes),
                  field("checked_rows", r.checked_rows), field("wrong", r.wrong), field("sorted", r.sorted),
                  field("same_bits", r.same_bits), field("phase", r.phase), field("transposed_b", r.transposed_b)));
  return j;
}

void add_products(page& to, const spgemm_record& matrix, const spgemm_results& measured) {
  std::string head = fmt::format("{}: {}, C {} x {}, {} in A", matrix.matrix, matrix.transposed_b ? "A A^T" : "A A",
                                 grouped(matrix.rows), grouped(matrix.cols), counted(matrix.nnz, "nonzero"));
  if (!measured.records.empty()) {
    const spgemm_record& r = measured.records.front();
    head += fmt::format(", {} in C, {} ({:.2f} for each entry of C)", grouped(r.nnz_c), counted(r.products, "product"),
                        r.compression());
  }
  to.line().line(fmt::format("{}, {}", head, matrix.precision), look::bold);
  table t({{.title = "kernel", .left = true},
           {"whole"},
           {"IQR"},
           {"GFLOP/s"},
           {"% bw", 3},
           {"% L2", 4},
           {"values"},
           {"IQR"},
           {"GFLOP/s", 5},
           {"whole / values", 6},
           {"peak", 2},
           {"error", 1},
           {.title = "remarks", .drop = 7, .left = true}});
  std::vector<const spgemm_record*> sorted;
  for (const spgemm_record& r : measured.records) {
    if (r.phase == "whole") sorted.push_back(&r);
  }
  std::ranges::stable_sort(sorted, {}, [](const spgemm_record* r) { return r->time.median; });
  for (const spgemm_record* r : sorted) add_row(t, *r, numeric_of(measured.records, *r));
  to.add(t);
  explain_disturbed(to, measured.records);
  add_omissions(to, measured.omitted);
}

}  // namespace tulle::cli::bench
