#include "cuda/solvers/old0/resident_plan.hpp"

#include <algorithm>

namespace tulle::cuda::old0 {
namespace {

/// One for a row without a block, too.
std::int64_t chunks_of(std::int64_t blocks, int slots) {
  return std::max<std::int64_t>(1, (blocks + slots - 1) / slots);
}

/// Boundaries of parts of equal work, a row counting for its chunks and one more.
std::vector<std::int32_t> divide(const std::vector<std::int64_t>& rowptr, int slots, int parts) {
  const auto rows = static_cast<std::int32_t>(rowptr.size()) - 1;
  const auto work = [&](std::int32_t row) { return 1 + chunks_of(rowptr[row + 1] - rowptr[row], slots); };
  std::int64_t all = 0;
  for (std::int32_t row = 0; row < rows; ++row) all += work(row);
  std::vector<std::int32_t> begin(1, 0);
  std::int64_t done = 0;
  for (std::int32_t row = 0; row < rows; ++row) {
    const auto part = static_cast<std::int64_t>(begin.size());
    if (part < parts && row > begin.back() && 2 * done + work(row) > 2 * all * part / parts) begin.push_back(row);
    done += work(row);
  }
  begin.resize(static_cast<std::size_t>(parts) + 1, rows);
  return begin;
}

}  // namespace

resident_plan plan_resident(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int block,
                            int parts) {
  const int slots = 32 / block;
  const auto rows = static_cast<std::int32_t>(rowptr.size()) - 1;
  resident_plan plan;
  plan.row_begin = divide(rowptr, slots, parts);
  plan.parts = parts;
  plan.chunk_begin.push_back(0);
  plan.outer_begin.push_back(0);
  plan.diagonal.assign(static_cast<std::size_t>(rows), -1);
  std::vector<std::int32_t> part_of(static_cast<std::size_t>(rows));
  for (int g = 0; g < plan.parts; ++g) {
    for (std::int32_t row = plan.row_begin[g]; row < plan.row_begin[g + 1]; ++row) part_of[row] = g;
  }
  std::vector<std::int32_t> seen_by(static_cast<std::size_t>(rows), -1), place(static_cast<std::size_t>(rows));
  for (int g = 0; g < plan.parts; ++g) {
    const std::int32_t first = plan.row_begin[g], own = plan.row_begin[g + 1] - first;
    const std::size_t outer_before = plan.outer.size();
    std::int32_t chunks = 0;
    for (std::int32_t row = first; row < first + own; ++row) {
      plan.row_chunk.push_back(chunks);
      const std::int64_t blocks = rowptr[row + 1] - rowptr[row];
      const std::int64_t padded = chunks_of(blocks, slots) * slots;
      for (std::int64_t i = 0; i < padded; ++i) {
        const std::int64_t k = rowptr[row] + i;
        plan.source.push_back(i < blocks ? static_cast<std::int32_t>(k) : -1);
        std::int32_t column = row - first;  // of a slot without a block: its value is 0
        if (i < blocks) {
          const index_t c = colind[k];
          if (c == row) plan.diagonal[row] = static_cast<std::int32_t>(k);
          if (part_of[c] == g) {
            column = c - first;
          } else {
            if (seen_by[c] != g) {
              seen_by[c] = g;
              place[c] = own + static_cast<std::int32_t>(plan.outer.size() - outer_before);
              plan.outer.push_back((part_of[c] << 16) + (c - plan.row_begin[part_of[c]]));
            }
            column = place[c];
          }
        }
        plan.column.push_back(static_cast<std::uint16_t>(column));
      }
      chunks += static_cast<std::int32_t>(padded / slots);
    }
    plan.row_chunk.push_back(chunks);
    plan.chunk_begin.push_back(plan.chunk_begin.back() + chunks);
    plan.outer_begin.push_back(static_cast<std::int32_t>(plan.outer.size()));
    plan.most_rows = std::max(plan.most_rows, own);
    plan.most_chunks = std::max(plan.most_chunks, chunks);
    plan.most_columns = std::max(plan.most_columns, own + static_cast<int>(plan.outer.size() - outer_before));
  }
  return plan;
}

}  // namespace tulle::cuda
