#include "plan/autotune.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include <tulle/core/buffer.hpp>

#include "core/backends.hpp"

namespace tulle {
namespace {

double elapsed_microseconds(const context& ctx, spmv_operator& op, const void* x, void* y, device_timer* timer) {
  if (timer != nullptr) {
    timer->start(ctx.stream());
    op.apply(1, x, 0, y, ctx.stream());
    timer->stop(ctx.stream());
    return timer->microseconds();
  }
  const auto begin = std::chrono::steady_clock::now();
  op.apply(1, x, 0, y, ctx.stream());
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

/// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Sum of hashes of (position, element): independent of the number of threads.
template <class I>
std::uint64_t hash_array(const context& ctx, const I* data, std::size_t n, memory_space space) {
  std::vector<I> copy;
  if (space == memory_space::device) {
    copy.resize(n);
    copy_bytes(ctx, copy.data(), memory_space::host, data, space, n * sizeof(I));
    data = copy.data();
  }
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(ctx.threads())
  for (std::size_t i = 0; i < n; ++i) sum += mix(mix(i) ^ static_cast<std::uint64_t>(data[i]));
  return sum;
}

}  // namespace

double measure_apply(const context& ctx, spmv_operator& op, const void* x, void* y) {
  std::unique_ptr<device_timer> timer;
  if (ctx.backend() == backend_kind::cuda) timer = cuda_runtime()->timer(ctx.device());
  for (int i = 0; i < 3; ++i) elapsed_microseconds(ctx, op, x, y, timer.get());
  std::array<double, 10> times{};
  for (double& t : times) t = elapsed_microseconds(ctx, op, x, y, timer.get());
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

std::string structure_hash(const context& ctx, const csr_ref& a) {
  const auto rows = static_cast<std::size_t>(a.rows);
  const auto offsets = a.types.offset == offset_type::i32
                           ? hash_array(ctx, static_cast<const std::int32_t*>(a.rowptr), rows + 1, a.space)
                           : hash_array(ctx, static_cast<const std::int64_t*>(a.rowptr), rows + 1, a.space);
  const auto columns = hash_array(ctx, a.colind, static_cast<std::size_t>(a.nnz), a.space);
  const auto shape = mix(static_cast<std::uint64_t>(a.rows) << 32 | static_cast<std::uint32_t>(a.cols));
  return fmt::format("{:016x}", mix(mix(shape ^ offsets) ^ columns));
}

}  // namespace tulle
