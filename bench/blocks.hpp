// What the two halves of tulle_blocks share.
#pragma once

#include <string>

#include "record.hpp"

namespace tulle::bench {

/// JSON: the members after "context" of a record for tools/bench_table.py. All is so many times smaller.
std::string time_choices(const context& ctx, int smaller);
std::string time_patterns(const context& ctx, int smaller);

}  // namespace tulle::bench
