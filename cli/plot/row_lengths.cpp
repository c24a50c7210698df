#include "row_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "common/quantity.hpp"
#include "picture.hpp"
#include "text.hpp"

namespace tulle::cli::plot {
namespace {

constexpr extent size{720, 440};
constexpr int most_classes = 64;
constexpr double thickest = 80;
/// Where the largest class has more rows than that for each of the smallest, heights are logarithmic.
constexpr std::int64_t far = 100;

/// 0, 1, 2-3, 4-7, ...: the number of a length's class.
std::int64_t doubling_class(std::int64_t length) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(length)));
}

length_class doubling(std::int64_t number) {
  return number == 0 ? length_class{} : length_class{std::int64_t{1} << (number - 1), (std::int64_t{1} << number) - 1};
}

/// The least of 1, 2, 5, 10, 20, ... that makes `range` lengths at most `most` classes.
std::int64_t class_width(std::int64_t range, int most) {
  std::int64_t width = 1;
  for (int i = 0; (range + width - 1) / width > most; ++i) width = i % 3 == 1 ? width / 2 * 5 : width * 2;
  return width;
}

std::string label_of(const length_class& c) {
  return c.shortest == c.longest ? grouped(c.shortest) : fmt::format("{}–{}", grouped(c.shortest), grouped(c.longest));
}

/// Every so many classes get a label, so that none touches the next.
std::vector<tick> labels_of(const std::vector<length_class>& classes, double width) {
  double widest = 0;
  for (const length_class& c : classes) widest = std::max(widest, text_width(label_of(c), text_size));
  const double one = width / static_cast<double>(classes.size());
  const auto stride = static_cast<std::size_t>(std::max(1.0, std::ceil((widest + gap) / one)));
  std::vector<tick> ticks;
  for (std::size_t i = 0; i < classes.size(); i += stride)
    ticks.push_back({static_cast<double>(i), label_of(classes[i])});
  return ticks;
}

axis height_axis(const std::vector<length_class>& classes) {
  std::int64_t least = 0, most = 0;
  for (const length_class& c : classes) {
    most = std::max(most, c.rows);
    if (c.rows > 0) least = least == 0 ? c.rows : std::min(least, c.rows);
  }
  if (most <= far * least) return linear_axis("rows", 0, std::max(1.0, 1.05 * static_cast<double>(most)), 8, 1);
  axis a = logarithmic_axis("rows", static_cast<double>(least), static_cast<double>(most), 10);
  a.low /= 1.5;  // so that the least has a bar
  a.label = "rows (logarithmic)";
  return a;
}

}  // namespace

std::vector<length_class> classes_of_lengths(const std::vector<std::int64_t>& lengths, int most) {
  if (lengths.empty()) return {};
  const auto [shortest, longest] = std::ranges::minmax(lengths);
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
  const bool by_doubling = longest - shortest >= most && static_cast<double>(longest) > 4 * std::max(mean, 1.0);
  const std::int64_t width =
      class_width(longest - shortest + 1, most - 1);  // the first class may begin before shortest
  const auto number = [&](std::int64_t length) { return by_doubling ? doubling_class(length) : length / width; };
  std::vector<length_class> classes;
  for (std::int64_t i = number(shortest); i <= number(longest); ++i) {
    classes.push_back(by_doubling ? doubling(i) : length_class{i * width, (i + 1) * width - 1});
  }
  classes.back().longest = longest;
  for (const std::int64_t length : lengths) ++classes[static_cast<std::size_t>(number(length) - number(shortest))].rows;
  return classes;
}

void draw_row_lengths(const std::string& file, const heading& text, const std::vector<std::int64_t>& lengths) {
  const std::vector<length_class> classes = classes_of_lengths(lengths, most_classes);
  write_picture(file, size, text.title, [&](canvas& on) {
    const auto count = static_cast<double>(std::max<std::size_t>(classes.size(), 1));
    axis x{-0.5, count - 0.5, false, "nonzeros in a row", {}};
    if (!classes.empty()) x.ticks = labels_of(classes, size.width - 100);
    const plane p = draw_chart(on, size, text, {}, x, height_axis(classes));
    const double wide = p.area.width / count;
    const double thick = std::min(wide > 6 ? wide - std::min(4.0, wide / 5) : wide, thickest);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i].rows == 0) continue;
      const double top = p.down(static_cast<double>(classes[i].rows));
      on.rectangle({p.across(static_cast<double>(i)) - thick / 2, top, thick, p.area.bottom() - top},
                   colours::series[0]);
    }
  });
}

}  // namespace tulle::cli::plot
