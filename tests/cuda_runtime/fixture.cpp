#include "fixture.hpp"

namespace tulle::test {

csr<double> small_matrix() { return generate<double>(context::cpu(), "gen:fem:n=6"); }

std::int64_t launches_of(const std::function<void()>& work) {
  const cuda_counts before = counts();
  work();
  const cuda_counts after = counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.deallocations, before.deallocations);
  EXPECT_EQ(after.synchronizations, before.synchronizations);
  EXPECT_EQ(after.copies, before.copies);
  return after.launches - before.launches;
}

void expect_only_launches(const context& ctx, const std::function<void()>& work) {
  work();  // what is set up once
  ctx.synchronize();
  launches_of(work);
}

}  // namespace tulle::test
