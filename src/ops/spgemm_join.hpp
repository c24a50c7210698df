// D joins a product as two more factors: alpha A B + beta D = [alpha A | I] [B ; beta D].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmv.hpp"
#include "ops/any_buffer.hpp"

namespace tulle::detail {

/// The offsets that hold nnz entries, with room to count a little past the end of a row.
offset_type fitting_offsets(std::int64_t nnz);

/// a + b. Throws OVERFLOW where that is no dimension.
index_t joined_dimension(index_t a, index_t b);

/// [alpha A | I].
class beside_identity {
 public:
  /// A pattern on the backend, its offsets wide enough for rows more entries. Throws OVERFLOW for too many columns.
  beside_identity(const context& ctx, const csr_ref& a);
  [[nodiscard]] const csr_ref& ref() const noexcept { return ref_; }
  /// No allocation, no synchronisation.
  void set_values(const void* a_values, double alpha);
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  context ctx_;
  csr_ref a_;
  csr_ref ref_;
  any_buffer offsets_, columns_, values_;
};

/// [X ; beta D]: the arrays, where X is written by others.
class above {
 public:
  /// X: rows x d.cols with `nnz` entries. D: strictly increasing rows, offsets wide enough for both.
  above(const context& ctx, index_t rows, std::int64_t nnz, const csr_ref& d);
  [[nodiscard]] const csr_ref& ref() const noexcept { return ref_; }
  [[nodiscard]] void* rowptr() noexcept { return offsets_.data(); }
  [[nodiscard]] index_t* colind() noexcept { return static_cast<index_t*>(columns_.data()); }
  [[nodiscard]] void* values() noexcept { return values_.data(); }
  /// Copies X; offsets last are the first of D.
  void copy_pattern(const csr_ref& x);
  void copy_values(const void* x_values);
  /// Offsets and columns of D, once those of X are there.
  void place_d();
  void set_d(const void* d_values, double beta);
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  context ctx_;
  csr_ref d_;
  std::int64_t nnz_above_;
  index_t rows_above_;
  csr_ref ref_;
  any_buffer offsets_, columns_, values_;
};

/// [I | I], n x 2 n: adds what lies above D to it.
class two_identities {
 public:
  two_identities(const context& ctx, index_t n, type_key types);
  [[nodiscard]] const csr_ref& ref() const noexcept { return both_.ref(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return one_.bytes() + both_.bytes(); }

 private:
  beside_identity one_;
  beside_identity both_;
};

}  // namespace tulle::detail
