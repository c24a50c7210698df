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
  const auto turned = std::make_shared<csc<T, O>>();
  const auto pass = [&] {
    backend.validate(ctx, a, {});
    if (s.work.transpose) *turned = backend.csr_to_csc(ctx, a);
    s.stats = backend.statistics(ctx, s.work.transpose ? transpose(turned->view()) : a);
  };
  s.analysis_us = clock.once(pass);
  s.analysis_us = std::min(s.analysis_us, clock.once(pass));
  if (s.work.transpose) {
    s.a = csr_ref::of(transpose(turned->view()));
    s.transposed_storage = turned;
  }
  try {
    spmv_options options = plan_options(o);
    options.transpose = s.work.transpose;
    const double first = spmv_plan<T>(ctx, a, options).plan_microseconds();  // it also makes the memory pool grow
    const spmv_plan<T> plan(ctx, a, options);
    s.chosen = plan.kernel();
    s.reason = plan.explain();
    s.effort = plan.effort();
    s.chosen_plan_us = std::min(first, plan.plan_microseconds());
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

/// What every right-hand side must give, in higher precision.
template <scalar T>
std::vector<spmv_reference> references(const csr<T>& a, const workload& work, const std::vector<T>& x, int threads) {
  const context host = context::cpu(threads);
  const csr<T> turned = work.transpose ? transpose(to_csc(host, a.view())) : csr<T>{};
  std::vector<spmv_reference> all;
  for (index_t j = 0; j < work.rhs; ++j) {
    const std::vector<T> one = work.vector_of(x, j);
    all.push_back(
        reference_spmv<T>(host, T{1}, work.transpose ? turned.view() : a.view(), host_span<const T>(one), T{0}, {}));
  }
  return all;
}

}  // namespace

void apply(const context& ctx, subject& s, spmv_operator& op) {
  if (s.work.rhs == 1) return op.apply(1, s.x.data(), 0, s.y.data(), ctx.stream());
  const auto ref = [&](buffer<std::byte>& data, index_t rows) {
    const bool by_row = s.work.vectors() == vector_order::row_major;
    return strided_vectors{data.data(), s.work.rhs, by_row ? s.work.rhs : 1, by_row ? 1 : rows};
  };
  op.apply_many(1, ref(s.x, s.a.cols), 0, ref(s.y, s.a.rows), ctx.stream());
}

bool scatters(const spmv_kernel& kernel) {
  return std::ranges::any_of(spmv_transposed_kernels(kernel.backend),
                             [&](const spmv_kernel& k) { return k.name == kernel.name; });
}

template <scalar T>
subject make_subject(const context& ctx, const case_name& which, const run_options& options, const workload& work,
                     const harness& clock) {
  auto loaded = load<T>(which.spec, options);
  const auto host = loaded.matrix.view();
  const auto vectors = static_cast<std::size_t>(work.rhs);
  const auto x_rows = static_cast<std::size_t>(work.transpose ? host.rows : host.cols);
  const auto y_rows = static_cast<std::size_t>(work.transpose ? host.cols : host.rows);
  const std::vector<T> x = random_vector<T>(x_rows * vectors, x_seed);

  subject s;
  s.name = which.label.empty() ? loaded.name : which.label;
  s.hash = matrix_hash(host);
  s.work = work;
  s.x = bytes_on(ctx, x);
  s.y = buffer<std::byte>(ctx, y_rows * vectors * sizeof(T));
  const auto expected =
      std::make_shared<std::vector<spmv_reference>>(references(loaded.matrix, work, x, options.threads));
  const auto placed = std::make_shared<placed_matrix<T>>(ctx, std::move(loaded.matrix));
  s.a = s.source = placed->ref();
  s.storage = placed;
  dispatch<type_set::floating>(s.source.types, [&]<class V, class O>() {
    if constexpr (std::is_same_v<V, T>) analyse(ctx, s.source.as<T, O>(), options, clock, s);
  });
  s.error_ratio = [ctx, expected, work](const buffer<std::byte>& y) {
    std::vector<T> result(y.size() / sizeof(T));
    copy_bytes(ctx, result.data(), memory_space::host, y.data(), y.space(), y.bytes());
    double worst = 0;
    for (index_t j = 0; j < work.rhs; ++j) {
      const double ratio = error_ratio<T>((*expected)[static_cast<std::size_t>(j)], work.vector_of(result, j));
      if (!(ratio <= worst)) worst = ratio;
    }
    return worst;
  };
  return s;
}

template subject make_subject<float>(const context&, const case_name&, const run_options&, const workload&,
                                     const harness&);
template subject make_subject<double>(const context&, const case_name&, const run_options&, const workload&,
                                      const harness&);

}  // namespace tulle::cli::bench
