// Statuses, spans, buffers, contexts and their memory.
#include <tulle/tulle.hpp>
#include <type_traits>

#include "support/counting_memory.hpp"
#include "support/errors.hpp"

namespace tulle::test {
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

TEST(Context, CudaIsBestWhereThereIsADeviceAndElseSaysWhyNot) {
  const bool has_device = cuda_device_count() > 0;
  EXPECT_EQ(context::best().backend(), has_device ? backend_kind::cuda : backend_kind::cpu);
  EXPECT_EQ(cuda_unavailable_reason().empty(), has_device);
  const auto [code, message] = failure_of([] { context::cuda(cuda_device_count()); });
  EXPECT_EQ(code, has_device ? status::invalid_argument : status::unsupported);
  EXPECT_TRUE(has_device || message == cuda_unavailable_reason()) << message;
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
  EXPECT_EQ(status_of([&] { buffer<double>(ctx, std::size_t{1} << 62); }), status::overflow);
  EXPECT_EQ(status_of([&] { buffer<double>(ctx, std::size_t{1} << 58); }), status::out_of_memory);
}

TEST(Buffer, ComesFromTheContextsMemoryAndGoesBackThere) {
  const auto memory = std::make_shared<counting_memory>(context::cpu(1));
  const auto ctx = context::cpu(1).with_memory(memory);
  {
    buffer<double> a(ctx, 10);
    EXPECT_EQ(memory->now(), 80u);
    a = buffer<double>(ctx, 4);
    EXPECT_EQ(memory->now(), 32u);
    const buffer<double> none(ctx, 0);
    EXPECT_EQ(memory->now(), 32u);
  }
  EXPECT_EQ(memory->now(), 0u);
  EXPECT_THROW((void)ctx.with_memory(nullptr), error);
}

TEST(PeakMemory, RemembersThePeak) {
  const context base = context::cpu(1);
  const auto memory = std::make_shared<peak_memory>(base);
  const context ctx = base.with_memory(memory);
  const buffer<char> before(ctx, 1000);
  memory->restart();
  { const buffer<char> first(ctx, 100), second(ctx, 50); }
  const buffer<char> result(ctx, 500);
  { const buffer<char> third(ctx, 70); }
  EXPECT_EQ(memory->peak(), 570u);
  EXPECT_EQ(memory->now(), 1500u);
  EXPECT_EQ(memory->allocations(), 5u);
  const void* left_out[] = {result.data()};
  EXPECT_EQ(memory->peak(left_out), 150u) << "what is kept does not hide what was there before it";
  memory->restart();
  EXPECT_EQ(memory->peak(), 0u);
}

}  // namespace
}  // namespace tulle::test
