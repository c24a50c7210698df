// How many right-hand sides, and how they lie, in the records of choices.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tulle/core/types.hpp>

namespace tulle::bench {

struct many_task {
  index_t columns;
  bool by_row;
  [[nodiscard]] std::string name() const { return fmt::format("{}{}", columns, by_row ? "r" : "c"); }
};
inline constexpr many_task many_tasks_cuda[] = {{32, true}, {32, false}, {8, true}, {128, true}, {8, false}};
inline constexpr many_task many_tasks_cpu[] = {{8, true}, {32, true}, {8, false}, {32, false}};

}  // namespace tulle::bench
