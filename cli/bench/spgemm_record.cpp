#include "spgemm_record.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::cli::bench {
namespace {

const spgemm_record* numeric_of(std::span<const spgemm_record> records, const spgemm_record& whole) {
  const auto found = std::ranges::find_if(
      records, [&](const spgemm_record& r) { return r.kernel == whole.kernel && r.phase == "numeric"; });
  return found == records.end() ? nullptr : &*found;
}

std::string row_of(const spgemm_record& r, const spgemm_record* numeric) {
  const auto of_gather = r.percent_of_gather();
  std::string text = fmt::format("{} {:<20} {:>11.1f} ±{:>8.1f} {:>8.2f} {:>6.1f} {:>6}", r.chosen ? '*' : ' ',
                                 r.kernel, r.time.median, r.time.stddev, r.gflops(), r.percent_of_bandwidth(),
                                 of_gather ? fmt::format("{:.1f}", *of_gather) : "-");
  text += numeric == nullptr ? fmt::format(" {:>11} {:>8} {:>6}", "-", "-", "-")
                             : fmt::format(" {:>11.1f} {:>8.2f} {:>6.2f}", numeric->time.median, numeric->gflops(),
                                           r.time.median / numeric->time.median);
  const bool right = r.is_right() && (numeric == nullptr || numeric->is_right());
  const double error = std::max(r.error_ratio, numeric == nullptr ? 0 : numeric->error_ratio);
  return text + fmt::format(" {:>9} {:>7.3f}{} {}{}\n", human_bytes(static_cast<double>(r.peak_bytes)), error,
                            right ? ' ' : '!', r.sorted ? "sorted" : "UNSORTED", r.same_bits ? ", same bits" : "");
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
                  field("percent_of_bandwidth", r.percent_of_bandwidth()),
                  field("compulsory_bytes", r.compulsory_bytes()), field("gather_gbs", r.gather_gbs()),
                  field("percent_of_gather", nullable(r.percent_of_gather())), field("products", r.products),
                  field("nnz_c", r.nnz_c), field("compression", r.compression()), field("peak_bytes", r.peak_bytes),
                  field("checked_rows", r.checked_rows), field("wrong", r.wrong), field("sorted", r.sorted),
                  field("same_bits", r.same_bits), field("phase", r.phase), field("transposed_b", r.transposed_b)));
  return j;
}

std::string spgemm_table(const spgemm_record& matrix, const spgemm_results& measured) {
  std::string text = fmt::format("\n{}: {}, C {} x {}, nonzeros of A {}", matrix.matrix,
                                 matrix.transposed_b ? "A A^T" : "A A", matrix.rows, matrix.cols, matrix.nnz);
  if (!measured.records.empty()) {
    const spgemm_record& r = measured.records.front();
    text += fmt::format(", of C {}, products {} ({:.2f} for each entry of C)", r.nnz_c, r.products, r.compression());
  }
  text += fmt::format(", {}\n", matrix.precision);
  if (!measured.records.empty()) {
    text += fmt::format("  {:<20} {:>11} ±{:>8} {:>8} {:>6} {:>6} {:>11} {:>8} {:>6} {:>9} {:>7}\n", "kernel",
                        "whole us", "sd", "GFLOP/s", "% bw", "% L2", "numeric us", "GFLOP/s", "x", "peak", "error");
  }
  std::vector<const spgemm_record*> sorted;
  for (const spgemm_record& r : measured.records) {
    if (r.phase == "whole") sorted.push_back(&r);
  }
  std::ranges::stable_sort(sorted, {}, [](const spgemm_record* r) { return r->time.median; });
  for (const spgemm_record* r : sorted) text += row_of(*r, numeric_of(measured.records, *r));
  return text + omission_lines(measured.omitted);
}

}  // namespace tulle::cli::bench
