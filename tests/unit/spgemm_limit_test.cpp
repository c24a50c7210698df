// Memory limits of C = A B and of R A P, from too small to ample: what is held stays below, and the bits are the same.
#include <atomic>
#include <memory>

#include "spgemm_oracle.hpp"

namespace tulle {
namespace {

using namespace test;

/// Host memory that knows how much of it was live at most.
class watched_memory final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, stream_view stream) override {
    live_ += bytes;
    most_ = std::max<std::size_t>(most_, live_);
    return host_memory()->allocate(bytes, stream);
  }
  void deallocate(void* p, std::size_t bytes, stream_view stream) noexcept override {
    live_ -= bytes;
    host_memory()->deallocate(p, bytes, stream);
  }
  [[nodiscard]] memory_space space() const noexcept override { return memory_space::host; }
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::size_t live() const { return live_; }

 private:
  std::atomic<std::size_t> live_ = 0, most_ = 0;
};

template <class T>
std::size_t bytes_of(const any_csr<T>& c) {
  return std::visit([](const auto& m) { return m.rowptr.bytes() + m.colind.bytes() + m.values.bytes(); }, c);
}

class SpgemmLimit : public ::testing::Test {
 protected:
  context ctx = context::cpu(2);
  csr<double, std::int32_t> a = random_sparse<double, std::int32_t>(700, 600, 6, 1).owned(ctx);
  csr<double, std::int32_t> b = random_sparse<double, std::int32_t>(600, 900, 7, 2).owned(ctx);
};

TEST_F(SpgemmLimit, SameBitsUnderEveryLimitThatCanBeKept) {
  for (const char* kernel : {"default", "kernel0"}) {
    SCOPED_TRACE(kernel);
    const spgemm_estimate e = estimate_spgemm(ctx, a, b, {.kernel = kernel});
    ASSERT_LT(e.least_memory_limit, e.workspace_bytes);
    const any_csr<double> whole = spgemm(ctx, a, b, {.kernel = kernel});
    const std::size_t least = e.least_memory_limit, all = e.workspace_bytes;
    for (const std::size_t limit : {least, least + 1, (least + all) / 2, all - 1, all, 10 * all}) {
      SCOPED_TRACE(limit);
      const auto memory = std::make_shared<watched_memory>();
      {
        spgemm_plan<double> plan(ctx.with_memory(memory), a.view(), b.view(),
                                 {.kernel = kernel, .memory_limit = limit});
        any_csr<double> c = plan.multiply();
        EXPECT_TRUE(same_bits(c, whole));
        EXPECT_LE(memory->most() - bytes_of(c), limit);
        EXPECT_EQ(plan.explain().find("panels") != std::string::npos, limit < all) << plan.explain();
        plan.numeric(c);
        EXPECT_TRUE(same_bits(c, whole));
      }
      EXPECT_EQ(memory->live(), 0u);
    }
    for (const std::size_t limit : {std::size_t{1}, least - 1}) {
      const auto [code, message] = failure_of([&] { spgemm(ctx, a, b, {.kernel = kernel, .memory_limit = limit}); });
      EXPECT_EQ(code, status::out_of_memory);
      EXPECT_NE(message.find("less than " + std::to_string(least) + " bytes"), std::string::npos) << message;
    }
  }
}

TEST_F(SpgemmLimit, WithMaskAndD) {
  const auto mask = random_sparse<double, std::int32_t>(700, 900, 40, 3),
             d = random_sparse<double, std::int32_t>(700, 900, 5, 4);
  for (int which = 1; which < 4; ++which) {
    SCOPED_TRACE(which);
    spgemm_terms<double, std::int32_t> terms;
    if (which & 1) terms.mask = mask.view();
    if (which & 2) terms.d = d.view();
    const any_csr<double> whole =
        spgemm_plan<double>(ctx, a.view(), b.view(), {}, terms).multiply(2, which & 2 ? 3 : 0);
    const auto with_limit = [&](std::size_t limit) {
      return spgemm_plan<double>(ctx, a.view(), b.view(), {.memory_limit = limit}, terms);
    };
    const auto [code, message] = failure_of([&] { with_limit(1).multiply(); });
    EXPECT_EQ(code, status::out_of_memory);
    const std::size_t least = std::stoul(message.substr(message.find("less than ") + 10));
    EXPECT_EQ(failure_of([&] { with_limit(least - 1).multiply(); }).first, status::out_of_memory);
    for (const std::size_t limit : {least, least + 999, 10 * least}) {
      auto plan = with_limit(limit);
      any_csr<double> c = plan.multiply(2, which & 2 ? 3 : 0);
      EXPECT_TRUE(same_bits(c, whole));
      any_csr<double> again = plan.multiply();
      plan.numeric(again, 2, which & 2 ? 3 : 0);
      EXPECT_TRUE(same_bits(again, whole));
    }
  }
}

TEST_F(SpgemmLimit, TripleProduct) {
  const auto p = random_sparse<double, std::int32_t>(900, 80, 2, 5).owned(ctx);
  const any_csr<double> whole = triple_product(ctx, a, b, p);
  const auto [code, message] = failure_of([&] { triple_product(ctx, a, b, p, {.memory_limit = 1}); });
  EXPECT_EQ(code, status::out_of_memory);
  const std::size_t least = std::stoul(message.substr(message.find("less than ") + 10));
  EXPECT_EQ(failure_of([&] { triple_product(ctx, a, b, p, {.memory_limit = least - 1}); }).first,
            status::out_of_memory);
  for (const std::size_t limit : {least, least + least / 3, 2 * least, 100 * least}) {
    SCOPED_TRACE(limit);
    const auto memory = std::make_shared<watched_memory>();
    const any_csr<double> c = triple_product(ctx.with_memory(memory), a, b, p, {.memory_limit = limit});
    EXPECT_TRUE(same_bits(c, whole));
    EXPECT_LE(memory->most() - bytes_of(c), limit);
  }
}

}  // namespace
}  // namespace tulle
