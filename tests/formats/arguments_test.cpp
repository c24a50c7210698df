// What the conversions refuse, and that the message says what was wrong.

#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

class refusing : public on_backend {
 protected:
  csr<double, std::int32_t> a = upload<double, std::int32_t>(ctx(), battery_matrix_named("unsorted"));
};
TULLE_ON_BACKENDS(refusing, "cpu1", "cpu2", "cpu5", "cuda");

TEST_P(refusing, sigma_is_1_or_a_multiple_of_32) {
  for (const index_t sigma : {-32, -1, 0, 2, 31, 33}) {
    EXPECT_EQ(status_of([&] { to_sell(ctx(), a.view(), sigma); }), status::invalid_argument) << sigma;
  }
}

TEST_P(refusing, block_is_2_to_8) {
  for (const index_t block : {-1, 0, 1, 9}) {
    EXPECT_EQ(status_of([&] { to_bsr(ctx(), a.view(), block); }), status::invalid_argument) << block;
  }
}

TEST_P(refusing, ell_refuses_a_matrix_that_is_mostly_padding) {
  const auto padded = clone(ctx(), generate<double>(context::cpu(1), "gen:arrow:n=2000,dense=1").view());
  expect_error(status::invalid_argument, "2000 rows", [&] { to_ell(ctx(), padded.view()); });
  EXPECT_EQ(to_ell(ctx(), padded.view(), 1e9).width, 2000);
}

TEST_P(refusing, missing_arrays_are_named) {
  expect_error(status::null_pointer, "rowptr", [&] { to_coo(ctx(), csr_view<double, std::int32_t>()); });
  csr_view<double, std::int32_t> view = a.view();
  view.colind = nullptr;
  expect_error(status::null_pointer, "colind", [&] { statistics(ctx(), view); });
}

TEST_P(refusing, negative_dimensions_are_refused) {
  csr_view<double, std::int32_t> view = a.view();
  view.rows = -1;
  EXPECT_EQ(status_of([&] { validate(ctx(), view); }), status::invalid_dimensions);
}

TEST_P(refusing, entries_that_offsets_cannot_count_are_refused) {
  const auto wide = with_offsets<std::int64_t>(ctx(), a.view());
  csr_view<double, std::int64_t> view = wide.view();
  view.nnz = std::int64_t{1} << 31;  // refused before any of them is read
  EXPECT_EQ(status_of([&] { with_offsets<std::int32_t>(ctx(), view); }), status::overflow);
  coo<double> c = to_coo(ctx(), a.view());
  coo_view<double> entries = c.view();
  entries.nnz = view.nnz;
  EXPECT_EQ(status_of([&] { to_csr<std::int32_t>(ctx(), entries); }), status::overflow);
}

TEST_P(refusing, update_refuses_another_shape) {
  const auto b = upload<double, std::int32_t>(ctx(), battery_matrix_named("duplicates"));
  const auto refuses = [&](auto other) {
    EXPECT_EQ(status_of([&] { update_values(ctx(), b.view(), other); }), status::invalid_dimensions);
  };
  refuses(to_ell(ctx(), a.view()));
  refuses(to_sell(ctx(), a.view()));
  refuses(to_bsr(ctx(), a.view(), 2));
}

TEST(memory_space_check, device_arrays_are_refused_on_the_host) {
  const context host = context::cpu(1);
  const auto a = upload<double, std::int32_t>(host, battery_matrix_named("unsorted"));
  csr_view<double, std::int32_t> view = a.view();
  view.space = memory_space::device;
  expect_error(status::invalid_argument, "device", [&] { to_coo(host, view); });
}

}  // namespace
}  // namespace tulle::test
