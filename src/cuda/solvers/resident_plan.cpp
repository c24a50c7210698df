#include "cuda/solvers/resident_plan.hpp"

#include <algorithm>

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
void plan_pushes(resident_plan& plan, const std::vector<std::int32_t>& begin) {
  std::vector<std::vector<std::int32_t>> readers(plan.row.size());
  for (int g = 0; g < plan.parts; ++g) {
    const std::int32_t own = begin[g + 1] - begin[g];
    for (std::int32_t k = plan.place[g].outer; k < plan.place[g + 1].outer; ++k)
      readers[plan.outer[k]].push_back((g << 16) + own + k - plan.place[g].outer);
  }
  for (int g = 0; g < plan.parts; ++g) {
    const std::size_t before = plan.push.size();
    plan.place[g].push = static_cast<std::int32_t>(before);
    for (std::int32_t row = begin[g]; row < begin[g + 1]; ++row) {
      plan.push_begin.push_back(static_cast<std::int32_t>(plan.push.size() - before));
      plan.push.insert(plan.push.end(), readers[row].begin(), readers[row].end());
    }
    plan.push_begin.push_back(static_cast<std::int32_t>(plan.push.size() - before));
    plan.most_push = std::max(plan.most_push, plan.push_begin.back());
  }
  plan.place.back().push = static_cast<std::int32_t>(plan.push.size());
}

}  // namespace

resident_plan plan_resident(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int parts) {
  const auto rows = static_cast<std::int32_t>(rowptr.size()) - 1;
  const std::vector<std::int32_t> begin = divide(rowptr, parts);
  resident_plan plan;
  plan.parts = parts;
  plan.row.assign(rowptr.begin(), rowptr.end());
  plan.column.resize(colind.size());
  plan.diagonal.assign(static_cast<std::size_t>(rows), -1);
  std::vector<std::int32_t> seen_by(static_cast<std::size_t>(rows), -1), place(static_cast<std::size_t>(rows));
  for (int g = 0; g < parts; ++g) {
    const std::int32_t first = begin[g], end = begin[g + 1], own = end - first;
    const std::size_t before = plan.outer.size();
    plan.place.push_back({first, plan.row[first], static_cast<std::int32_t>(before), 0});
    for (std::int32_t k = plan.row[first]; k < plan.row[end]; ++k) {
      const index_t c = colind[k];
      if ((c >= first && c < end) || seen_by[c] == g) continue;
      seen_by[c] = g;
      plan.outer.push_back(static_cast<std::int32_t>(c));
    }
    std::sort(plan.outer.begin() + static_cast<std::ptrdiff_t>(before), plan.outer.end());
    for (std::size_t k = before; k < plan.outer.size(); ++k)
      place[plan.outer[k]] = own + static_cast<std::int32_t>(k - before);
    for (std::int32_t row = first; row < end; ++row) {
      for (std::int32_t k = plan.row[row]; k < plan.row[row + 1]; ++k) {
        const index_t c = colind[k];
        if (c == row) plan.diagonal[row] = k;
        plan.column[k] = static_cast<std::uint16_t>(c >= first && c < end ? c - first : place[c]);
      }
    }
    plan.most_rows = std::max(plan.most_rows, static_cast<int>(own));
    plan.most_blocks = std::max(plan.most_blocks, static_cast<int>(plan.row[end] - plan.row[first]));
    plan.most_columns = std::max(plan.most_columns, own + static_cast<int>(plan.outer.size() - before));
  }
  plan.place.push_back({rows, plan.row.back(), static_cast<std::int32_t>(plan.outer.size()), 0});
  plan_pushes(plan, begin);
  return plan;
}

}  // namespace tulle::cuda
