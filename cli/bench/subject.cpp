#include "subject.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/backends.hpp"

namespace tulle::cli::bench {
namespace {

constexpr std::uint64_t x_seed = 42;

/// The CSR on the backend, with its offsets in the width that a plan would use.
template <scalar T>
struct placed_matrix {
  csr<T> wide;
  buffer<std::int32_t> narrow;  // empty where 64 bits are needed

  placed_matrix(const context& ctx, csr<T>&& host)
      : wide(ctx.backend() == backend_kind::cpu ? std::move(host) : clone(ctx, host.view())) {
    if (wide.nnz() > std::numeric_limits<std::int32_t>::max()) return;
    const auto count = static_cast<std::size_t>(wide.rows) + 1;
    narrow = formats_of<T, std::int64_t>(ctx.backend()).narrow_offsets(ctx, wide.rowptr.data(), count);
    wide.rowptr = {};
  }
  [[nodiscard]] csr_ref ref() const {
    if (narrow.empty()) return csr_ref::of(wide.view());
    return csr_ref::of(csr_view<T, std::int32_t>{wide.rows, wide.cols, static_cast<std::int32_t>(wide.nnz()),
                                                 narrow.data(), wide.colind.data(), wide.values.data(),
                                                 wide.values.space()});
  }
};

template <scalar T, offset O>
void analyse(const context& ctx, csr_view<T, O> a, const run_options& o, const harness& clock, subject& s) {
  const auto& backend = formats_of<T, O>(ctx.backend());
  const auto pass = [&] {
    backend.validate(ctx, a, {});
    s.stats = backend.statistics(ctx, a);
  };
  s.analysis_us = clock.once(pass);
  s.analysis_us = std::min(s.analysis_us, clock.once(pass));
  try {
    const spmv_plan<T> plan(ctx, a, plan_options(o));
    s.chosen = plan.kernel();
    s.reason = plan.explain();
    s.effort = plan.effort();
    s.chosen_plan_us = plan.plan_microseconds();
  } catch (const error& e) {
    s.reason = e.what();
  }
}

template <class T>
buffer<std::byte> bytes_on(const context& ctx, const std::vector<T>& from) {
  buffer<std::byte> to(ctx, from.size() * sizeof(T));
  copy_bytes(ctx, to.data(), ctx.space(), from.data(), memory_space::host, to.bytes());
  return to;
}

}  // namespace

template <scalar T>
subject make_subject(const context& ctx, const case_name& which, const run_options& options, const harness& clock) {
  auto loaded = load<T>(which.spec, options);
  const auto host = loaded.matrix.view();
  const std::vector<T> x = random_vector<T>(static_cast<std::size_t>(host.cols), x_seed);

  subject s;
  s.name = which.label.empty() ? loaded.name : which.label;
  s.hash = matrix_hash(host);
  s.x = bytes_on(ctx, x);
  s.y = buffer<std::byte>(ctx, static_cast<std::size_t>(host.rows) * sizeof(T));
  auto reference = std::make_shared<spmv_reference>(
      reference_spmv<T>(context::cpu(options.threads), T{1}, host, host_span<const T>(x), T{0}, {}));
  const auto placed = std::make_shared<placed_matrix<T>>(ctx, std::move(loaded.matrix));
  s.a = placed->ref();
  s.storage = placed;
  dispatch<type_set::floating>(s.a.types, [&]<class V, class O>() {
    if constexpr (std::is_same_v<V, T>) analyse(ctx, s.a.as<T, O>(), options, clock, s);
  });
  s.error_ratio = [ctx, reference](const buffer<std::byte>& y) {
    std::vector<T> result(y.size() / sizeof(T));
    copy_bytes(ctx, result.data(), memory_space::host, y.data(), y.space(), y.bytes());
    return error_ratio<T>(*reference, result);
  };
  return s;
}

template subject make_subject<float>(const context&, const case_name&, const run_options&, const harness&);
template subject make_subject<double>(const context&, const case_name&, const run_options&, const harness&);

}  // namespace tulle::cli::bench
