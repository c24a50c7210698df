// Contexts of the C API.
#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace tulle::capi;

tulle_status tulle_context_create_best(tulle_context** context) {
  return create(context, "context", {}, [] { return new tulle_context{tulle::context::best()}; });
}

tulle_status tulle_context_create_cpu(int threads, tulle_context** context) {
  return create(context, "context", {}, [&] { return new tulle_context{tulle::context::cpu(threads)}; });
}

tulle_status tulle_context_create_cuda(int device, tulle_context** context) {
  return create(context, "context", {}, [&] { return new tulle_context{tulle::context::cuda(device)}; });
}

tulle_status tulle_context_create_cuda_stream(int device, void* stream, tulle_context** context) {
  return create(context, "context", {},
                [&] { return new tulle_context{tulle::context::cuda(device, tulle::stream_view{stream})}; });
}

tulle_status tulle_context_space(const tulle_context* context, tulle_memory_space* space) {
  return guard({{context, "context"}, {space, "space"}},
               [&] { *space = static_cast<tulle_memory_space>(context->value.space()); });
}

tulle_status tulle_context_synchronize(const tulle_context* context) {
  return guard({{context, "context"}}, [&] { context->value.synchronize(); });
}

void tulle_context_destroy(tulle_context* context) { delete context; }
