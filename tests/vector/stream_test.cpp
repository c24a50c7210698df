// Streams, events and graphs.
#include <cmath>

#include "vector_fixture.hpp"

namespace tulle::test {
namespace {

class stream_test : public vector_fixture {};
TULLE_ON_VECTORS(stream_test);

constexpr std::size_t many = std::size_t{1} << 24;

TEST_P(stream_test, work_of_another_stream_is_ordered_by_an_event) {
  const stream other(ctx());
  event written(ctx());
  buffer<double> x(ctx(), many), y(ctx(), many), result(ctx(), 1);
  ctx().synchronize();  // the memory is there for both streams
  for (int round = 0; round < 20; ++round) ops_.fill(round, x, other);
  written.record(other);
  written.make_wait(ctx().stream());
  ops_.copy(x, y);
  ops_.dot(x, y, result);
  EXPECT_EQ(host(result)[0], 19.0 * 19.0 * static_cast<double>(many));
  EXPECT_TRUE(written.is_done());
  other.synchronize();
}

TEST_P(stream_test, events_tell_the_time_between_two_points) {
  event begin(ctx()), end(ctx());
  buffer<double> x(ctx(), many);
  begin.record(ctx().stream());
  ops_.random(1, x);
  end.record(ctx().stream());
  end.synchronize();
  EXPECT_TRUE(end.is_done());
  const double once = end.microseconds_since(begin);
  EXPECT_GT(once, 0);
  EXPECT_TRUE(std::isfinite(once));
  EXPECT_EQ(end.microseconds_since(begin), once);
  EXPECT_LE(begin.microseconds_since(end), 0);
  const event never(ctx());
  EXPECT_EQ(error_of([&] { (void)end.microseconds_since(never); }).substr(0, 17), "INVALID_ARGUMENT:");
}

TEST_P(stream_test, a_graph_runs_what_was_captured) {
  auto x = on<double>({1, 2, 3});
  const auto one = on<double>({1, 1, 1});
  buffer<double> dots(ctx(), 2);
  auto bits = on<std::int32_t>({0});
  const auto work = [&] {
    fill_bytes(ctx(), bits.data(), bits.space(), 0xff, bits.bytes());
    ops_.axpby_dots(1, one, 1, x, one, dots);
  };
  if (ctx().backend() == backend_kind::cpu) {
    EXPECT_EQ(error_of([&] { graph(ctx(), work); }),
              "UNSUPPORTED: a graph needs a device: the CPU has no streams to capture");
    return;
  }
  const graph g(ctx(), work);
  EXPECT_EQ(host(x), (std::vector<double>{1, 2, 3})) << "capturing is not running";
  EXPECT_EQ(host(bits)[0], 0) << "capturing is not running";
  g.launch();
  g.launch();
  EXPECT_EQ(host(x), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(host(dots), (std::vector<double>{12, 50}));
  EXPECT_EQ(host(bits)[0], -1);
  EXPECT_EQ(error_of([&] { graph(ctx(), [&] { ctx().synchronize(); }); }).substr(0, 12), "UNSUPPORTED:");
  g.launch();  // the stream is still usable
  EXPECT_EQ(host(dots)[0], 15);
}

}  // namespace
}  // namespace tulle::test
