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
  parallel_for(threads_for(ctx.threads(), n), n, [&](std::int64_t i) { to[i] = static_cast<To>(rowptr[i]); });
  return out;
}

template <scalar T, offset O>
index_t longest_row(const context& ctx, csr_view<T, O> a) {
  const O longest = parallel_reduce(
      threads_for(ctx.threads(), a.rows), a.rows, rows_at_a_time, O{0},
      [&](index_t r, O& most) { most = std::max<O>(most, a.rowptr[r + 1] - a.rowptr[r]); },
      [](O& most, O other) { most = std::max(most, other); });
  if (longest > std::numeric_limits<index_t>::max()) {
    throw error(status::overflow, "longest_row: a row has 2^31 entries or more");
  }
  return static_cast<index_t>(longest);
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::offsets(table& made) {
  made.narrow_offsets = convert_offsets<std::int32_t, O>;
  made.widen_offsets = convert_offsets<std::int64_t, O>;
  made.longest_row = longest_row<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::offsets(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu
