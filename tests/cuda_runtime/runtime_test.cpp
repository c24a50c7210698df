// Devices, memory, copies, streams, events and measurements.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "core/device_runtime.hpp"
#include "fixture.hpp"

namespace tulle::test {
namespace {

class cuda_runtime_test : public cuda_test {};

std::vector<std::int32_t> numbers(std::size_t n) {
  std::vector<std::int32_t> v(n);
  std::iota(v.begin(), v.end(), 1);
  return v;
}

TEST_F(cuda_runtime_test, info_describes_the_device) {
  const device_info& info = ctx().info();
  EXPECT_EQ(info.backend, backend_kind::cuda);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GE(info.compute_capability, 50);
  EXPECT_GT(info.l2_bytes, 0u);
  EXPECT_GE(info.shared_bytes, std::size_t{48} << 10);
  EXPECT_GT(info.memory_bytes, std::size_t{1} << 30);
  EXPECT_GE(info.driver_version, 12000);
}

TEST_F(cuda_runtime_test, a_negative_device_is_refused) {
  EXPECT_EQ(status_of([] { context::cuda(-1); }), status::invalid_argument);
}

TEST_F(cuda_runtime_test, buffers_hold_what_was_copied_into_them) {
  for (const std::size_t n : {0u, 1u, 31u, 1000u, 3'000'001u}) {
    const std::vector<std::int32_t> v = numbers(n);
    const buffer<std::int32_t> first = to_buffer(ctx(), v);
    const buffer<std::int32_t> second = clone(ctx(), first);  // device to device
    EXPECT_EQ(to_vector(ctx(), second), v) << n;
    EXPECT_EQ(n == 0, first.data() == nullptr);
  }
}

TEST_F(cuda_runtime_test, fill_sets_every_byte_and_no_other) {
  const buffer<std::int32_t> a = to_buffer(ctx(), numbers(100));
  buffer<std::int32_t> b = clone(ctx(), a);
  fill_bytes(ctx(), b.data() + 10, memory_space::device, 0xff, 20 * sizeof(std::int32_t));
  const std::vector<std::int32_t> got = to_vector(ctx(), b);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i >= 10 && i < 30 ? -1 : i + 1) << i;
}

TEST_F(cuda_runtime_test, too_much_memory_is_refused_and_the_device_stays_usable) {
  expect_error(status::device_out_of_memory, "9007199254740992", [&] { buffer<double>(ctx(), std::size_t{1} << 50); });
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {most, most - 1, most - 255, most - 4096, most - (std::size_t{1} << 21), most / 2}) {
    EXPECT_EQ(status_of([&] { buffer<std::byte>(ctx(), bytes); }), status::device_out_of_memory) << bytes;
    const context pinned = context::cpu().with_memory(pinned_memory());
    EXPECT_EQ(status_of([&] { buffer<std::byte>(pinned, bytes); }), status::out_of_memory) << bytes;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(to_vector(ctx(), to_buffer(ctx(), numbers(1000))), numbers(1000));
  EXPECT_EQ(status_of([&] { buffer<double>(ctx(), std::size_t{1} << 61); }), status::overflow);
}

/// Two devices; skipped where there is one.
class two_devices : public cuda_runtime_test {
 protected:
  void SetUp() override {
    cuda_runtime_test::SetUp();
    if (!IsSkipped() && cuda_device_count() < 2) GTEST_SKIP() << "one device";
  }
};

TEST_F(two_devices, kernels_of_one_read_memory_of_the_other) {
  const context first = context::cuda(0), second = context::cuda(1);
  int can = 0;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  if (can == 0) GTEST_SKIP() << "the devices do not reach each other";
  const csr<double> a = generate<double>(context::cpu(), "gen:fem:n=6");
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 0.1);
  const buffer<double> there = to_buffer(second, x);
  second.synchronize();
  const spmv_plan<double> plan(first, a);
  buffer<double> y(first, static_cast<std::size_t>(a.rows));
  // A span of device memory does not say of which device; its pool lets the other one in.
  plan.apply(1.0, device_span<const double>(there.data(), there.size()), 0.0, y);
  buffer<double> expected(second, static_cast<std::size_t>(a.rows));
  spmv_plan<double>(second, a).apply(1.0, there, 0.0, expected);
  EXPECT_EQ(to_vector(first, y), to_vector(second, expected));
}

TEST_F(two_devices, a_buffer_of_another_device_is_refused_by_name) {
  const context first = context::cuda(0), second = context::cuda(1);
  const csr<double> a = generate<double>(context::cpu(), "gen:fem:n=6");
  const spmv_plan<double> plan(first, a);
  const buffer<double> x(second, static_cast<std::size_t>(a.cols));
  buffer<double> y(first, static_cast<std::size_t>(a.rows));
  expect_error(status::invalid_argument, "device 1", [&] { plan.apply(1.0, x, 0.0, y); });
}

