// Writing a matrix file, and saying how fast that went.
#pragma once

#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "common.hpp"

namespace tulle::cli {

template <scalar T>
void write_matrix(const std::string& file, const csr<T>& a, bool symmetric) {
  const auto start = std::chrono::steady_clock::now();
  write_matrix_market(file, a.view(), symmetric);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (file == "-" || !std::filesystem::is_regular_file(file)) return;
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  note(fmt::format("wrote {}: {} x {}, {} nonzeros, {} at {:.0f} MB/s", file, a.rows, a.cols, a.nnz(),
                   human_bytes(bytes), bytes / seconds / 1e6));
}

}  // namespace tulle::cli
