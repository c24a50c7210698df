#include "workload.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <span>
#include <tulle/ops/vector.hpp>
#include <type_traits>

namespace tulle::cli {
namespace {

/// What the answers are held to: the references, with bounds that can be widened by a promise and taken back.
template <scalar T>
class expectation {
 public:
  expectation(const matrix_ref& a, double alpha, const workload& work) : a_(a), alpha_(alpha), work_(work) {}

  void add(spmv_reference reference, std::vector<stored<T>> x) {
    rounding_.push_back(reference.bound);
    references_.push_back(std::move(reference));
    x_.push_back(std::move(x));
  }
  double worst_ratio(const std::vector<stored<T>>& y, const value_tolerance& promise) {
    double worst = 0;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const std::vector<stored<T>> one = work_.vector_of(y, static_cast<index_t>(j));
      if (promise.tolerance > 0) widen(j, promise);
      worst = std::max(worst, error_ratio(references_[j], span_of<T>(one)));
      if (promise.tolerance > 0) references_[j].bound = rounding_[j];
    }
    return worst;
  }

 private:
  void widen(std::size_t j, const value_tolerance& promise) {
    if constexpr (std::is_same_v<T, double>) {
      add_promise(references_[j], alpha_, a_.as<double, std::int64_t>(), host_span<const double>(x_[j]), promise);
    }
  }
  matrix_ref a_;  // on the host
  double alpha_;
  workload work_;
  std::vector<spmv_reference> references_;
  std::vector<std::vector<double>> rounding_;  // their bounds
  std::vector<std::vector<stored<T>>> x_;
};

template <class T>
buffer<std::byte> bytes_on(const context& ctx, const std::vector<T>& from) {
  return to_buffer(ctx, std::as_bytes(std::span(from)));
}

template <scalar T>
void add_vectors(const context& ctx, const spmv_request& request, const run_options& o, const matrix_ref& a,
                 spmv_problem& p) {
  const auto vectors = static_cast<std::size_t>(p.work.rhs), rows = static_cast<std::size_t>(a.rows);
  const std::vector<stored<T>> x = request.x.empty() ? random_vector<T>(static_cast<std::size_t>(a.cols) * vectors, 1)
                                                     : load_vector<T>(request.x, a.cols, "--x", o);
  std::vector<stored<T>> y0 = random_vector<T>(rows * vectors, 2);
  if (p.beta == 0 && !std::is_integral_v<T>) std::ranges::fill(y0, not_a_number<T>());
  p.x = bytes_on(ctx, x);
  p.y = bytes_on(ctx, y0);
  p.y0.resize(p.y.size());
  std::ranges::copy(std::as_bytes(std::span(y0)), p.y0.begin());
  if (!request.verify) return;
  const auto expected = std::make_shared<expectation<T>>(a, p.alpha, p.work);
  for (index_t j = 0; j < p.work.rhs; ++j) {
    std::vector<stored<T>> one_x = p.work.vector_of(x, j);
    const std::vector<stored<T>> one_y0 = p.work.vector_of(y0, j);
    spmv_reference exact = reference_spmv(context::cpu(o.threads), static_cast<T>(p.alpha), a.as<T, std::int64_t>(),
                                          span_of<T>(one_x), static_cast<T>(p.beta), span_of<T>(one_y0));
    expected->add(std::move(exact), std::move(one_x));
  }
  p.error_ratio = [ctx, expected](const buffer<std::byte>& y, const value_tolerance& promise) {
    return expected->worst_ratio(elements<T>(ctx, y), promise);
  };
}

/// Refuses before anything is allocated what cannot fit: x and y, which are twice in memory.
void check_vectors(const named_matrix& a, const workload& work) {
  const auto size = static_cast<double>(size_of(a.matrix.types.value));
  const double bytes = 2 * size * work.rhs * (static_cast<double>(a.matrix.rows) + a.matrix.cols);
  const auto available = static_cast<double>(context::cpu(1).info().memory_bytes);
  if (available <= 0 || bytes <= available) return;
  throw error(status::out_of_memory, fmt::format("{}: x and y would take {}; this machine has {} of memory", a.name,
                                                 human_bytes(bytes), human_bytes(available)));
}

}  // namespace

