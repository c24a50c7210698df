// What some benches share: rows of text, and the record that tools/bench_table.py makes a table of.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle::bench {

using row = std::vector<std::string>;

inline std::string json(const row& cells) {
  std::string out;
  for (const std::string& cell : cells) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", cell);
  return "[" + out + "]";
}

/// Returns 0 where all was written.
inline int write_record(const std::string& file, const context& ctx, const row& header, const std::vector<row>& rows) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return 1;
  std::string text;
  for (const row& cells : rows) text += (text.empty() ? "\n  " : ",\n  ") + json(cells);
  fmt::print(
      out,
      "{{\n \"context\": {{\"commit\": \"{}\", \"date\": \"{:%FT%TZ}\", \"device\": \"{}\"}},\n \"header\": {},\n"
      " \"rows\": [{}\n ]\n}}\n",
      built_from().commit, fmt::gmtime(std::time(nullptr)), ctx.info().name, json(header), text);
  return std::fclose(out);
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Microseconds of one of `many` calls in a row on the context's stream.
template <class F>
double sample(const context& ctx, int many, const F& f) {
  event begin(ctx), end(ctx);
  begin.record(ctx.stream());
  for (int i = 0; i < many; ++i) f();
  end.record(ctx.stream());
  end.synchronize();
  return end.microseconds_since(begin) / many;
}

/// Median of 15 runs by the device's clock, or by the host's where there is none.
template <class F>
double microseconds(const context& ctx, const F& f) {
  std::vector<double> times;
  for (int i = 0; i < 18; ++i) {
    const double t = sample(ctx, 1, f);
    if (i >= 3) times.push_back(t);
  }
  return median(times);
}

/// The same every time.
inline permutation random_order(const context& ctx, index_t n) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return {ctx, order};
}

/// Vectors for y = A x of one shape, and the applications of some operators by turns.
class applications {
 public:
  applications(const context& ctx, shape of)
      : ctx_(ctx), x_(ctx, static_cast<std::size_t>(of.cols)), y_(ctx, static_cast<std::size_t>(of.rows)) {
    vector_ops(ctx).random(1, x_);
  }
  /// Medians of 21 samples of 20 applications in a row.
  std::vector<double> by_turns(const std::vector<const linear_operator*>& operators) {
    constexpr int warm_up = 3, samples = 21, in_a_row = 20;
    std::vector<std::vector<double>> times(operators.size());
    for (int i = 0; i < warm_up + samples; ++i) {
      for (std::size_t j = 0; j < operators.size(); ++j) {
        const double t = sample(ctx_, in_a_row, [&] { operators[j]->apply(1, x_, 0, y_); });
        if (i >= warm_up) times[j].push_back(t);
      }
    }
    std::vector<double> medians;
    for (const std::vector<double>& t : times) medians.push_back(median(t));
    return medians;
  }

 private:
  context ctx_;
  buffer<double> x_, y_;
};

}  // namespace tulle::bench
