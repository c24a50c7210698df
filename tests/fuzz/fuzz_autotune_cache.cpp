// What autotuning finds in its cache: whatever it is, the plan is right, and the cache is again.
// Input: how much of a right entry is left, in 255ths, and what follows it.
#include <algorithm>
#include <vector>

#include "fuzz.hpp"
#include "support/files.hpp"

namespace {

using namespace tulle;
namespace fs = std::filesystem;

struct cache {
  cache() {
    autotune();
    entry = fs::directory_iterator(directory / "autotune")->path();
    right = test::read_file(entry);
  }

  void autotune() {
    spmv_plan<double> plan(ctx, a);
    plan.autotune();
    const auto known = kernels(ctx.backend());
    const auto is_it = [&](const kernel_info& k) {
      return k.name == plan.kernel() && k.role == kernel_role::production;
    };
    fuzz::require(std::ranges::any_of(known, is_it), "no kernel of that name is for choosing");
    std::vector<double> y(4);
    plan.apply(1.0, std::vector<double>{1, 1, 1, 1}, 0.0, y);
    fuzz::require(std::equal(y.begin(), y.end(), a.values.data()), "a wrong product");
  }

  test::temporary_directory directory;
  test::environment_variable variable{"TULLE_CACHE_DIR", directory.path()};
  context ctx = context::cpu(1);
  csr<double> a = generate<double>(ctx, "gen:diagonal:n=4");
  fs::path entry;
  std::string right;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static cache c;
  if (size == 0) return 0;
  const std::string text = c.right.substr(0, c.right.size() * data[0] / 255) +
                           std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  test::write_file(c.entry, text);
  c.autotune();
  const std::string after = test::read_file(c.entry);
  const std::size_t kernel = c.right.rfind('\n', c.right.size() - 2);
  fuzz::require(after.starts_with(c.right.substr(0, kernel)), "the entry was not made good");
  return 0;
}
