#include "residual_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "common/matrix.hpp"

namespace tulle::cli {
namespace {

constexpr double width = 640, height = 400, left = 70, top = 40, right = 20, bottom = 40;

bool has_logarithm(double v) { return v > 0 && std::isfinite(v); }

}  // namespace

std::string escaped_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
    }
  }
  return out;
}

void write_residual_plot(const std::string& file, const std::string& title, const std::vector<double>& residuals,
                         double target) {
  int low = std::numeric_limits<int>::max(), high = std::numeric_limits<int>::min();
  const auto take = [&](double v) {
    if (!has_logarithm(v)) return;
    low = std::min(low, static_cast<int>(std::floor(std::log10(v))));
    high = std::max(high, static_cast<int>(std::ceil(std::log10(v))));
  };
  for (const double v : residuals) take(v);
  take(target);
  if (low >= high) high = (low = low > high ? 0 : low) + 1;
  const double last = static_cast<double>(std::max<std::size_t>(residuals.size(), 2) - 1);
  const auto x_of = [&](std::size_t i) { return left + (width - left - right) * static_cast<double>(i) / last; };
  const auto y_of = [&](double exponent) { return top + (height - top - bottom) * (high - exponent) / (high - low); };
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
                 "{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                 "fill=\"white\"/>\n<text x=\"{2}\" y=\"22\" font-size=\"14\">{3}</text>\n",
                 width, height, left, escaped_xml(title));
  const int step = std::max(1, (high - low) / 10);
  for (int exponent = low; exponent <= high; exponent += step) {
    fmt::format_to(to,
                   "<path d=\"M{0} {2:.1f}H{1}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" "
                   "fill=\"#444\">1e{5}</text>\n",
                   left, width - right, y_of(exponent), left - 6, y_of(exponent) + 4, exponent);
  }
  fmt::format_to(to, "<text x=\"{}\" y=\"{}\" fill=\"#444\">0</text>\n", left, height - bottom + 18);
  fmt::format_to(to, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#444\">look {:.0f}</text>\n", width - right,
                 height - bottom + 18, last);
  if (has_logarithm(target)) {
    fmt::format_to(to, "<path d=\"M{} {:.1f}H{}\" stroke=\"#b00\" stroke-dasharray=\"4\"/>\n", left,
                   y_of(std::log10(target)), width - right);
  }
  fmt::format_to(to, "<path fill=\"none\" stroke=\"#1b2a6b\" stroke-width=\"1.5\" d=\"");
  bool draws = false;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (!has_logarithm(residuals[i])) continue;
    fmt::format_to(to, "{}{:.1f} {:.1f}", std::exchange(draws, true) ? 'L' : 'M', x_of(i),
                   y_of(std::log10(residuals[i])));
  }
  fmt::format_to(to, "\"/>\n</svg>\n");
  write_text(file, {out.data(), out.size()});
}

}  // namespace tulle::cli
