// Blocks that are given back and taken again.
#include "core/block_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tulle::test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(BlockCache, SizesComeInSteps) {
  EXPECT_EQ(block_cache::size_for(100), 100U);
  EXPECT_EQ(block_cache::size_for(mib), mib);
  EXPECT_EQ(block_cache::size_for(mib + 1), mib + mib / 8);
  EXPECT_EQ(block_cache::size_for(2 * mib - 1), 2 * mib);
  EXPECT_EQ(block_cache::size_for(block_cache::largest + 1), block_cache::largest + 1);
  for (std::size_t bytes = 1; bytes < 3 * block_cache::largest; bytes += bytes / 3 + 1) {
    const std::size_t size = block_cache::size_for(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size, bytes + bytes / 8 + 1);
    EXPECT_EQ(block_cache::size_for(size), size);
  }
}

TEST(BlockCache, GivesWhatFitsAndNoMoreThanItHas) {
  block_cache cache;
  std::vector<void*> released;
  char memory[4] = {};
  const auto give = [&](int i, std::size_t bytes) {
    cache.give({memory + i, bytes}, [&](const block_cache::block& b) { released.push_back(b.memory); });
  };
  EXPECT_EQ(cache.take(mib), nullptr);
  give(0, mib);
  give(1, 2 * mib);
  give(2, mib);
  EXPECT_EQ(cache.take(3 * mib), nullptr);
  EXPECT_EQ(cache.take(mib), memory + 2);
  EXPECT_EQ(cache.take(mib), memory + 0);
  EXPECT_EQ(cache.take(mib), nullptr);
  give(3, 1000);  // too small to be kept
  EXPECT_EQ(released, (std::vector<void*>{memory + 3}));
}

TEST(BlockCache, KeepsABoundedNumberOfBytes) {
  block_cache cache;
  std::vector<void*> released;
  std::vector<char> memory(300);
  const auto give_all = [&](std::size_t bytes) {
    released.clear();
    for (char& m : memory) cache.give({&m, bytes}, [&](const block_cache::block& b) { released.push_back(b.memory); });
  };
  give_all(block_cache::largest);
  EXPECT_EQ(released.size(), memory.size() - block_cache::most_bytes / block_cache::largest);
  EXPECT_EQ(released.front(), &memory.front());  // the oldest first
  give_all(block_cache::smallest);
  EXPECT_GE(released.size(), memory.size() - 128);
  int left = 0;
  while (cache.take(block_cache::smallest) != nullptr) ++left;
  EXPECT_EQ(left, 128);
}

TEST(BlockCache, GivesAllBackWhenAsked) {
  block_cache cache;
  char memory[2] = {};
  int released = 0;
  const auto count = [&](const block_cache::block&) { ++released; };
  EXPECT_FALSE(cache.clear(count));
  cache.give({memory, mib}, count);
  cache.give({memory + 1, 2 * mib}, count);
  EXPECT_TRUE(cache.clear(count));
  EXPECT_EQ(released, 2);
  EXPECT_EQ(cache.take(mib), nullptr);
}

}  // namespace
}  // namespace tulle::test
