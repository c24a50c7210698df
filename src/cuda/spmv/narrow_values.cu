// Which values of a matrix can be stored in fewer bytes: in one pass, whether each is a float, whether each is a bf16,
// and which different ones there are while they are at most 256. A block lists those that it sees in shared memory, by
// the hash of their bits, and adds them to the device's list at its end. A thread takes values a grid apart. Bytes:
// those of the values, or next to none where values soon turn out to be of all kinds.
#include <algorithm>
#include <bit>
#include <type_traits>
#include <vector>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/narrow_values.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;
/// Of a list: more than most_listed_values by what all threads of a block may add at once.
constexpr unsigned slots = 1024;
using bits64 = unsigned long long;
/// A NaN's; such a value cannot be listed.
constexpr bits64 empty = ~bits64{0};

/// Flags that others read meanwhile: raised by an atomic, as plain stores would race with the reads.
__device__ __forceinline__ void raise(unsigned& flag) { atomicExch(&flag, 1u); }
__device__ __forceinline__ bool is_raised(const unsigned& flag) {
  return *static_cast<const volatile unsigned*>(&flag) != 0;
}

struct value_list {
  unsigned many;  // values are too many to be listed
  unsigned count;
  bits64 bits[slots];

  __device__ bool is_full() const { return is_raised(many); }
  __device__ void add(bits64 value) {
    if (value == empty) raise(many);
    auto at = static_cast<unsigned>((value ^ value >> 32) * 0x9e3779b97f4a7c15ull >> 54);
    static_assert(slots == 1u << (64 - 54));
    for (unsigned tried = 0; tried < slots && !is_full(); ++tried, at = (at + 1) % slots) {
      if (*static_cast<const volatile bits64*>(&bits[at]) == value) return;
      const bits64 before = atomicCAS(&bits[at], empty, value);
      if (before == value) return;
      if (before != empty) continue;
      if (atomicAdd(&count, 1u) >= most_listed_values) raise(many);
      return;
    }
  }
};

struct value_report {
  unsigned beyond_f32;
  unsigned beyond_bf16;
  value_list list;
};

__device__ __forceinline__ bits64 bits_of(double v) { return static_cast<bits64>(__double_as_longlong(v)); }
__device__ __forceinline__ bits64 bits_of(float v) { return __float_as_uint(v); }

__global__ void clear_report(value_report* report) {
  for (unsigned i = threadIdx.x; i < slots; i += threads) report->list.bits[i] = empty;
  if (threadIdx.x == 0) report->beyond_f32 = report->beyond_bf16 = report->list.many = report->list.count = 0;
}

template <class T>
__global__ void __launch_bounds__(threads)
    look_at_values(const T* __restrict__ values, std::int64_t count, value_report* report) {
  __shared__ value_list seen;
  for (unsigned i = threadIdx.x; i < slots; i += threads) seen.bits[i] = empty;
  if (threadIdx.x == 0) seen.many = report->list.is_full() ? 1 : 0, seen.count = 0;
  __syncthreads();
  bool beyond_f32 = is_raised(report->beyond_f32);
  bool beyond_bf16 = is_raised(report->beyond_bf16);
  bits64 last = empty;
  for (std::int64_t i = grid_thread(); i < count; i += grid_stride()) {
    if (beyond_bf16 && (beyond_f32 || sizeof(T) == 4) && seen.is_full()) break;
    const T v = values[i];
    const auto narrow = static_cast<float>(v);
    beyond_f32 = beyond_f32 || bits_of(static_cast<T>(narrow)) != bits_of(v);
    beyond_bf16 = beyond_bf16 || beyond_f32 || (__float_as_uint(narrow) & 0xffff) != 0;
    if (bits_of(v) != last && !seen.is_full()) seen.add(last = bits_of(v));
  }
  beyond_f32 = __syncthreads_or(beyond_f32 ? 1 : 0) != 0;
  beyond_bf16 = __syncthreads_or(beyond_bf16 ? 1 : 0) != 0;
  if (threadIdx.x == 0) {
    if (beyond_f32) raise(report->beyond_f32);
    if (beyond_bf16) raise(report->beyond_bf16);
    if (seen.many != 0) raise(report->list.many);
  }
  if (seen.many != 0) return;
  for (unsigned i = threadIdx.x; i < slots; i += threads) {
    if (seen.bits[i] != empty) report->list.add(seen.bits[i]);
  }
}

template <class T>
std::vector<T> sorted_values(value_list& found) {
  bits64* const end = std::remove(found.bits, found.bits + slots, empty);
  std::sort(found.bits, end);
  std::vector<T> out;
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  for (const bits64* b = found.bits; b != end; ++b) out.push_back(std::bit_cast<T>(static_cast<bits>(*b)));
  return out;
}

}  // namespace

template <class T>
narrow_values<T> narrowest(const context& ctx, const T* values, std::int64_t count) {
  if (count == 0) return {};
  const device_guard guard(ctx.device());
  buffer<value_report> report(ctx, 1);
  launch("narrow_values.clear", clear_report, {1, threads}, native(ctx), report.data());
  launch_items(ctx, "narrow_values", look_at_values<T>, count, values, count, report.data());
  value_report found = read_back(ctx, report.data());
  narrow_values<T> out;
  if (found.list.many == 0) out.list = to_buffer(ctx, sorted_values<T>(found.list));
  if (found.beyond_bf16 == 0) {
    out.storage = value_storage::bf16;
  } else if (sizeof(T) == 8) {
    if (found.beyond_f32 == 0)
      out.storage = value_storage::f32;
    else if (!out.list.empty())
      out.storage = value_storage::listed;
  }
  return out;
}

template narrow_values<float> narrowest(const context&, const float*, std::int64_t);
template narrow_values<double> narrowest(const context&, const double*, std::int64_t);

}  // namespace tulle::cuda
