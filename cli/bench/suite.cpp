#include "suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tulle/core/status.hpp>

namespace tulle::cli::bench {

std::vector<case_name> suite(std::string_view name) {
  if (name == "peers") {
    return {
        {"stencil27-200", "gen:stencil:points=27,n=200"},
        {"stencil7-256", "gen:stencil:points=7,n=256"},
        {"fem3-80", "gen:fem:dof=3,n=80"},
        {"stencil7-100", "gen:stencil:points=7,n=100"},
        {"fem3-20", "gen:fem:dof=3,n=20"},
        {"uniform-4M", "gen:uniform:n=4194304,degree=16"},
        {"rmat-22", "gen:rmat:scale=22,degree=16"},
        {"rmat-18", "gen:rmat:scale=18,degree=16"},
        {"short-8M", "gen:short:n=8388608"},
        {"corner-1M", "gen:corner:n=1048576,size=8192"},
        {"arrow-2M", "gen:arrow:n=2097152,dense=16"},
    };
  }
  if (name == "peers-small") {
    return {
        {"stencil27-50", "gen:stencil:points=27,n=50"},
        {"stencil7-64", "gen:stencil:points=7,n=64"},
        {"fem3-19", "gen:fem:dof=3,n=19"},
        {"stencil7-25", "gen:stencil:points=7,n=25"},
        {"fem3-5", "gen:fem:dof=3,n=5"},
        {"uniform-64k", "gen:uniform:n=65536,degree=16"},
        {"rmat-16", "gen:rmat:scale=16,degree=16"},
        {"rmat-12", "gen:rmat:scale=12,degree=16"},
        {"short-128k", "gen:short:n=131072"},
        {"corner-16k", "gen:corner:n=16384,size=1024"},
        {"arrow-32k", "gen:arrow:n=32768,dense=16"},
    };
  }
  if (name == "squares") {
    return {
        {"stencil7-128", "gen:stencil:points=7,n=128"}, {"stencil27-64", "gen:stencil:points=27,n=64"},
        {"fem3-30", "gen:fem:dof=3,n=30"},              {"uniform-1M", "gen:uniform:n=1048576,degree=8"},
        {"rmat-16", "gen:rmat:scale=16,degree=8"},      {"short-4M", "gen:short:n=4194304"},
    };
  }
  if (name == "squares-small") {
    return {
        {"stencil7-32", "gen:stencil:points=7,n=32"},  {"stencil27-16", "gen:stencil:points=27,n=16"},
        {"fem3-8", "gen:fem:dof=3,n=8"},               {"uniform-16k", "gen:uniform:n=16384,degree=8"},
        {"rmat-12", "gen:rmat:scale=12,degree=8"},     {"short-64k", "gen:short:n=65536"},
    };
  }
  throw error(status::invalid_argument,
              fmt::format("no suite '{}'; there are: {}", name, fmt::join(suite_names(), ", ")));
}

std::vector<std::string> suite_names() { return {"peers", "peers-small", "squares", "squares-small"}; }

std::vector<case_name> cases(const std::string& suite_name, const std::vector<std::string>& matrices) {
  std::vector<case_name> all;
  if (!suite_name.empty()) all = suite(suite_name);
  for (const std::string& m : matrices) all.push_back({"", m});
  return all;
}

}  // namespace tulle::cli::bench
