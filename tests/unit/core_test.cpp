// Statuses, spans, buffers, contexts.
#include <type_traits>

#include <gtest/gtest.h>

#include <tulle/tulle.hpp>

namespace tulle {
namespace {

static_assert(!std::is_convertible_v<host_span<double>, device_span<double>>);
static_assert(!std::is_convertible_v<device_span<double>, host_span<double>>);
static_assert(std::is_convertible_v<device_span<double>, device_span<const double>>);
static_assert(!std::is_convertible_v<device_span<const double>, device_span<double>>);
static_assert(std::is_convertible_v<std::vector<float>&, host_span<float>>);
static_assert(!std::is_convertible_v<const std::vector<float>&, host_span<float>>);
static_assert(!std::is_convertible_v<std::vector<float>&, device_span<float>>);
static_assert(!std::is_copy_constructible_v<buffer<double>>);
static_assert(std::is_nothrow_move_constructible_v<buffer<double>>);
static_assert(std::is_trivially_copyable_v<csr_view<double, std::int64_t>>);
static_assert(std::is_trivially_copyable_v<bsr_view<float, std::int32_t>>);

TEST(Status, EveryCodeHasItsName) {
  EXPECT_EQ(name(status::success), "SUCCESS");
  EXPECT_EQ(name(status::device_out_of_memory), "DEVICE_OUT_OF_MEMORY");
  EXPECT_EQ(name(status::internal), "INTERNAL");
  EXPECT_EQ(name(data_status::unsorted), "UNSORTED");
  EXPECT_EQ(name(static_cast<status>(99)), "UNKNOWN");
}

TEST(Context, CpuHasTheThreadsAskedFor) {
  EXPECT_EQ(context::cpu(3).threads(), 3);
  EXPECT_GE(context::cpu().threads(), 1);
  EXPECT_EQ(context::cpu().space(), memory_space::host);
  EXPECT_THROW(context::cpu(-1), error);
}

TEST(Context, CudaWithoutADeviceSaysWhy) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_FALSE(cuda_unavailable_reason().empty());
  try {
    context::cuda();
    FAIL() << "a context on no device";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::unsupported);
    EXPECT_EQ(e.what(), cuda_unavailable_reason());
  }
  EXPECT_EQ(context::best().backend(), backend_kind::cpu);
}

TEST(Context, CudaDeviceOutOfRangeIsNamed) {
  if (cuda_device_count() == 0) GTEST_SKIP() << cuda_unavailable_reason();
  EXPECT_THROW(context::cuda(cuda_device_count()), error);
  EXPECT_EQ(context::best().backend(), backend_kind::cuda);
}

TEST(Buffer, MovesItsElementsAndIsEmptyAfterwards) {
  const auto ctx = context::cpu(1);
  auto a = to_buffer(ctx, std::vector<int>{1, 2, 3});
  const int* where = a.data();
  const buffer<int> b = std::move(a);
  EXPECT_EQ(b.data(), where);
  EXPECT_EQ(a.size(), 0u);  // NOLINT: a moved-from buffer is empty
  EXPECT_EQ(a.space(), memory_space::host);
  EXPECT_EQ(to_vector(ctx, b), (std::vector<int>{1, 2, 3}));
}

TEST(Buffer, RefusesSizesThatDoNotFit) {
  const auto ctx = context::cpu(1);
  try {
    buffer<double> too_large(ctx, std::size_t{1} << 62);
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::overflow);
  }
  try {
    buffer<double> too_large(ctx, std::size_t{1} << 58);
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::out_of_memory);
  }
}

/// Counts what is allocated and given back.
class counting_resource final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, stream_view s) override {
    live += static_cast<std::ptrdiff_t>(bytes);
    return host_memory()->allocate(bytes, s);
  }
  void deallocate(void* p, std::size_t bytes, stream_view s) noexcept override {
    live -= static_cast<std::ptrdiff_t>(bytes);
    host_memory()->deallocate(p, bytes, s);
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }
  std::ptrdiff_t live = 0;
};

TEST(Buffer, ComesFromTheContextsMemoryAndGoesBackThere) {
  const auto memory = std::make_shared<counting_resource>();
  const auto ctx = context::cpu(1).with_memory(memory);
  {
    buffer<double> a(ctx, 10);
    EXPECT_EQ(memory->live, 80);
    a = buffer<double>(ctx, 4);
    EXPECT_EQ(memory->live, 32);
    const buffer<double> none(ctx, 0);
    EXPECT_EQ(memory->live, 32);
  }
  EXPECT_EQ(memory->live, 0);
  EXPECT_THROW((void)ctx.with_memory(nullptr), error);
}

}  // namespace
}  // namespace tulle
