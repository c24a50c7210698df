// Statuses, messages and the version, as C sees them.
#include <thread>
#include <tulle/core/status.hpp>
#include <tulle/version.hpp>

#include "handles.hpp"

extern "C" const char* name_of_a_status_that_c_made_up(int number);

namespace tulle::test {
namespace {

TEST(capi_status, names_and_numbers_are_those_of_the_cpp_api) {
  for (int number = TULLE_STATUS_SUCCESS; number <= TULLE_STATUS_INTERNAL; ++number) {
    EXPECT_EQ(tulle_status_name(static_cast<tulle_status>(number)), name(static_cast<status>(number)));
  }
  EXPECT_STREQ(tulle_status_name(TULLE_STATUS_SUCCESS), "SUCCESS");
  EXPECT_STREQ(tulle_status_name(TULLE_STATUS_INVALID_STRUCTURE), "INVALID_STRUCTURE");
  EXPECT_STREQ(tulle_status_name(TULLE_STATUS_INTERNAL), "INTERNAL");
}

TEST(capi_status, an_unknown_number_has_a_name_too) {
  EXPECT_STREQ(name_of_a_status_that_c_made_up(TULLE_STATUS_INTERNAL + 1), "UNKNOWN");
  EXPECT_STREQ(name_of_a_status_that_c_made_up(-1), "UNKNOWN");
}

TEST(capi_status, the_version_is_the_librarys) { EXPECT_STREQ(tulle_version(), TULLE_VERSION_STRING); }

TEST(capi_status, the_last_message_belongs_to_the_thread) {
  EXPECT_EQ(tulle_context_create_cpu(-3, nullptr), TULLE_STATUS_NULL_POINTER);
  const std::string mine = tulle_last_error_message();
  std::string before, after;
  std::thread([&] {
    before = tulle_last_error_message();
    tulle_buffer_data(nullptr, nullptr);
    after = tulle_last_error_message();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "buffer is NULL");
  EXPECT_EQ(tulle_last_error_message(), mine);
}

TEST(capi_status, a_long_message_is_cut_not_overrun) {
  const context_handle context = cpu_context();
  const std::string path(100'000, 'x');
  tulle_csr* matrix = nullptr;
  EXPECT_NE(tulle_csr_read_matrix_market(context.get(), path.c_str(), TULLE_F64, &matrix), TULLE_STATUS_SUCCESS);
  EXPECT_LT(std::string(tulle_last_error_message()).size(), path.size());
}

TEST(capi_status, cuda_contexts_exist_or_say_why_not) {
  tulle_context* context = nullptr;
  const tulle_status status = tulle_context_create_cuda(0, &context);
  const context_handle owner(context);
  if (status == TULLE_STATUS_SUCCESS) {
    EXPECT_EQ(got<tulle_memory_space>(tulle_context_space, owner), TULLE_DEVICE);
  } else {
    EXPECT_EQ(status, TULLE_STATUS_UNSUPPORTED);
    EXPECT_EQ(context, nullptr);
    EXPECT_STRNE(tulle_last_error_message(), "");
  }
}

}  // namespace
}  // namespace tulle::test
