// cuSPARSE is looked up at run time. Needs the library, no GPU.
#include "cuda/spmv/cusparse_calls.hpp"
#include "support/errors.hpp"

namespace tulle::cuda {
namespace {

using test::error_of;

TEST(Cusparse, HasEveryFunctionThatIsCalled) { EXPECT_NO_THROW(static_cast<void>(cusparse())); }

TEST(Cusparse, ALibraryThatIsMissingIsNamed) {
  const char* const names[] = {"libno_such_library.so.12", "/nowhere/libno_such_library.so.12"};
  const std::string said = error_of([&] { open_library(names); });
  EXPECT_TRUE(said.starts_with("UNSUPPORTED: libno_such_library.so.12 was not found")) << said;
}

TEST(Cusparse, AFunctionThatIsMissingIsNamed) {
  test::expect_error(status::unsupported, "cusparseNoSuchFunction",
                     [] { find_function(cusparse().library, "cusparseNoSuchFunction"); });
}

TEST(Cusparse, AFailureNamesTheCallAndItsCause) {
  const std::string said = test::failure_of([] { cusparse().create(nullptr); }).second;
  EXPECT_TRUE(said.starts_with("cusparseCreate: CUSPARSE_STATUS_")) << said;
}

}  // namespace
}  // namespace tulle::cuda
