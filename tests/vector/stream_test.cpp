// Streams, events and graphs.
#include "backends.hpp"

namespace tulle::test {
namespace {

class stream_test : public backends_test {};

INSTANTIATE_TEST_SUITE_P(backends, stream_test, every_backend(), backend_name);

constexpr std::size_t many = std::size_t{1} << 24;

TEST_P(stream_test, work_of_another_stream_is_ordered_by_an_event) {
  const stream other(*ctx_);
  event written(*ctx_);
  buffer<double> x(*ctx_, many), y(*ctx_, many), result(*ctx_, 1);
  ctx_->synchronize();  // the memory is there for both streams
  for (int round = 0; round < 20; ++round) ops_->fill(round, x, other);
  written.record(other);
  written.make_wait(ctx_->stream());
  ops_->copy(x, y);
  ops_->dot(x, y, result);
  EXPECT_EQ(host(result)[0], 19.0 * 19.0 * static_cast<double>(many));
  EXPECT_TRUE(written.is_done());
  other.synchronize();
}

TEST_P(stream_test, events_tell_the_time_between_two_points) {
  event begin(*ctx_), end(*ctx_);
  buffer<double> x(*ctx_, many);
  begin.record(ctx_->stream());
  ops_->random(1, x);
  end.record(ctx_->stream());
  end.synchronize();
  EXPECT_TRUE(end.is_done());
  EXPECT_GT(end.microseconds_since(begin), 0);
  EXPECT_LE(begin.microseconds_since(end), 0);
  const event never(*ctx_);
  EXPECT_EQ(error_of([&] { (void)end.microseconds_since(never); }).substr(0, 17), "INVALID_ARGUMENT:");
}

TEST_P(stream_test, a_graph_runs_what_was_captured) {
  auto x = on<double>({1, 2, 3});
  const auto one = on<double>({1, 1, 1});
  buffer<double> dots(*ctx_, 2);
  const auto work = [&] { ops_->axpby_dots(1, one, 1, x, one, dots); };
  if (ctx_->backend() == backend_kind::cpu) {
    EXPECT_EQ(error_of([&] { graph(*ctx_, work); }),
              "UNSUPPORTED: a graph needs a device: the CPU has no streams to capture");
    return;
  }
  const graph g(*ctx_, work);
  EXPECT_EQ(host(x), (std::vector<double>{1, 2, 3})) << "capturing is not running";
  g.launch();
  g.launch();
  EXPECT_EQ(host(x), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(host(dots), (std::vector<double>{12, 50}));
  EXPECT_EQ(error_of([&] { graph(*ctx_, [&] { ctx_->synchronize(); }); }).substr(0, 12), "UNSUPPORTED:");
  g.launch();  // the stream is still usable
  EXPECT_EQ(host(dots)[0], 15);
}

}  // namespace
}  // namespace tulle::test
