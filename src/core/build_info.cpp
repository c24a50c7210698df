#include <tulle/core/build_info.hpp>
#include <tulle/version.hpp>

namespace tulle {

const build_info& built_from() noexcept {
  static constexpr build_info info{TULLE_VERSION_STRING, TULLE_COMMIT, TULLE_COMPILER, TULLE_FLAGS, TULLE_CUDA_BUILD};
  return info;
}

}  // namespace tulle
