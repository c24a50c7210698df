// The winners of earlier autotuning, remembered in cache_directory(): one small file for each, in its subdirectory
// `autotune`, so that neither processes nor threads lose one another's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tulle {

/// The kernel remembered under `key`; nothing where there is none, where another version of tulle measured it, where it
/// is older than half a year, or where its place holds anything else.
std::optional<std::string> cached_winner(std::string_view key);

/// Remembers `kernel` under `key`. Best effort: a cache that cannot be written is no error.
void remember_winner(std::string_view key, std::string_view kernel);

}  // namespace tulle