TEST_F(cuda_runtime_test, pointers_to_the_other_memory_are_refused) {
  const csr<double> host = small_matrix(), device = clone(ctx(), host.view());
  const auto refused = [](const char* words, const std::function<void()>& work) {
    expect_error(status::invalid_argument, words, work);
  };
  csr_view<double, std::int64_t> a = device.view();
  a.space = memory_space::host;
  refused("A is said to be in host memory", [&] { spmv_plan<double>(context::cpu(), a); });
  refused("A is said to be in host memory", [&] { spgemm(context::cpu(), a, host); });
  const std::vector<double> x(static_cast<std::size_t>(host.cols));
  std::vector<double> y(static_cast<std::size_t>(host.rows));
  const buffer<double> device_x = to_buffer(ctx(), x);
  const host_span<const double> said_host(device_x.data(), device_x.size());
  refused("x is said to be in host memory", [&] { multiply(context::cpu(), host, said_host, y); });

  int reads_all = 0;  // where kernels read what malloc gave, host memory is right
  ASSERT_EQ(cudaDeviceGetAttribute(&reads_all, cudaDevAttrPageableMemoryAccess, ctx().device()), cudaSuccess);
  if (reads_all != 0) return;
  a = host.view();
  a.space = memory_space::device;
  refused("A is said to be in device memory", [&] { spmv_plan<double>(ctx(), a); });
  const device_span<const double> said_device(x.data(), x.size());
  buffer<double> device_y(ctx(), y.size());
  refused("x is said to be in device memory", [&] { multiply(ctx(), device, said_device, device_y); });
}

TEST_F(cuda_runtime_test, everything_is_given_back) {
  const cuda_counts before = counts();
  {
    const context ctx = context::cuda();
    const buffer<std::int32_t> a = to_buffer(ctx, numbers(1000));
    const context copy = ctx;
    buffer<std::int32_t> b = clone(copy, a);
    b = buffer<std::int32_t>(ctx, 10);
    EXPECT_EQ(counts().live_allocations(), before.live_allocations() + 2);
    EXPECT_EQ(counts().live_streams(), before.live_streams() + 1);
  }
  EXPECT_EQ(counts().live_allocations(), before.live_allocations());
  EXPECT_EQ(counts().live_streams(), before.live_streams());
}

TEST_F(cuda_runtime_test, a_buffer_outlives_the_context_that_made_it) {
  std::optional<buffer<std::int32_t>> kept;
  {
    const context ctx = context::cuda();
    kept = to_buffer(ctx, numbers(50));
  }
  const context other = context::cuda();
  EXPECT_EQ(to_vector(other, *kept), numbers(50));
}

TEST_F(cuda_runtime_test, a_borrowed_stream_is_not_destroyed) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const std::int64_t destroyed = counts().streams_destroyed;
  {
    const context ctx = context::cuda(0, stream_view{stream});
    EXPECT_EQ(ctx.stream().native, stream);
    EXPECT_EQ(to_vector(ctx, to_buffer(ctx, numbers(10))), numbers(10));
  }
  EXPECT_EQ(counts().streams_destroyed, destroyed);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(cuda_runtime_test, what_cannot_be_captured_is_refused_and_the_stream_stays_usable) {
  const auto capture = [&](const std::function<void()>& work) { cuda_runtime()->capture(0, ctx().stream(), work); };
  EXPECT_THROW(capture([&] { ctx().synchronize(); }), error);
  EXPECT_EQ(status_of([&] { capture([] { throw error(status::overflow, "of its own"); }); }), status::overflow);
  // A failure that the work keeps to itself: the recording is lost all the same.
  EXPECT_EQ(status_of([&] { capture([&] { (void)status_of([&] { ctx().synchronize(); }); }); }), status::unsupported);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(to_vector(ctx(), to_buffer(ctx(), numbers(10))), numbers(10));
}

TEST_F(cuda_runtime_test, measurements_are_positive_and_leave_nothing_behind) {
  const cuda_counts before = counts();
  const bandwidth b = cuda_runtime()->measure_bandwidth(0);
  for (const double measured : {b.read, b.copy, b.triad, cuda_runtime()->measure_launch_latency(0)}) {
    EXPECT_GT(measured, 0);
    EXPECT_TRUE(std::isfinite(measured));
  }
  EXPECT_EQ(counts().live_allocations(), before.live_allocations());
  EXPECT_EQ(counts().live_streams(), before.live_streams());
}

}  // namespace
}  // namespace tulle::test
