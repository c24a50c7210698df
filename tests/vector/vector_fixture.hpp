// One suite on every backend, the CPU with one thread and with three, and the vectors that the tests make there.
#pragma once

#include <tulle/tulle.hpp>
#include <vector>

#include "support/backends.hpp"
#include "support/errors.hpp"

namespace tulle::test {

class vector_fixture : public on_backend {
 protected:
  /// A vector of the backend with these elements.
  template <class T>
  buffer<T> on(const std::vector<T>& from) {
    return to_buffer(ctx(), from);
  }
  template <class T>
  std::vector<T> host(const buffer<T>& from) {
    return to_vector(ctx(), from);
  }
  template <class T>
  buffer<T> random(std::uint64_t seed, std::size_t n) {
    buffer<T> x(ctx(), n);
    ops_.random(seed, x);
    return x;
  }

  const vector_ops ops_{ctx()};
};

#define TULLE_ON_VECTORS(suite) TULLE_ON_BACKENDS(suite, "cpu1", "cpu3", "cuda")

}  // namespace tulle::test
