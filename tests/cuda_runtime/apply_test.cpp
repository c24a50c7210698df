// `apply` of every kernel neither allocates nor synchronises, and works inside a CUDA graph; so do A^T and several x.
#include "fixture.hpp"
#include "kernels/backends.hpp"
#include "support/files.hpp"

namespace tulle::test {
namespace {

class cuda_apply_test : public cuda_test {
 protected:
  void fill_with_nan() { fill_bytes(ctx(), y_.data(), memory_space::device, 0xff, y_.bytes()); }

  /// Calls body(kernel, its plan) for every kernel, with NaN in y.
  template <class Body>
  void for_each_kernel(const Body& body) {
    for (const spmv_kernel& kernel : spmv_kernels(backend_kind::cuda)) {
      SCOPED_TRACE(kernel.name);
      const spmv_plan<double> plan(ctx(), host_, with_kernel(kernel.name));
      fill_with_nan();
      body(kernel, plan);
    }
  }

  void expect_y_applied(double alpha) { expect_applied(alpha, host_, x_host_, to_vector(ctx(), y_)); }

  csr<double> host_ = small_matrix();
  std::vector<double> x_host_ = [&] {
    std::vector<double> x;
    for (index_t i = 0; i < host_.cols; ++i) x.push_back(0.1 * (i % 17) - 0.75);
    return x;
  }();
  buffer<double> x_ = to_buffer(ctx(), x_host_), y_{ctx(), static_cast<std::size_t>(host_.rows)};
};

TEST_F(cuda_apply_test, neither_allocates_nor_synchronises) {
  for_each_kernel([&](const spmv_kernel& kernel, const spmv_plan<double>& plan) {
    const std::int64_t launches = launches_of([&] {
      plan.apply(1, x_, 0, y_);
      plan.apply(-2.5, x_, 0, y_);
    });
    EXPECT_TRUE(kernel.role == kernel_role::vendor || launches > 0);  // the vendor's launches are not seen
    expect_y_applied(-2.5);
  });
}

TEST_F(cuda_apply_test, can_be_captured_in_a_graph) {
  for_each_kernel([&](const spmv_kernel&, const spmv_plan<double>& plan) {
    const auto graph = cuda_runtime()->capture(0, ctx().stream(), [&] { plan.apply(1.5, x_, 0, y_); });
    for (int run = 0; run < 2; ++run) {
      fill_with_nan();
      graph->launch(ctx().stream());
      expect_y_applied(1.5);
    }
  });
}

TEST_F(cuda_apply_test, works_on_another_stream) {
  const context other = context::cuda();
  for_each_kernel([&](const spmv_kernel&, const spmv_plan<double>& plan) {
    ctx().synchronize();
    plan.apply(3, device_span<const double>(x_.data(), x_.size()), 0, device_span<double>(y_.data(), y_.size()),
               {.stream = other.stream()});
    other.synchronize();
    expect_y_applied(3);
  });
}

/// And `work` must be fit for a graph.
void expect_only_launches_and_a_graph(const context& ctx, const std::function<void()>& work) {
  expect_only_launches(ctx, work);
  cuda_runtime()->capture(0, ctx.stream(), work)->launch(ctx.stream());
  ctx.synchronize();
}

TEST_F(cuda_apply_test, several_right_hand_sides) {
  constexpr index_t count = 3;
  std::vector<double> by_row;
  for (const double v : x_host_) by_row.insert(by_row.end(), {v, 2 * v, -v});
  const buffer<double> x = to_buffer(ctx(), by_row);
  buffer<double> y(ctx(), static_cast<std::size_t>(host_.rows) * count);
  const multivector_view<const double> in{host_.cols,          count, count, vector_order::row_major, x.data(),
                                          memory_space::device};
  const multivector_view<double> out{host_.rows,          count, host_.rows, vector_order::column_major, y.data(),
                                     memory_space::device};
  for (const char* kernel : {"", "csr.warp", "csr.merge", "csr.thread"}) {
    SCOPED_TRACE(kernel);
    spmv_plan<double> plan(ctx(), host_, with_kernel(kernel));
    fill_bytes(ctx(), y.data(), memory_space::device, 0xff, y.bytes());
    expect_only_launches_and_a_graph(ctx(), [&] { plan.apply_many(1.5, in, 0.0, out); });
    const std::vector<double> all = to_vector(ctx(), y);
    for (index_t j = 0; j < count; ++j) {
      std::vector<double> one;
      for (std::size_t i = 0; i < x_host_.size(); ++i) one.push_back(by_row[i * count + static_cast<std::size_t>(j)]);
      SCOPED_TRACE("vector " + std::to_string(j));
      expect_applied(1.5, host_, one, {all.data() + j * host_.rows, static_cast<std::size_t>(host_.rows)});
    }
  }
}

TEST_F(cuda_apply_test, the_transpose) {
  const csr<double> transposed = transpose(to_csc(context::cpu(), host_.view()));
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::standard}) {
    SCOPED_TRACE(name(effort));
    spmv_plan<double> plan(ctx(), host_, with_effort(effort, true));
    fill_with_nan();
    expect_only_launches_and_a_graph(ctx(), [&] { plan.apply(-2.0, x_, 0.0, y_); });
    expect_applied(-2.0, transposed, x_host_, to_vector(ctx(), y_));
  }
}

TEST_F(cuda_apply_test, effort_none_and_max) {
  const temporary_directory directory;
  const environment_variable cache("TULLE_CACHE_DIR", directory.path());
  for (const spmv_effort effort : {spmv_effort::none, spmv_effort::max}) {
    spmv_plan<double> plan(ctx(), host_, with_effort(effort));
    fill_with_nan();
    plan.apply(3, x_, 0, y_);
    SCOPED_TRACE(plan.explain());
    expect_y_applied(3);
  }
}

}  // namespace
}  // namespace tulle::test
