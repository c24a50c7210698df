#include "cuda/solvers/resident_plan.hpp"

#include <algorithm>
#include <span>

#include "core/parallel.hpp"

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

/// What one part reads of others, and what it keeps of its pattern.
struct part_plan {
  std::vector<std::int32_t> outer, words;
};

/// Makes one part after another; what it needs to know of columns is kept from one to the next.
class part_maker {
 public:
  explicit part_maker(std::int32_t rows) : seen_by_(static_cast<std::size_t>(rows), -1), place_(seen_by_.size()) {}

  part_plan make(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int part,
                 std::int32_t first, std::int32_t end) {
    first_ = first;
    end_ = end;
    const std::int64_t begin = rowptr[first];
    const std::span<const index_t> columns =
        std::span(colind).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(rowptr[end] - begin));
    part_plan made{find(part, columns), {}};
    const auto blocks = static_cast<std::int32_t>(columns.size());
    const resident_pattern at{end - first, blocks};
    std::vector<std::int32_t>& words = made.words;
    words.assign(static_cast<std::size_t>(at.push()), 0);
    for (std::int32_t row = first; row < end; ++row) {
      const auto from = static_cast<std::int32_t>(rowptr[row] - begin),
                 to = static_cast<std::int32_t>(rowptr[row + 1] - begin);
      words[at.row() + row - first] = from;
      words[at.diagonal() + row - first] = -1;
      for (std::int32_t k = from; k < to; ++k) {
        if (columns[k] == row) words[at.diagonal() + row - first] = k;
      }
    }
    for (std::int32_t k = 0; k < blocks; k += 2) {
      const std::uint32_t high = k + 1 < blocks ? place(columns[k + 1]) : 0;
      words[at.column() + k / 2] = static_cast<std::int32_t>(place(columns[k]) | high << 16);
    }
    words[at.row() + end - first] = blocks;
    return made;
  }

 private:
  /// The rows of others, ascending.
  std::vector<std::int32_t> find(int part, std::span<const index_t> columns) {
    std::vector<std::int32_t> outer;
    for (const index_t c : columns) {
      if (is_own(c) || seen_by_[c] == part) continue;
      seen_by_[c] = part;
      outer.push_back(static_cast<std::int32_t>(c));
    }
    std::ranges::sort(outer);
    for (std::size_t k = 0; k < outer.size(); ++k) place_[outer[k]] = end_ - first_ + static_cast<std::int32_t>(k);
    return outer;
  }
  [[nodiscard]] std::uint32_t place(index_t c) const {
    return static_cast<std::uint32_t>(is_own(c) ? c - first_ : place_[c]);
  }
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
  std::vector<part_plan> made(static_cast<std::size_t>(parts));
  const int threads = threads_for(context::cpu().threads(), rows + rowptr.back());
  parallel_chunks(threads, parts, 1, [&](int, auto next) {
    part_maker maker(rows);
    next([&](int g) { made[g] = maker.make(rowptr, colind, g, begin[g], begin[g + 1]); });
  });
  std::size_t outer = 0, words = 0;
  for (const part_plan& of : made) outer += of.outer.size(), words += of.words.size() + 3;
  plan.outer.reserve(outer);
  if (!push) plan.pattern.reserve(words);
  for (int g = 0; g < parts; ++g) {
    const std::int32_t own = begin[g + 1] - begin[g];
    const auto first_block = static_cast<std::int32_t>(rowptr[begin[g]]);
    plan.place.push_back({begin[g], first_block, static_cast<std::int32_t>(plan.outer.size()), 0});
    plan.outer.insert(plan.outer.end(), made[g].outer.begin(), made[g].outer.end());
    plan.most_rows = std::max(plan.most_rows, own);
    plan.most_blocks = std::max(plan.most_blocks, static_cast<std::int32_t>(rowptr[begin[g + 1]]) - first_block);
    plan.most_columns = std::max(plan.most_columns, own + static_cast<std::int32_t>(made[g].outer.size()));
  }
  plan.place.push_back(
      {rows, static_cast<std::int32_t>(rowptr.back()), static_cast<std::int32_t>(plan.outer.size()), 0});
  const auto readers = push ? readers_of(plan, rows) : std::vector<std::vector<std::int32_t>>();
  for (int g = 0; g < parts; ++g) {
    std::vector<std::int32_t>& words = made[g].words;
    if (push) {
      const std::size_t at = words.size();
      words.resize(at + static_cast<std::size_t>(begin[g + 1] - begin[g]) + 1);
      for (std::int32_t row = begin[g]; row < begin[g + 1]; ++row) {
        words[at + row - begin[g]] = static_cast<std::int32_t>(words.size() - at);
        words.insert(words.end(), readers[row].begin(), readers[row].end());
      }
      words[at + begin[g + 1] - begin[g]] = static_cast<std::int32_t>(words.size() - at);
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
