// The winners of earlier autotuning, remembered in cache_directory().
#pragma once

#include <optional>
#include <string>

namespace tulle {

/// The kernel remembered under `key`; nothing when there is none or the file cannot be read.
std::optional<std::string> cached_winner(const std::string& key);

/// Remembers `kernel` under `key`. Best effort: a cache that cannot be written is no error.
void remember_winner(const std::string& key, const std::string& kernel);

}  // namespace tulle
