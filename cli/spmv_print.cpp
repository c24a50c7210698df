#include "spmv_print.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

namespace tulle::cli {

void print_header(const json& record) {
  fmt::print("{}: {} x {}, {} nonzeros, {}\n", record["matrix"].get<std::string>(), record["rows"].get<index_t>(),
             record["cols"].get<index_t>(), record["nnz"].get<std::int64_t>(), record["precision"].get<std::string>());
}

void print_outcome(const json& r) {
  fmt::print("  kernel        {}\n  backend       {}\n  time          {:.2f} us (median)\n",
             r["reason"].get<std::string>(), r["backend"].get<std::string>(), r["microseconds"].get<double>());
  fmt::print("  speed         {:.3f} GFLOP/s, {:.3f} GB/s of compulsory traffic\n", r["gflops"].get<double>(),
             r["gbs"].get<double>());
  fmt::print("  plan          {:.0f} us (effort {}), {} of its own\n", r["plan_us"].get<double>(),
             r["effort"].get<std::string>(), human_bytes(r["workspace_bytes"].get<double>()));
  if (!r.contains("error_ratio")) return;
  const bool right = r["verified"];
  const auto style =
      use_colour(stdout) ? fmt::fg(right ? fmt::terminal_color::green : fmt::terminal_color::red) : fmt::text_style{};
  fmt::print(style, "  {:<13}", right ? "verified" : "WRONG");
  fmt::print(" largest error is {:.3f} of its bound\n", r["error_ratio"].get<double>());
}

void print_candidates(const json& candidates) {
  for (const json& c : candidates) {
    fmt::print("  {:<13} {}\n", c["kernel"].get<std::string>(),
               c["supported"] ? "takes this matrix" : c["reason"].get<std::string>());
  }
}

void print_table(const json& record) {
  fmt::print("  {:<20} {:>12} {:>10} {:>10} {:>12}  {}\n", "kernel", "us (median)", "GFLOP/s", "GB/s", "plan us",
             "error / bound");
  for (const json& r : record["results"]) {
    const bool checked = r.contains("error_ratio");
    fmt::print("  {:<20} {:>12.2f} {:>10.3f} {:>10.3f} {:>12.0f}  {}\n", r["kernel"].get<std::string>(),
               r["microseconds"].get<double>(), r["gflops"].get<double>(), r["gbs"].get<double>(),
               r["plan_us"].get<double>(),
               checked ? fmt::format("{:.3f}{}", r["error_ratio"].get<double>(), r["verified"] ? "" : " WRONG") : "-");
  }
  for (const json& r : record["skipped"]) {
    fmt::print("  {:<20} not run: {}\n", r["kernel"].get<std::string>(), r["reason"].get<std::string>());
  }
}

}  // namespace tulle::cli
