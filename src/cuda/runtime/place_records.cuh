// An exclusive scan of a few records of several counts each, in one launch.
#pragma once

#include <cub/block/block_scan.cuh>

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {

/// One block: record i becomes the sum of those before it, record n the sum of all. Record has operator+.
template <class Record>
__global__ void __launch_bounds__(1024) place_records_kernel(std::int64_t n, Record* records) {
  using scanner = cub::BlockScan<Record, 1024>;
  __shared__ typename scanner::TempStorage shared;
  Record before{};
  for (std::int64_t begin = 0; begin < n; begin += 1024) {
    const std::int64_t i = begin + threadIdx.x;
    const Record mine = i < n ? records[i] : Record{};
    Record sum, all;
    scanner(shared).ExclusiveScan(
        mine, sum, Record{}, [](const Record& a, const Record& b) { return a + b; }, all);
    if (i < n) records[i] = before + sum;
    before = before + all;
    __syncthreads();
  }
  if (threadIdx.x == 0) records[n] = before;
}

/// `records` holds n + 1, the last of them unset. Returns the sum of all; waits for the stream.
template <class Record>
Record place_records(const context& ctx, buffer<Record>& records) {
  const auto n = static_cast<std::int64_t>(records.size()) - 1;
  launch("place_records", place_records_kernel<Record>, {1, 1024}, native(ctx), n, records.data());
  return read_back(ctx, records.data() + n);
}

}  // namespace tulle::cuda
