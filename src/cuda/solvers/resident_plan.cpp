#include "cuda/solvers/resident_plan.hpp"

#include <algorithm>
#include <span>

namespace tulle::cuda {
namespace {

/// Parts of as many rows each; if one of them had a quarter more blocks than the mean, parts of equal work, a row
/// counting as its blocks and 8 more.
std::vector<std::int32_t> divide(const std::vector<std::int64_t>& rowptr, int parts) {
  const auto rows = static_cast<std::int32_t>(rowptr.size()) - 1;
  std::vector<std::int32_t> begin;
  std::int64_t most = 0;
  for (std::int64_t g = 0; g <= parts; ++g) {
    begin.push_back(static_cast<std::int32_t>(rows * g / parts));
    if (g > 0) most = std::max(most, rowptr[begin[g]] - rowptr[begin[g - 1]]);
  }
  if (4 * most * parts <= 5 * rowptr.back()) return begin;
  const auto work = [&](std::int32_t row) { return 8 + rowptr[row + 1] - rowptr[row]; };
  const std::int64_t all = 8 * std::int64_t{rows} + rowptr.back();
  begin.assign(1, 0);
  std::int64_t done = 0;
  for (std::int32_t row = 0; row < rows; ++row) {
    const auto part = static_cast<std::int64_t>(begin.size());
    if (part < parts && row > begin.back() && 2 * done + work(row) > 2 * all * part / parts) begin.push_back(row);
    done += work(row);
  }
  begin.resize(static_cast<std::size_t>(parts) + 1, rows);
  return begin;
}

/// Of every row who reads it.
std::vector<std::vector<std::int32_t>> readers_of(const resident_plan& plan, std::int32_t rows) {
  std::vector<std::vector<std::int32_t>> readers(static_cast<std::size_t>(rows));
  for (int g = 0; g < plan.parts; ++g) {
    const std::int32_t own = plan.place[g + 1].row - plan.place[g].row;
    for (std::int32_t k = plan.place[g].outer; k < plan.place[g + 1].outer; ++k)
      readers[plan.outer[k]].push_back((g << 16) + own + k - plan.place[g].outer);
  }
  return readers;
}

/// What a part reads of others, and its place for every column.
class columns_of_parts {
 public:
  columns_of_parts(std::int32_t rows) : seen_by_(static_cast<std::size_t>(rows), -1), place_(seen_by_.size()) {}

  void find(resident_plan& plan, int part, std::int32_t first, std::int32_t end, std::span<const index_t> columns) {
    first_ = first;
    end_ = end;
    const std::size_t before = plan.outer.size();
    for (const index_t c : columns) {
      if (is_own(c) || seen_by_[c] == part) continue;
      seen_by_[c] = part;
      plan.outer.push_back(static_cast<std::int32_t>(c));
    }
    std::sort(plan.outer.begin() + static_cast<std::ptrdiff_t>(before), plan.outer.end());
    for (std::size_t k = before; k < plan.outer.size(); ++k)
      place_[plan.outer[k]] = end - first + static_cast<std::int32_t>(k - before);
  }
  [[nodiscard]] std::uint32_t place(index_t c) const {
    return static_cast<std::uint32_t>(is_own(c) ? c - first_ : place_[c]);
  }

 private:
  [[nodiscard]] bool is_own(index_t c) const { return c >= first_ && c < end_; }

  std::vector<std::int32_t> seen_by_, place_;
  std::int32_t first_ = 0, end_ = 0;
};

}  // namespace

resident_plan plan_resident(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int parts,
                            bool push) {
  const auto rows = static_cast<std::int32_t>(rowptr.size()) - 1;
  const std::vector<std::int32_t> begin = divide(rowptr, parts);
  resident_plan plan;
  plan.parts = parts;
  columns_of_parts columns(rows);
  std::vector<std::vector<std::int32_t>> patterns(static_cast<std::size_t>(parts));
  for (int g = 0; g < parts; ++g) {
    const std::int32_t first = begin[g], end = begin[g + 1];
    const auto first_block = static_cast<std::int32_t>(rowptr[first]);
    const auto blocks = static_cast<std::int32_t>(rowptr[end]) - first_block;
    plan.place.push_back({first, first_block, static_cast<std::int32_t>(plan.outer.size()), 0});
    const std::span<const index_t> of_part =
        std::span(colind).subspan(static_cast<std::size_t>(first_block), static_cast<std::size_t>(blocks));
    columns.find(plan, g, first, end, of_part);
    const resident_pattern at{end - first, blocks};
    std::vector<std::int32_t>& words = patterns[g];
    words.assign(static_cast<std::size_t>(at.push()), 0);
    for (std::int32_t row = first; row < end; ++row) {
      words[at.row() + row - first] = static_cast<std::int32_t>(rowptr[row]) - first_block;
      words[at.diagonal() + row - first] = -1;
      for (auto k = static_cast<std::int32_t>(rowptr[row]) - first_block; k < rowptr[row + 1] - first_block; ++k) {
        if (of_part[k] == row) words[at.diagonal() + row - first] = k;
        words[at.column() + k / 2] |= static_cast<std::int32_t>(columns.place(of_part[k]) << (16 * (k % 2)));
      }
    }
    words[at.row() + end - first] = blocks;
    const auto outer = static_cast<int>(plan.outer.size()) - plan.place[g].outer;
    plan.most_rows = std::max(plan.most_rows, end - first);
    plan.most_blocks = std::max(plan.most_blocks, blocks);
    plan.most_columns = std::max(plan.most_columns, end - first + outer);
  }
  plan.place.push_back({rows, static_cast<std::int32_t>(rowptr.back()), static_cast<std::int32_t>(plan.outer.size()), 0});
  const auto readers = push ? readers_of(plan, rows) : std::vector<std::vector<std::int32_t>>();
  for (int g = 0; g < parts; ++g) {
    std::vector<std::int32_t>& words = patterns[g];
    if (push) {
      const std::size_t at = words.size(), rows_of_part = static_cast<std::size_t>(begin[g + 1] - begin[g]);
      words.resize((at + rows_of_part + 2) / 2 * 2);
      for (std::size_t row = 0; row <= rows_of_part; ++row) {
        words[at + row] = static_cast<std::int32_t>(words.size());
        if (row == rows_of_part) break;
        for (const std::int32_t reader : readers[static_cast<std::size_t>(begin[g]) + row])
          words.insert(words.end(), {reader, 0});
      }
    }
    words.resize((words.size() + 3) / 4 * 4);
    plan.place[g].pattern = static_cast<std::int32_t>(plan.pattern.size());
    plan.most_pattern = std::max(plan.most_pattern, static_cast<int>(words.size()));
    plan.pattern.insert(plan.pattern.end(), words.begin(), words.end());
  }
  plan.place.back().pattern = static_cast<std::int32_t>(plan.pattern.size());
  return plan;
}

}  // namespace tulle::cuda
