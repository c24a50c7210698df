// What a plan stores where no kernel was asked for: the kernel chosen by statistics, or one whose values take fewer
// bytes.
#include <fmt/format.h>

#include <algorithm>

#include "core/memory_status.hpp"
#include "kernels/formats.hpp"
#include "ops/spmv_impl.hpp"

namespace tulle {
namespace {

/// Whether `count` values of a type take so many fewer bytes that this beats blocks: an eighth of them, on an H200.
bool saves_bytes(const stored_values& stored, std::int64_t count, scalar_type type) {
  std::int64_t bytes = 0;
  for (const stored_share& s : stored.shares) bytes += s.bytes;
  return 8 * bytes <= 7 * count * static_cast<std::int64_t>(size_of(type));
}

/// Whether a kernel that stores values in fewer bytes may be faster than the one chosen, which does not: always than
/// blocks, else where a large matrix reads x in order.
bool may_be_narrower(const spmv_kernel& chosen, const csr_stats& s) {
  constexpr std::int64_t large = 2'500'000;
  return chosen.takes_bsr || (!chosen.listens_to.values && s.nnz >= large && s.gather_sectors <= scattered_sectors);
}

}  // namespace

void any_spmv_plan::impl::choose(bool quick) {
  if (quick) {
    stats = source.inspect();
    source.fit_offsets(offsets_for(source.ref().nnz));
  } else {
    analyse();
  }
  const type_key stored = source.ref().types;
  const std::string choice = chosen_spmv_kernel(stats, chosen_for(), ctx.info(), options.policy);
  const spmv_kernel* chosen = spmv_kernel_for(ctx.backend(), choice, types());
  std::string why;  // empty: the rules'
  if (chosen == nullptr) {
    why = fmt::format("{} has no such types", choice);
    chosen = spmv_kernel_for(ctx.backend(), "packed", types());
  }
  if (chosen == nullptr) return build_without_set_up(why);
  if (const support s = chosen->supports(stats, stored, ctx.info()); !s.ok) return build_without_set_up(s.reason);
  try {
    if (options.high_words && build_in_words()) return;
    if (may_lose_bits(options) && build_narrower(*chosen)) return;
    if (may_be_narrower(*chosen, stats) && build_lossless()) return;
    if (kernel == chosen) {
      reason = why;  // made, though nothing in it takes fewer bits
    } else {
      build(*chosen, why);
    }
  } catch (const error& e) {
    if (e.code() == status::unsupported) return build_without_set_up(e.what());
    if (!is_out_of_memory(e)) throw;
    build_without_set_up(fmt::format("no memory for {}'s copy of the matrix", choice));
  }
}

/// The first kernel that stores values of this matrix in fewer bits, `chosen` before others; false where none does.
bool any_spmv_plan::impl::build_narrower(const spmv_kernel& chosen) {
  const std::string why = options.value_rule ? std::string("small values take fewer bits")
                                             : fmt::format("values take fewer bits within {} {}",
                                                           name(options.values.bound), options.values.tolerance);
  const auto narrows = [&](const spmv_kernel& k) {
    if (!k.listens_to.values || k.role != kernel_role::production || !contains(k.types, types())) return false;
    if (!k.supports(stats, source.ref().types, ctx.info()).ok) return false;
    build(k, why);
    return op->narrows_values() &&
           (!chosen.takes_bsr || saves_bytes(op->stored(), source.value_count(), source.ref().types.value));
  };
  if (narrows(chosen)) return true;
  const auto kernels = spmv_kernels(ctx.backend());
  return std::ranges::any_of(kernels,
                             [&](const spmv_kernel& k) { return !k.takes_bsr && &k != &chosen && narrows(k); });
}

/// A kernel that stores values of this matrix in fewer bytes, with all of their bits; false where there is none.
bool any_spmv_plan::impl::build_lossless() {
  for (const spmv_kernel& k : spmv_kernels(ctx.backend())) {
    if (k.narrows == nullptr || !contains(k.types, types()) || !k.supports(stats, source.ref().types, ctx.info()).ok)
      continue;
    if (!k.narrows(ctx, source.ref())) continue;
    build(k, "values take fewer bytes, and lose no bit");
    return true;
  }
  return false;
}

/// The first kernel that stores values as words and takes this matrix; false where there is none.
bool any_spmv_plan::impl::build_in_words() {
  for (const spmv_kernel& k : spmv_kernels(ctx.backend())) {
    if (!k.listens_to.high_words || k.role != kernel_role::production || !contains(k.types, types())) continue;
    if (!k.supports(stats, source.ref().types, ctx.info()).ok) continue;
    build(k, "stores values as high and low words");
    return true;
  }
  return false;
}

}  // namespace tulle
