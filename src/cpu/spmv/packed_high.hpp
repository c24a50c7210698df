// y = A' x by the copy of A that `packed` has: A' is A with its values' high words alone (value_words.hpp), which is
// half of their bytes. 4 bytes a nonzero and those of its position.
#pragma once

#include "cpu/spmv/finishing_operator.hpp"

namespace tulle::cpu {

/// Of a kernel with as many `parts()`, which brings new values itself.
template <class Kernel, scalar V>
class packed_high final : public finishing_operator<packed_high<Kernel, V>, V> {
 public:
  explicit packed_high(Kernel& of) : finishing_operator<packed_high, V>(of.parts()), of_(of) {}

  template <class Finish, class Done>
  void multiply(Finish start, const V* x, const Done& done) {
    of_.multiply(of_.high_values(), start, x, done);
  }
  void update_values(const matrix_ref&) override {}
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return of_.high_bytes(); }

 private:
  Kernel& of_;
};

}  // namespace tulle::cpu
