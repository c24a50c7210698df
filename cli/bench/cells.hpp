// The cells that tables of measurements share.
#pragma once

#include "common/page.hpp"
#include "record.hpp"

namespace tulle::cli::bench {

/// "31.2 us", "~31.2 us" where other processes were in the way.
inline std::string median_cell(const measurement& m) { return (m.disturbed ? "~" : "") + human_time(m.time.median); }
/// "3%": how far apart the quartiles are, of the median; "-" for one sample.
inline std::string spread_cell(const sample_summary& s) {
  const std::optional<double> spread = s.spread();
  return spread ? fmt::format("{:.{}f}%", 100 * *spread, *spread < 0.0995 ? 1 : 0) : "-";
}
/// "42", empty where the bandwidth is not known, so that a column of them is left out.
inline std::string percent_cell(double percent) {
  return percent > 0 ? fmt::format("{:.{}f}", percent, percent < 9.95 ? 1 : 0) : "";
}
/// "0.123", "3.2 WRONG".
inline std::string error_cell(double ratio, bool right) { return three_digits(ratio) + (right ? "" : " WRONG"); }

/// "31.2 us, median of 10 runs; quartiles 30.9 - 31.8 us"
inline std::string describe(const sample_summary& s) {
  if (s.count < 2) return fmt::format("{}, one run", human_time(s.median));
  return fmt::format("{}, median of {}; quartiles {}", human_time(s.median), counted(s.count, "run"),
                     human_times(s.lower, s.upper));
}

/// What `explain` says without the time that planning took, which stands elsewhere.
std::string without_plan_time(std::string reason);

inline char mark_of(const measurement& m) { return m.chosen ? '*' : ' '; }
inline look look_of(const measurement& m, bool right) {
  if (!right) return look::red;
  return m.chosen ? look::green : look::plain;
}

/// What ~ means, where one of the records has it.
template <class Record>
void explain_disturbed(page& to, const std::vector<Record>& records) {
  double most = 0;
  for (const Record& r : records) {
    if (r.disturbed) most = std::max(most, *r.time.others);
  }
  if (most == 0) return;
  to.line(
      fmt::format("  ~ other processes kept up to {:.1f} cores busy meanwhile: longer than on a quiet machine", most));
}

/// "  ell   not run: would pad 900 times", a line each.
void add_omissions(page& to, const std::vector<omission>& omitted);

}  // namespace tulle::cli::bench
