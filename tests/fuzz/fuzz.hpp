// What the fuzz targets share. A target takes any bytes; it aborts, or a sanitizer does, where something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <tulle/tulle.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tulle::fuzz {

inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// A matrix as the reader and the generators promise it: sorted rows, no duplicates.
template <scalar T>
void require_valid(const csr<T>& a) {
  const std::int64_t* rowptr = a.rowptr.data();
  const index_t* colind = a.colind.data();
  require(a.rowptr.size() == static_cast<std::size_t>(a.rows) + 1 && rowptr[0] == 0, "rowptr does not start at 0");
  for (index_t r = 0; r < a.rows; ++r) {
    require(rowptr[r] <= rowptr[r + 1], "rowptr descends");
    for (std::int64_t k = rowptr[r]; k < rowptr[r + 1]; ++k) {
      require(colind[k] >= 0 && colind[k] < a.cols, "a column is out of range");
      require(k == rowptr[r] || colind[k - 1] < colind[k], "columns do not ascend");
    }
  }
  require(rowptr[a.rows] == a.nnz(), "rowptr does not end at nnz");
}

/// Host memory of a few bytes: what is large is legal, but takes long.
class little_memory final : public memory_resource {
 public:
  explicit little_memory(std::size_t bytes) : left_(bytes) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    if (bytes > left_) throw error(status::out_of_memory, "more than this test wants to make");
    left_ -= bytes;
    return host_->allocate(bytes, stream);
  }
  void deallocate(void* pointer, std::size_t bytes, stream_view stream) noexcept override {
    left_ += bytes;
    host_->deallocate(pointer, bytes, stream);
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }

 private:
  std::shared_ptr<memory_resource> host_ = host_memory();
  std::size_t left_;  // one thread takes it
};

/// One thread, with that memory.
inline context little_context(std::size_t bytes) {
  return context::cpu(1).with_memory(std::make_shared<little_memory>(bytes));
}

}  // namespace tulle::fuzz
