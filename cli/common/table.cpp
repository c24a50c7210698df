#include "table.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "output.hpp"

namespace tulle::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t wanted = 36, least = 12;  // columns of what is broken into lines: rather others are left out

bool is_continued(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// Bytes of the first `columns` code points.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!is_continued(text[at]) && columns-- == 0) break;
  }
  return at;
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  return left ? std::string(text) + space : space + std::string(text);
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_continued(c); }));
}

std::vector<std::string> lines_within(std::string_view text, std::size_t width, std::size_t first) {
  std::vector<std::string> lines;
  for (std::size_t room = std::max<std::size_t>(first == 0 ? width : first, 1); columns_of(text) > room;
       room = std::max<std::size_t>(width, 1)) {
    const std::size_t most = bytes_of(text, room);
    const std::size_t space = text.rfind(' ', most);
    const bool at_space = space != std::string_view::npos && space > 0;
    const std::size_t end = at_space ? space : most;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(at_space ? end + 1 : end);
  }
  lines.emplace_back(text);
  return lines;
}

void table::row(std::vector<std::string> cells, char mark, look style) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back({std::move(cells), mark, style});
}

std::size_t table::natural_width(std::size_t index) const {
  std::size_t width = 0;
  for (const entry& e : rows_) width = std::max(width, columns_of(e.cells[index]));
  return width == 0 ? 0 : std::max(width, columns_of(columns_[index].title));
}

std::vector<table::placed> table::place(std::size_t width, std::vector<std::string>& left_out) const {
  std::vector<placed> all;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (const std::size_t natural = natural_width(i); natural > 0) all.push_back({i, natural});
  }
  const auto needed = [&](const placed& p) { return columns_[p.index].wraps ? std::min(p.width, wanted) : p.width; };
  const auto total = [&](const auto& of) {
    return std::accumulate(all.begin(), all.end(), margin + gap * (std::max<std::size_t>(all.size(), 1) - 1),
                           [&](std::size_t sum, const placed& p) { return sum + of(p); });
  };
  const auto drop = [&](const placed& p) { return columns_[p.index].drop; };
  if (total(needed) > width) {
    for (placed& p : all) {
      if (columns_[p.index].most > 0) p.width = std::min(p.width, columns_[p.index].most);
    }
  }
  while (!all.empty() && total(needed) > width) {
    const auto from_right = std::ranges::max_element(all.rbegin(), all.rend(), {}, drop);
    if (drop(*from_right) == 0) break;
    left_out.push_back(columns_[from_right->index].title);
    all.erase(std::next(from_right).base());
  }
  for (placed& p : all) {
    if (!columns_[p.index].wraps) continue;
    const std::size_t others = total([](const placed& o) { return o.width; }) - p.width;
    p.width = std::min(p.width, std::max(width - std::min(width, others), least));
  }
  return all;
}

std::vector<std::string> table::lines_of(const std::vector<placed>& columns, const entry& e) const {
  std::vector<std::string> lines;
  const auto pieces = [&](const placed& p) {
    const std::string& cell = e.cells[p.index];
    return columns_[p.index].wraps || columns_[p.index].most > 0 ? lines_within(cell, p.width) : std::vector{cell};
  };
  std::size_t height = 1;
  for (const placed& p : columns) height = std::max(height, pieces(p).size());
  for (std::size_t i = 0; i < height; ++i) {
    std::string line(margin, ' ');
    if (i == 0) line[0] = e.mark;
    for (const placed& p : columns) {
      const std::vector<std::string> of_column = pieces(p);
      if (&p != &columns.front()) line.append(gap, ' ');
      line +=
          padded(i < of_column.size() ? of_column[i] : "", p.width, columns_[p.index].left || columns_[p.index].wraps);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

table::layout table::fit(std::size_t width) const {
  layout out;
  if (rows_.empty()) return out;
  const std::vector<placed> columns = place(width, out.left_out);
  entry head;
  for (const column& c : columns_) head.cells.push_back(c.title);
  for (std::string& line : lines_of(columns, head)) {
    if (!line.empty()) out.lines.push_back({std::move(line), look::bold});
  }
  for (const entry& e : rows_) {
    for (std::string& line : lines_of(columns, e)) out.lines.push_back({std::move(line), e.style});
  }
  return out;
}

}  // namespace tulle::cli
