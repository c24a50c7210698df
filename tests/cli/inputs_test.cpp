// What is not there is found before anything is read.
#include "common/inputs.hpp"

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace tulle::cli {
namespace {

TEST(Inputs, AreFilesGeneratorsOrStandardInput) {
  EXPECT_NO_THROW(check_inputs({}));
  EXPECT_NO_THROW(check_inputs({"-", "gen:stencil:n=3", "/dev/null"}));
  EXPECT_EQ(test::status_of([] { check_inputs({"gen:diagonal:n=3", "/no/such/file"}); }), status::file_io);
  EXPECT_EQ(test::status_of([] { check_inputs({"/tmp"}); }), status::file_io);
  for (const char* spec : {"gen:nothing", "gen:stencil:m=3", "gen:stencil:n", "gen:stencil:values=odd"}) {
    EXPECT_EQ(test::status_of([&] { check_inputs({spec}); }), status::invalid_argument) << spec;
  }
}

TEST(Inputs, AllThatAreMissingAreNamed) {
  try {
    check_inputs({"/no/a.mtx", "gen:stencil", "gen:nothing"});
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), status::file_io);
    EXPECT_NE(std::string(e.what()).find("/no/a.mtx: No such file or directory; no generator is called 'nothing'"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace tulle::cli
