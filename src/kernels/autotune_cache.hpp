// What was measured earlier, remembered in cache_directory(): one small file for each winner of autotuning in its subdirectory
// `autotune`, and for what holds of a processor in `processor`, so that neither processes nor threads lose one another's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tulle {

/// The kernel remembered under `key`; nothing where there is none, where another version of tulle measured it, where it
/// is older than half a year, or where its place holds anything else.
std::optional<std::string> cached_winner(std::string_view key, std::string_view folder = "autotune");

/// Remembers `kernel` under `key`. Best effort: a cache that cannot be written is no error.
void remember_winner(std::string_view key, std::string_view kernel, std::string_view folder = "autotune");

}  // namespace tulle
