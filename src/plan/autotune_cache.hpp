// The winners of earlier autotuning, remembered in the user's cache directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tulle {

/// TULLE_CACHE_DIR, or XDG_CACHE_HOME/tulle, or ~/.cache/tulle; empty when none of them is set.
std::filesystem::path cache_directory();

/// The kernel remembered under `key`; nothing when there is none or the file cannot be read.
std::optional<std::string> cached_winner(const std::string& key);

/// Remembers `kernel` under `key`. Best effort: a cache that cannot be written is no error.
void remember_winner(const std::string& key, const std::string& kernel);

}  // namespace tulle
