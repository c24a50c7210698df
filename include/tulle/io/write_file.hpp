/// @file
/// Files that are replaced whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace tulle {

/// Makes a file of these bytes, or replaces the one there: `.gz`, `.zst` and `.xz` names are compressed, "-" is
/// standard output. The bytes go to a new file beside it, which takes its name and permissions once it is complete:
/// whatever fails, an old file stays as it was, and nothing half written is left. What exists and is no regular file (a
/// pipe, a terminal) is written straight. Throws FILE_IO naming the file, and UNSUPPORTED for
/// `.xz` where liblzma was not built in. Matrices are written in the same way.
void write_file(const std::filesystem::path& file, std::string_view bytes);

/// Throws what write_file would throw of the name alone: no such directory, no permission.
void check_writable(const std::filesystem::path& file);

/// Removes what is being written by any thread. For a signal handler that then ends the process: async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace tulle
