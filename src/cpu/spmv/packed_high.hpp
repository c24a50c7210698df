// y = A' x by the copy of A that `packed` has: A' is A with its values' high words alone (value_words.hpp), which is
// half of their bytes. 4 bytes a nonzero and those of its position; rows that the copy leaves to the CSR are read
// there.
#pragma once

#include <tulle/formats/views.hpp>

#include "cpu/spmv/finishing_operator.hpp"
#include "kernels/value_words.hpp"

namespace tulle::cpu {

/// The sum over the entries [begin, end) of one row by the high words of its values: of a row that is not in slices.
template <offset O>
double high_row_sum(csr_view<double, O> a, O begin, O end, const double* x) {
  constexpr int chains = 4;
  const auto product = [&](O k) { return from_high(words_of(a.values[k]).high) * x[a.colind[k]]; };
  double sums[chains] = {};
  O k = begin;
  for (; end - k >= chains; k += chains) {
    for (int c = 0; c < chains; ++c) sums[c] += product(k + c);
  }
  for (; k < end; ++k) sums[0] += product(k);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

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
