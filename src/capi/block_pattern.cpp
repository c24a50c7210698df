// Block patterns in the C API.
#include <tulle/formats/block_pattern.hpp>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "formats/matrix_arrays.hpp"
#include "kernels/backends.hpp"

using namespace tulle::capi;

struct tulle_block_pattern {
  tulle::context context;
  tulle::block_pattern value;
};

tulle_status tulle_block_pattern_create(const tulle_context* context, const tulle_block_pairs* pairs,
                                        tulle_block_pattern** pattern) {
  return create(pattern, "pattern", {{context, "context"}, {pairs, "pairs"}}, [&] {
    const tulle::context& ctx = context->value;
    const tulle::block_pairs_view view{checked_index(pairs->block_rows, "pairs->block_rows"),
                                       checked_index(pairs->block_cols, "pairs->block_cols"),
                                       checked_size(pairs->pairs, "pairs->pairs"),
                                       pairs->rowind,
                                       pairs->colind,
                                       ctx.space()};
    const tulle::block_pattern_options options{checked_choice(pairs->block, "pairs->block", 1, 8),
                                               checked_flag(pairs->symmetric, "pairs->symmetric"),
                                               checked_flag(pairs->diagonal, "pairs->diagonal")};
    check_memory("pairs->rowind", view.rowind, ctx.space());
    check_memory("pairs->colind", view.colind, ctx.space());
    return new tulle_block_pattern{ctx, find_block_pattern(ctx, view, options)};
  });
}

tulle_status tulle_block_pattern_get_arrays(const tulle_block_pattern* pattern, int64_t* blocks, const int64_t** rowptr,
                                            const int32_t** colind) {
  return guard({{pattern, "pattern"}}, [&] {
    if (blocks != nullptr) *blocks = pattern->value.blocks();
    if (rowptr != nullptr) *rowptr = pattern->value.rowptr.data();
    if (colind != nullptr) *colind = pattern->value.colind.data();
  });
}

tulle_status tulle_block_pattern_assemble(const tulle_block_pattern* pattern, tulle_scalar_type scalar_type,
                                          const void* values, void* block_values) {
  return guard({{pattern, "pattern"}}, [&] {
    const tulle::scalar_type type = scalar_type_of(scalar_type, "scalar_type");
    const tulle::context& ctx = pattern->context;
    if (pattern->value.pairs > 0) require(values, "values");
    if (pattern->value.blocks() > 0) require(block_values, "block_values");
    tulle::check_memory("values", values, ctx.space());
    tulle::check_memory("block_values", block_values, ctx.space());
    tulle::block_patterns_of(ctx.backend()).assemble_bsr(ctx, pattern->value, type, values, block_values);
  });
}

void tulle_block_pattern_destroy(tulle_block_pattern* pattern) { delete pattern; }
