// cuSPARSE is looked up at run time. Needs the library, no GPU.
#include "cuda/spmv/cusparse_calls.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tulle/core/status.hpp>

namespace tulle::cuda {
namespace {

TEST(Cusparse, HasEveryFunctionThatIsCalled) { EXPECT_NO_THROW(static_cast<void>(cusparse())); }

TEST(Cusparse, ALibraryThatIsMissingIsNamed) {
  const char* const names[] = {"libno_such_library.so.12", "/nowhere/libno_such_library.so.12"};
  try {
    open_library(names);
    FAIL() << "found";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::unsupported);
    EXPECT_TRUE(std::string(e.what()).starts_with("libno_such_library.so.12 was not found")) << e.what();
  }
}

TEST(Cusparse, AFunctionThatIsMissingIsNamed) {
  try {
    find_function(cusparse().library, "cusparseNoSuchFunction");
    FAIL() << "found";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::unsupported);
    EXPECT_NE(std::string(e.what()).find("cusparseNoSuchFunction"), std::string::npos) << e.what();
  }
}

TEST(Cusparse, AFailureNamesTheCallAndItsCause) {
  try {
    cusparse().create(nullptr);
    FAIL() << "accepted";
  } catch (const error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("cusparseCreate: CUSPARSE_STATUS_")) << e.what();
  }
}

}  // namespace
}  // namespace tulle::cuda