void add_workload_options(CLI::App& app, workload& w) {
  app.add_flag("--transpose", w.transpose, "Multiply by the transpose of A");
  add_count(app, "--rhs", w.rhs, 1, 4096, "Right-hand sides, multiplied at once");
  add_choice(app, "--order", w.order, {"row", "column"},
             "Storage of several vectors: row by row, or one vector after the other (column)");
}

spmv_options plan_options(const run_options& o, const workload& work, std::string kernel) {
  spmv_options options;
  options.kernel = std::move(kernel);
  options.transpose = work.transpose;
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::max}) {
    if (o.effort == name(effort)) options.effort = effort;
  }
  take_reorder_option(o, options);
  work.tell(options);
  if (o.policy == name(spmv_policy::simple)) options.policy = spmv_policy::simple;
  narrowing_of(o).tell(options);
  return options;
}

void set_vectors(const context& ctx, const spmv_request& request, const run_options& o, const matrix_ref& a,
                 spmv_problem& p) {
  with_type(a.types.value, [&]<class T>() { add_vectors<T>(ctx, request, o, a, p); });
}

void spmv_problem::apply(const linear_operator& plan) {
  const scalar_type type = plan.vector_type();
  const auto [rows, cols] = plan.dimensions();
  if (work.rhs == 1) {
    return plan.apply(alpha, const_vector_ref(type, x.data(), cols, x.space()), beta,
                      vector_ref(type, y.data(), rows, y.space()));
  }
  const bool by_row = work.order == "row";
  const auto vectors = [&](buffer<std::byte>& all, index_t size) {
    return multivector_ref(type, size, work.rhs, by_row ? work.rhs : size,
                           by_row ? vector_order::row_major : vector_order::column_major, all.data(), all.space());
  };
  plan.apply_many(alpha, vectors(x, cols), beta, vectors(y, rows));
}

void spmv_problem::reset(const context& ctx) {
  copy_bytes(ctx, y.data(), y.space(), y0.data(), memory_space::host, y0.size());
}

spmv_problem make_problem(const context& ctx, const spmv_request& request, const run_options& o) {
  const workload& work = request.work;
  const double alpha = scalar_option("--alpha", request.alpha, o), beta = scalar_option("--beta", request.beta, o);
  const named_matrix loaded = load(request.matrix, o);
  check_vectors(loaded, work);
  return in_memory_for(loaded.name, [&] {
    const matrix_ref a = work.transpose ? transposed(loaded.matrix, o) : loaded.matrix;
    spmv_problem p{loaded.facts(), matrix_hash(loaded.matrix), work, alpha, beta, narrowing_of(o)};
    p.stats = statistics(a, o);
    set_vectors(ctx, request, o, a, p);
    p.a = place(ctx, loaded.matrix, offsets_for(loaded.matrix.nnz));
    if (ctx.space() == memory_space::host) p.storage = loaded.matrix.owner;
    return p;
  });
}

template <scalar T>
std::vector<stored<T>> random_vector(std::size_t n, std::uint64_t seed) {
  std::vector<stored<T>> x(n);
  if constexpr (std::same_as<T, bool>) {
    std::ranges::transform(random_vector<float>(n, seed), x.begin(), [](float v) { return v > 0; });
  } else if constexpr (std::is_integral_v<T>) {
    std::ranges::transform(random_vector<float>(n, seed), x.begin(), [](float v) { return static_cast<T>(9 * v); });
  } else if constexpr (complex_scalar<T>) {
    const auto parts = random_vector<typename T::value_type>(2 * n, seed);
    for (std::size_t i = 0; i < n; ++i) x[i] = {parts[2 * i], parts[2 * i + 1]};
  } else {
    vector_ops(context::cpu()).random(seed, x);
  }
  return x;
}

template std::vector<float> random_vector<float>(std::size_t, std::uint64_t);
template std::vector<double> random_vector<double>(std::size_t, std::uint64_t);
template std::vector<std::int32_t> random_vector<std::int32_t>(std::size_t, std::uint64_t);
template std::vector<std::int64_t> random_vector<std::int64_t>(std::size_t, std::uint64_t);
template std::vector<std::complex<float>> random_vector<std::complex<float>>(std::size_t, std::uint64_t);
template std::vector<std::complex<double>> random_vector<std::complex<double>>(std::size_t, std::uint64_t);
template std::vector<std::uint8_t> random_vector<bool>(std::size_t, std::uint64_t);

}  // namespace tulle::cli
