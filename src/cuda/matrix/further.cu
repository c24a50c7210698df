// Values of further types: moved and summed by positions, conjugated, told from 0. One thread: an entry.
#include "cuda/matrix/further.hpp"

#include "cuda/runtime/launch.cuh"
#include "kernels/backends.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cuda {
namespace {

using namespace further;

template <class N>
void map_typed(const context& ctx, const value_map& m, const N* from, N* to) {
  for_each_item(ctx, "map_values", m.count,
                [=, segments = m.segments, positions = m.positions] __device__(std::int64_t i) {
                  const std::int64_t begin = segments ? segments[i] : i, end = segments ? segments[i + 1] : i + 1;
                  N sum = from[positions ? positions[begin] : begin];
                  for (std::int64_t j = begin + 1; j < end; ++j) sum = add(sum, from[positions ? positions[j] : j]);
                  to[i] = sum;
                });
}

template <class N>
void conjugate_typed(const context& ctx, std::int64_t count, const N* from, N* to) {
  for_each_item(ctx, "conjugate", count, [=] __device__(std::int64_t i) { to[i] = conjugated(-1, from[i]); });
}

template <class N>
void nonzero_typed(const context& ctx, std::int64_t count, const N* from, float* flags) {
  for_each_item(ctx, "nonzero", count, [=] __device__(std::int64_t i) { flags[i] = is_zero(from[i]) ? 0.0f : 1.0f; });
}

template <class N>
void ones_typed(const context& ctx, std::int64_t count, N* to) {
  for_each_item(ctx, "ones", count, [=] __device__(std::int64_t i) { to[i] = N::one(); });
}

void conjugate(const context& ctx, scalar_type type, std::int64_t count, const void* from, void* to) {
  further::dispatch(
      type, [&]<class N>() { conjugate_typed(ctx, count, static_cast<const N*>(from), static_cast<N*>(to)); });
}

void nonzero(const context& ctx, scalar_type type, std::int64_t count, const void* from, float* flags) {
  further::dispatch(type, [&]<class N>() { nonzero_typed(ctx, count, static_cast<const N*>(from), flags); });
}

void number(const context& ctx, std::int64_t count, double* numbers) {
  for_each_item(ctx, "number", count, [=] __device__(std::int64_t i) { numbers[i] = static_cast<double>(i); });
}

void positions(const context& ctx, std::int64_t count, const double* numbers, std::int64_t* to) {
  for_each_item(ctx, "positions", count,
                [=] __device__(std::int64_t i) { to[i] = static_cast<std::int64_t>(numbers[i]); });
}

}  // namespace

const further_kernels& further_values() {
  static constexpr further_kernels table = {conjugate, nonzero, number, positions};
  return table;
}

void map_further_values(const context& ctx, const value_map& m) {
  further::dispatch(
      m.type, [&]<class N>() { map_typed(ctx, m, static_cast<const N*>(m.from), static_cast<N*>(m.to)); });
}

void fill_ones(const context& ctx, scalar_type type, std::int64_t count, void* values) {
  further::dispatch(type, [&]<class N>() { ones_typed(ctx, count, static_cast<N*>(values)); });
}

}  // namespace tulle::cuda
