// Pinned memory, memory that knows its device, and copies between the spaces.
#include "support/plain_csr.hpp"
#include "vector_fixture.hpp"

namespace tulle::test {
namespace {

class memory_test : public vector_fixture {};
TULLE_ON_VECTORS(memory_test);

/// Host memory that says whose it is.
class memory_of_device final : public memory_resource {
 public:
  memory_of_device(memory_space space, int device) : space_(space), device_(device) {}
  void* allocate(std::size_t bytes, stream_view stream) override { return host_memory()->allocate(bytes, stream); }
  void deallocate(void* p, std::size_t bytes, stream_view stream) noexcept override {
    host_memory()->deallocate(p, bytes, stream);
  }
  [[nodiscard]] memory_space space() const noexcept override { return space_; }
  [[nodiscard]] int device() const noexcept override { return device_; }

 private:
  memory_space space_;
  int device_;
};

TEST_P(memory_test, pinned_memory_is_host_memory_that_is_copied_like_any_other) {
  const auto pinned = pinned_memory();
  ASSERT_EQ(pinned->space(), memory_space::host);
  const context cpu = context::cpu(1).with_memory(pinned);
  buffer<double> staged(cpu, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(staged.data()) % 64, 0u);
  vector_ops(cpu).random(1, staged);
  const auto x = clone(ctx(), staged);
  EXPECT_EQ(host(x), host(random<double>(1, 1000)));
}

TEST_P(memory_test, a_context_refuses_memory_of_another_device) {
  const int device = ctx().device();
  EXPECT_EQ(ctx().memory().device(), device);
  (void)ctx().with_memory(std::make_shared<memory_of_device>(ctx().space(), device));
  (void)ctx().with_memory(std::make_shared<memory_of_device>(ctx().space(), -1));
  EXPECT_EQ(error_of([&] { (void)ctx().with_memory(std::make_shared<memory_of_device>(ctx().space(), 7)); }),
            "INVALID_ARGUMENT: with_memory: memory of device 7 for a context of device " + std::to_string(device));
}

TEST_P(memory_test, clone_goes_to_the_host_from_wherever_the_data_is) {
  const context cpu = context::cpu(1);
  constexpr std::size_t n = 5000001;
  buffer<double> x(ctx(), n);
  for (int round = 0; round <= 20; ++round) ops_.fill(round, x);  // still queued when the copy is asked for
  const buffer<double> copy = clone(cpu, x);
  ASSERT_EQ(copy.space(), memory_space::host);
  EXPECT_EQ(to_vector(cpu, copy), std::vector<double>(n, 20));
  EXPECT_EQ(to_vector(cpu, x), std::vector<double>(n, 20));

  const csr<double> made = generate<double>(cpu, "gen:stencil:points=5,nx=30,ny=20");
  const csr<double> a = clone(ctx(), made.view());
  ASSERT_EQ(a.values.space(), ctx().space());
  const csr<double> b = clone(cpu, a.view());
  ASSERT_EQ(b.values.space(), memory_space::host);
  EXPECT_TRUE(same_bits(plain(b), plain(ctx(), a)));
}

TEST_P(memory_test, what_is_said_to_be_device_memory_and_is_not_is_refused) {
  const context cpu = context::cpu(1);
  std::vector<double> a(10), b(10);
  const std::string found = error_of(
      [&] { copy_bytes(cpu, a.data(), memory_space::host, b.data(), memory_space::device, 10 * sizeof(double)); });
  const bool is_built = cuda_unavailable_reason().find("built without CUDA") == std::string::npos;
  EXPECT_EQ(found, is_built ? "INVALID_ARGUMENT: what is said to be device memory belongs to no device"
                            : "UNSUPPORTED: device memory cannot be copied: this tulle was built without CUDA");
}

}  // namespace
}  // namespace tulle::test
