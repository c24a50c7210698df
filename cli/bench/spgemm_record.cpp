#include "spgemm_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tulle::cli::bench {
namespace {

double entry_bytes(const spgemm_subject& s) { return s.precision == "f64" ? 12 : 8; }

double gbs(double bytes, const spgemm_record& r) { return bytes / r.time.median * 1e-3; }

const spgemm_record* numeric_of(std::span<const spgemm_record> records, const spgemm_record& whole) {
  const auto found = std::ranges::find_if(
      records, [&](const spgemm_record& r) { return r.kernel == whole.kernel && r.phase == "numeric"; });
  return found == records.end() ? nullptr : &*found;
}

void add_row(std::string& text, const spgemm_subject& s, const spgemm_record& r, const spgemm_record* numeric) {
  const auto of_gather = percent_of_gather(s, r);
  fmt::format_to(std::back_inserter(text), "{} {:<20} {:>11.1f} ±{:>8.1f} {:>8.2f} {:>6.1f} {:>6}",
                 r.chosen ? '*' : ' ', r.kernel, r.time.median, r.time.stddev, r.gflops(), percent_of_bandwidth(s, r),
                 of_gather ? fmt::format("{:.1f}", *of_gather) : "-");
  if (numeric != nullptr) {
    fmt::format_to(std::back_inserter(text), " {:>11.1f} {:>8.2f} {:>6.2f}", numeric->time.median, numeric->gflops(),
                   r.time.median / numeric->time.median);
  } else {
    fmt::format_to(std::back_inserter(text), " {:>11} {:>8} {:>6}", "-", "-", "-");
  }
  const bool right = r.is_right() && (numeric == nullptr || numeric->is_right());
  const double error = std::max(r.error_ratio, numeric == nullptr ? 0 : numeric->error_ratio);
  fmt::format_to(std::back_inserter(text), " {:>9} {:>7.3f}{} {}{}\n", human_bytes(static_cast<double>(r.peak_bytes)),
                 error, right ? ' ' : '!', r.sorted ? "sorted" : "UNSORTED", r.same_bits ? ", same bits" : "");
}

}  // namespace

std::string name_of(const spgemm_subject& s, const spgemm_record& r) {
  return fmt::format("spgemm/{}/{}/{}/{}", r.kernel, s.matrix, s.precision, r.phase);
}

double compulsory_bytes(const spgemm_subject& s, const spgemm_record& r) {
  const std::int64_t entries = s.nnz_a + (s.transposed_b ? s.nnz_b : 0) + r.nnz_c;
  return entry_bytes(s) * static_cast<double>(entries) + 12.0 * s.rows;
}

double gathered_bytes(const spgemm_subject& s, const spgemm_record& r) {
  return entry_bytes(s) * static_cast<double>(r.products);
}

double percent_of_bandwidth(const spgemm_subject& s, const spgemm_record& r) {
  return s.copy_bandwidth > 0 ? gbs(compulsory_bytes(s, r), r) * 1e11 / s.copy_bandwidth : 0;
}

std::optional<double> percent_of_gather(const spgemm_subject& s, const spgemm_record& r) {
  if (s.cache_bandwidth <= 0) return std::nullopt;
  return gbs(gathered_bytes(s, r), r) * 1e11 / s.cache_bandwidth;
}

json to_json(const spgemm_subject& s, const spgemm_record& r) {
  json j = timed(name_of(s, r), r.time);
  j["gflops"] = r.gflops();
  j["gbs"] = gbs(compulsory_bytes(s, r), r);
  j["percent_of_bandwidth"] = percent_of_bandwidth(s, r);
  j["compulsory_bytes"] = compulsory_bytes(s, r);
  j["gather_gbs"] = gbs(gathered_bytes(s, r), r);
  const auto of_gather = percent_of_gather(s, r);
  j["percent_of_gather"] = of_gather ? json(*of_gather) : json(nullptr);
  j["products"] = r.products;
  j["nnz_c"] = r.nnz_c;
  j["compression"] = r.compression();
  j["peak_bytes"] = r.peak_bytes;
  j["workspace_bytes"] = r.workspace_bytes;
  j["error_ratio"] = std::isfinite(r.error_ratio) ? json(r.error_ratio) : json("inf");
  j["checked_rows"] = r.checked_rows;
  j["wrong"] = r.wrong;
  j["sorted"] = r.sorted;
  j["same_bits"] = r.same_bits;
  j["kernel"] = r.kernel;
  j["phase"] = r.phase;
  j["vendor"] = r.vendor;
  j["chosen"] = r.chosen;
  j["matrix"] = s.matrix;
  j["matrix_hash"] = s.matrix_hash;
  j["rows"] = s.rows;
  j["cols"] = s.cols;
  j["nnz"] = s.nnz_a;
  j["transposed_b"] = s.transposed_b;
  j["precision"] = s.precision;
  return j;
}

std::string spgemm_table(const spgemm_subject& s, std::span<const spgemm_record> records,
                         std::span<const omission> omitted) {
  std::string text = fmt::format("\n{}: {}, C {} x {}, nonzeros of A {}", s.matrix, s.transposed_b ? "A A^T" : "A A",
                                 s.rows, s.cols, s.nnz_a);
  if (!records.empty()) {
    const spgemm_record& r = records.front();
    text += fmt::format(", of C {}, products {} ({:.2f} an entry of C), {}\n", r.nnz_c, r.products, r.compression(),
                        s.precision);
    text += fmt::format("  {:<20} {:>11} ±{:>8} {:>8} {:>6} {:>6} {:>11} {:>8} {:>6} {:>9} {:>7}\n", "kernel",
                        "whole us", "sd", "GFLOP/s", "% bw", "% L2", "numeric us", "GFLOP/s", "x", "peak", "error");
  } else {
    text += fmt::format(", {}\n", s.precision);
  }
  std::vector<const spgemm_record*> sorted;
  for (const spgemm_record& r : records) {
    if (r.phase == "whole") sorted.push_back(&r);
  }
  std::ranges::stable_sort(sorted, {}, [](const spgemm_record* r) { return r->time.median; });
  for (const spgemm_record* r : sorted) add_row(text, s, *r, numeric_of(records, *r));
  for (const omission& o : omitted) {
    text += fmt::format("  {:<20} {}: {}\n", o.kernel, o.failed ? "FAILED" : "not run", o.reason);
  }
  return text;
}

}  // namespace tulle::cli::bench
