// Row offsets: their width, and the longest row.
#include <algorithm>
#include <limits>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

template <offset To, offset O>
buffer<To> convert_offsets(const context& ctx, const O* rowptr, std::size_t count) {
  buffer<To> out(ctx, count);
  To* to = out.data();
  const auto n = static_cast<std::int64_t>(count);
  constexpr std::int64_t worth_threads = 1 << 15;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static) if (n > worth_threads)
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(rowptr[i]);
  return out;
}

}  // namespace

template <offset O>
buffer<std::int32_t> narrow_offsets(const context& ctx, const O* rowptr, std::size_t count) {
  return convert_offsets<std::int32_t>(ctx, rowptr, count);
}

template <offset O>
buffer<std::int64_t> widen_offsets(const context& ctx, const O* rowptr, std::size_t count) {
  return convert_offsets<std::int64_t>(ctx, rowptr, count);
}

template <scalar T, offset O>
index_t longest_row(const context& ctx, csr_view<T, O> a) {
  O longest = 0;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static) reduction(max : longest)
  for (index_t r = 0; r < a.rows; ++r) longest = std::max<O>(longest, a.rowptr[r + 1] - a.rowptr[r]);
  if (longest > std::numeric_limits<index_t>::max()) {
    throw error(status::overflow, "longest_row: a row has 2^31 entries or more");
  }
  return static_cast<index_t>(longest);
}

#define TULLE_INSTANTIATE_OFFSET(O)                                                       \
  template buffer<std::int32_t> narrow_offsets<O>(const context&, const O*, std::size_t); \
  template buffer<std::int64_t> widen_offsets<O>(const context&, const O*, std::size_t);
TULLE_INSTANTIATE_OFFSET(std::int32_t)
TULLE_INSTANTIATE_OFFSET(std::int64_t)
#define TULLE_INSTANTIATE(T, O) template index_t longest_row<T, O>(const context&, csr_view<T, O>);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
