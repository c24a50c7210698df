// Batches of small systems in the C API.
#include <algorithm>
#include <string>
#include <vector>

#include "capi/vectors.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

template <class Void>
basic_vector_ref<Void> vector(const tulle_cg_batch& batch, Void* data, std::int64_t size, const char* name) {
  return vector_in(batch.context, batch.type, data, size, name);
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_cg_batch_create(const tulle_context* context, const tulle_csr* pattern, const void* values,
                                   int64_t count, const tulle_cg_options* options, tulle_cg_batch** batch) {
  return create(batch, "batch", {{context, "context"}, {pattern, "pattern"}}, [&] {
    tulle::matrix_ref first = pattern->ref;
    if (checked_index(count, "count") > 0 && first.nnz > 0) require(values, "values");
    if (count > 0) first.values = values;
    const tulle::cg_options o = cg_options_of(options);
    return new tulle_cg_batch{
        {context->value, first, static_cast<tulle::index_t>(count), o}, context->value, first.types.value, {}};
  });
}

tulle_status tulle_cg_batch_create_many(const tulle_context* context, const tulle_csr* const* matrices, int64_t count,
                                        const tulle_cg_options* options, tulle_cg_batch** batch) {
  return create(batch, "batch", {{context, "context"}}, [&] {
    if (checked_index(count, "count") > 0) require(matrices, "matrices");
    std::vector<tulle::matrix_ref> all;
    for (std::int64_t i = 0; i < count; ++i) {
      require(matrices[i], ("matrices[" + std::to_string(i) + "]").c_str());
      all.push_back(matrices[i]->ref);
    }
    const tulle::scalar_type type = all.empty() ? tulle::scalar_type::f64 : all.front().types.value;
    return new tulle_cg_batch{{context->value, all, cg_options_of(options)}, context->value, type, {}};
  });
}

tulle_status tulle_cg_batch_solve(tulle_cg_batch* batch, const void* b, void* x, int64_t size,
                                  tulle_cg_record* records) {
  return guard({{batch, "batch"}, {records, "records"}}, [&] {
    const auto results = batch->value.solve(vector(*batch, b, size, "b"), vector(*batch, x, size, "x"));
    std::transform(results.begin(), results.end(), records, record_of);
  });
}

tulle_status tulle_cg_batch_enqueue(tulle_cg_batch* batch, const void* b, void* x, int64_t size,
                                    tulle_cg_record* records) {
  return guard({{batch, "batch"}, {records, "records"}}, [&] {
    batch->value.enqueue(vector(*batch, b, size, "b"), vector(*batch, x, size, "x"),
                         reinterpret_cast<tulle::cg_record*>(records));
  });
}

tulle_status tulle_cg_batch_update_values(tulle_cg_batch* batch, const void* values, int64_t count,
                                          tulle_memory_space space) {
  return guard({{batch, "batch"}}, [&] { batch->value.update_values(new_values(batch->type, values, count, space)); });
}

tulle_status tulle_cg_batch_unknowns(const tulle_cg_batch* batch, int64_t* unknowns) {
  return guard({{batch, "batch"}, {unknowns, "unknowns"}}, [&] { *unknowns = batch->value.unknowns(); });
}

tulle_status tulle_cg_batch_explain(tulle_cg_batch* batch, const char** sentence) {
  return guard({{batch, "batch"}, {sentence, "sentence"}}, [&] {
    batch->explanation = batch->value.explain();
    *sentence = batch->explanation.c_str();
  });
}

tulle_status tulle_cg_batch_workspace(const tulle_cg_batch* batch, size_t* bytes) {
  return guard({{batch, "batch"}, {bytes, "bytes"}}, [&] { *bytes = batch->value.workspace_bytes(); });
}

void tulle_cg_batch_destroy(tulle_cg_batch* batch) { delete batch; }
