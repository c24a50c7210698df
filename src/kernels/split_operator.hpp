// y = A x by two operators, of the f32 values and of the f64 values of A (split_values.hpp), one after the other.
#pragma once

#include "kernels/split_values.hpp"
#include "kernels/spmv.hpp"

namespace tulle {

/// Takes values apart on a backend: tulle::split, or cuda::split.
template <offset O>
using splitter = split_values<O> (*)(const context&, csr_view<double, O>, const spmv_options&, split_form);
struct splitters {
  splitter<std::int32_t> by_i32;
  splitter<std::int64_t> by_i64;

  template <offset O>
  [[nodiscard]] splitter<O> of() const {
    if constexpr (std::same_as<O, std::int32_t>) {
      return by_i32;
    } else {
      return by_i64;
    }
  }
};

/// `form`: entries or rows. `whole` makes the two: a kernel of f64, and of f32 under f64 vectors, that stores in an
/// order.
std::unique_ptr<spmv_operator> make_split(const context& ctx, const matrix_ref& a, const spmv_options& options,
                                          split_form form, const splitters& apart, const spmv_kernel& whole);

/// The entries of packed.split_entries and packed.split_rows on the backend of `Whole`, which is packed's.
template <split_form Form, const splitters& Apart, spmv_kernel (*Whole)()>
spmv_kernel packed_split_entry() {
  const spmv_kernel whole = Whole();
  return {
      .name = Form == split_form::entries ? "packed.split_entries" : "packed.split_rows",
      .summary = Form == split_form::entries ? "packed of the entries in f32, then of those in f64"
                                             : "packed of the rows in f32, then of those in f64",
      .backend = whole.backend,
      .types = type_set::doubles,
      .role = kernel_role::study,
      .listens_to = {.values = true},
      .supports = whole.supports,
      .make = [](const context& ctx, const matrix_ref& a, const csr_stats&,
                 const spmv_options& options) { return make_split(ctx, a, options, Form, Apart, Whole()); },
  };
}

}  // namespace tulle
