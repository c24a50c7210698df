#include "spgemm_result.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tulle::cli {
namespace {

double compression(const spgemm_result& r) {
  return r.c.nnz > 0 ? static_cast<double>(r.timing.products) / static_cast<double>(r.c.nnz) : 0;
}

double gflops(const bench::spgemm_timing& t) {
  return t.microseconds() > 0 ? 2 * static_cast<double>(t.products) / t.microseconds() / 1e3 : 0;
}

}  // namespace

json to_json(const spgemm_result& r) {
  const bench::spgemm_timing& t = r.timing;
  json record =
      object(field("a", r.a.name), field("b", r.b.name), field("rows", r.c.rows), field("cols", r.c.cols),
             field("inner", r.options.transpose_a ? r.a.rows : r.a.cols), field("nnz_a", r.a.nnz),
             field("nnz_b", r.b.nnz), field("nnz", r.c.nnz), field("products", t.products),
             field("compression", compression(r)), field("precision", r.precision),
             field("transpose_a", r.options.transpose_a), field("transpose_b", r.options.transpose_b),
             field("mask", nullable(r.mask)), field("add", nullable(r.add)), field("kernel", t.kernel),
             field("reason", t.reason), field("backend", r.backend), field("microseconds", t.microseconds()),
             field("numeric_us", t.numeric.empty() ? json(nullptr) : json(bench::summarise(t.numeric).median)),
             field("gflops", gflops(t)), field("memory_limit", r.options.memory_limit),
             field("peak_bytes", t.peak_bytes), field("workspace_bytes", t.workspace_bytes), field("hash", r.hash));
  if (r.verdict) {
    record.update(object(field("error_ratio", number(r.verdict->error_ratio)),
                         field("checked_rows", r.verdict->checked_rows), field("verified", r.verdict->ok()),
                         field("wrong", r.verdict->wrong)));
  }
  return record;
}

void print_text(const spgemm_result& r) {
  const bench::spgemm_timing& t = r.timing;
  fmt::print("{}, {}\n", headline(r.c), r.precision);
  fmt::print("  kernel        {}\n  backend       {}\n", t.reason, r.backend);
  fmt::print("  products      {}, {:.2f} for each entry of C\n", t.products, compression(r));
  fmt::print("  time          {:.2f} us (median)", t.microseconds());
  if (!t.numeric.empty()) fmt::print(", {:.2f} us for the values alone", bench::summarise(t.numeric).median);
  fmt::print("\n  speed         {:.3f} GFLOP/s\n  memory        {} at most beyond A, B and C\n", gflops(t),
             human_bytes(static_cast<double>(t.peak_bytes)));
  if (!r.verdict) return;
  const auto& [ratio, checked, wrong] = *r.verdict;
  std::string text = wrong;
  if (text.empty()) {
    text = std::isfinite(ratio) ? fmt::format("largest error is {:.3f} of its bound", ratio)
                                : "an infinity or NaN in the wrong place";
  }
  if (checked < r.c.rows) text += fmt::format(", among {} of {} rows", checked, r.c.rows);
  print_verdict(r.verdict->ok(), text);
}

}  // namespace tulle::cli
