// Permutations and orderings in the C API.
#include <algorithm>
#include <limits>
#include <optional>
#include <tulle/ops/matrix.hpp>
#include <tulle/reorder/orderings.hpp>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "formats/matrix_arrays.hpp"

using namespace tulle::capi;

namespace {

constexpr std::int64_t most = std::numeric_limits<tulle::index_t>::max();

tulle_status move(const tulle_permutation* permutation, tulle_scalar_type scalar_type, const void* x, void* y,
                  int64_t size, bool back) {
  return guard({{permutation, "permutation"}}, [&] {
    const tulle::context& ctx = permutation->value.ctx();
    const tulle::scalar_type type = scalar_type_of(scalar_type, "scalar_type");
    if (checked_size(size, "size") > 0) {
      require(x, "x");
      require(y, "y");
    }
    tulle::check_memory("x", x, ctx.space());
    tulle::check_memory("y", y, ctx.space());
    const tulle::const_vector_ref from(type, x, size, ctx.space(), ctx.device());
    const tulle::vector_ref to(type, y, size, ctx.space(), ctx.device());
    back ? permutation->value.apply_inverse(from, to) : permutation->value.apply(from, to);
  });
}

}  // namespace

tulle_status tulle_permutation_create(const tulle_context* context, const int32_t* order, int64_t size,
                                      tulle_memory_space space, tulle_permutation** permutation) {
  return create(permutation, "permutation", {{context, "context"}}, [&] {
    if (checked_count(size, "size", most) > 0) require(order, "order");
    const tulle::memory_space where = space_of(space, "space");
    tulle::check_memory("order", order, where);
    if (where == tulle::memory_space::device && context->value.backend() == tulle::backend_kind::cpu) {
      throw tulle::error(tulle::status::invalid_argument, "order is in device memory and the context is a CPU one");
    }
    const tulle::permutation_ref ref(tulle::offset_type::i32, order, size, where);
    return new tulle_permutation{tulle::permutation(context->value, ref)};
  });
}

tulle_status tulle_permutation_inverse(const tulle_permutation* permutation, tulle_permutation** inverse) {
  return create(inverse, "inverse", {{permutation, "permutation"}},
                [&] { return new tulle_permutation{permutation->value.inverse()}; });
}

tulle_status tulle_permutation_then(const tulle_permutation* permutation, const tulle_permutation* next,
                                    tulle_permutation** both) {
  return create(both, "both", {{permutation, "permutation"}, {next, "next"}},
                [&] { return new tulle_permutation{permutation->value.then(next->value)}; });
}

tulle_status tulle_permutation_size(const tulle_permutation* permutation, int64_t* size) {
  return guard({{permutation, "permutation"}, {size, "size"}}, [&] { *size = permutation->value.size(); });
}

tulle_status tulle_permutation_copy_out(const tulle_permutation* permutation, int32_t* order) {
  return guard({{permutation, "permutation"}}, [&] {
    if (permutation->value.size() > 0) require(order, "order");
    const auto& from = permutation->value.order();
    tulle::copy_bytes(permutation->value.ctx(), order, tulle::memory_space::host, from.data(), from.space(),
                      from.bytes());
  });
}

tulle_status tulle_permutation_apply(const tulle_permutation* permutation, tulle_scalar_type scalar_type, const void* x,
                                     void* y, int64_t size) {
  return move(permutation, scalar_type, x, y, size, false);
}

tulle_status tulle_permutation_apply_inverse(const tulle_permutation* permutation, tulle_scalar_type scalar_type,
                                             const void* x, void* y, int64_t size) {
  return move(permutation, scalar_type, x, y, size, true);
}

void tulle_permutation_destroy(tulle_permutation* permutation) { delete permutation; }

tulle_status tulle_permute(const tulle_context* context, const tulle_csr* matrix, const tulle_permutation* rows,
                           const tulle_permutation* columns, tulle_csr** permuted) {
  return create(permuted, "permuted", {{context, "context"}, {matrix, "matrix"}}, [&] {
    const tulle::context& ctx = context->value;
    std::optional<tulle::permutation> identity;
    if (rows == nullptr) identity.emplace(tulle::permutation::identity(ctx, matrix->ref.rows));
    const tulle::permutation& order = rows == nullptr ? *identity : rows->value;
    return new tulle_csr{
        columns == nullptr ? permute_rows(ctx, matrix->ref, order) : permute(ctx, matrix->ref, order, columns->value),
        0};
  });
}

tulle_status tulle_order(const tulle_context* context, const tulle_csr* matrix, tulle_ordering ordering,
                         const tulle_order_options* options, tulle_permutation** permutation) {
  return create(permutation, "permutation", {{context, "context"}, {matrix, "matrix"}}, [&] {
    const auto how =
        static_cast<tulle::ordering>(checked_choice(ordering, "ordering", TULLE_ORDER_NATURAL, TULLE_ORDER_RANDOM));
    tulle::ordering_options o;
    if (options != nullptr) {
      o.part_rows = checked_index(options->part_rows, "options->part_rows");
      if (options->window != 0) o.window = checked_index(options->window, "options->window");
      o.seed = options->seed;
    }
    return new tulle_permutation{order(context->value, matrix->ref, how, o)};
  });
}

tulle_status tulle_measure_order(const tulle_context* context, const tulle_csr* matrix, tulle_order_quality* quality) {
  return guard({{context, "context"}, {matrix, "matrix"}, {quality, "quality"}}, [&] {
    const tulle::order_quality q = measure_order(context->value, matrix->ref);
    *quality = {q.bandwidth, q.profile, {}, {}};
    std::copy_n(q.lines, 3, quality->lines);
    std::copy_n(q.sectors, 3, quality->sectors);
  });
}
