// Other formats, matrices made of matrices, statistics, files and kernels in the C API.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/validate.hpp>
#include <tulle/io/matrix_market.hpp>
#include <tulle/ops/kernels.hpp>
#include <tulle/ops/matrix.hpp>
#include <utility>
#include <vector>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "formats/matrix_arrays.hpp"
#include "kernels/numbers.hpp"
#include "kernels/types.hpp"
#include "ops/operand.hpp"
#include "ops/owned_csr.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t ld, vector_order order) {
  return static_cast<std::size_t>(order == vector_order::row_major ? i * ld + j : i + j * ld);
}

void check_ld(std::int64_t ld, shape s, vector_order order) {
  const auto [times, least] = order == vector_order::row_major ? std::pair(s.rows, s.cols) : std::pair(s.cols, s.rows);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16 / std::max<index_t>(times, 1);
  if (ld < least || ld > most) {
    throw error(status::invalid_dimensions, fmt::format("ld = {}: must be at least {}, and within memory", ld, least));
  }
}

template <class N>
matrix_ref from_dense(const context& ctx, const tulle_matrix_arrays& a, const matrix_ref& described) {
  const shape s = described.dimensions();
  const memory_space space = described.space;
  const vector_order order = vector_order_of(a.order, "arrays->order");
  check_ld(a.ld, s, order);
  const std::int64_t stripes = order == vector_order::row_major ? s.rows : s.cols;
  const index_t length = order == vector_order::row_major ? s.cols : s.rows;
  std::vector<N> dense(stripes == 0 ? 0 : static_cast<std::size_t>((stripes - 1) * a.ld + length));
  if (!dense.empty()) require(a.values, "arrays->values");
  check_memory("arrays->values", a.values, space);
  copy_bytes(ctx, dense.data(), memory_space::host, a.values, space, dense.size() * sizeof(N));
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<N> values;
  for (index_t i = 0; i < s.rows; ++i) {
    for (index_t j = 0; j < s.cols; ++j) {
      const N v = dense[at(i, j, a.ld, order)];
      if (further::is_zero(v)) continue;
      colind.push_back(j);
      values.push_back(v);
    }
    rowptr.push_back(static_cast<std::int64_t>(colind.size()));
  }
  return detail::csr_of(ctx, s, described.types.value, to_buffer(ctx, rowptr), to_buffer(ctx, colind),
                        to_buffer(ctx, std::as_bytes(std::span<const N>(values))));
}

/// `ref`: all but what only bins have.
matrix_ref bins_of(const tulle_matrix_arrays& a, matrix_ref ref) {
  if (ref.types.offset != offset_type::i64) {
    throw error(status::invalid_argument, "arrays->offset_type: must be TULLE_OFFSET_I64 for TULLE_BIN_BSR");
  }
  if (a.nnz > std::numeric_limits<std::int64_t>::max() / 1024) {
    throw error(status::invalid_dimensions, fmt::format("arrays->nnz = {}: so many slots do not fit memory", a.nnz));
  }
  ref.block = checked_choice(a.block, "arrays->block", 1, 8);
  ref.stored = (std::int64_t{ref.rows} + bin_rows - 1) / bin_rows;
  ref.nnz = a.nnz * ref.block;  // at most
  return ref;
}

/// Throws INVALID_STRUCTURE where the offsets of bins end elsewhere than the caller's arrays.
void check_slots(const context& ctx, const tulle_matrix_arrays& a, const matrix_ref& bins) {
  check_matrix(ctx, "arrays", bins);
  if (const std::int64_t slots = arrays_of(ctx, bins).indices; slots != a.nnz) {
    throw error(status::invalid_structure, fmt::format("arrays->offsets end with {}, arrays->nnz is {}", slots, a.nnz));
  }
}

/// `ref`: what `described` says of them.
matrix_ref ref_of(const tulle_matrix_arrays& a, matrix_ref ref) {
  ref.nnz = ref.stored = checked_size(a.nnz, "arrays->nnz");
  ref.rowptr = a.offsets;
  ref.colind = a.format == TULLE_CSC ? a.rowind : a.colind;
  ref.values = a.values;
  ref.rowind = a.format == TULLE_COO ? a.rowind : nullptr;
  ref.format = a.format == TULLE_COO       ? matrix_format::coo
               : a.format == TULLE_CSC     ? matrix_format::csc
               : a.format == TULLE_BIN_BSR ? matrix_format::bin_bsr
                                           : matrix_format::bsr;
  if (ref.format == matrix_format::bin_bsr) return bins_of(a, ref);
  if (ref.format != matrix_format::bsr) return ref;
  ref.block = checked_choice(a.block, "arrays->block", 2, 8);
  if (ref.stored > std::numeric_limits<std::int64_t>::max() / 1024) {
    throw error(status::invalid_dimensions, fmt::format("arrays->nnz = {}: so many blocks do not fit memory", a.nnz));
  }
  ref.nnz = ref.stored * a.block * a.block;
  return ref;
}

tulle_csr* convert(const context& ctx, const tulle_matrix_arrays& a) {
  checked_choice(a.format, "arrays->format", TULLE_COO, TULLE_BIN_BSR);
  matrix_ref made = described(a);
  if (a.format == TULLE_DENSE) {
    made = further::dispatch_numbers(made.types.value, [&]<class N>() { return from_dense<N>(ctx, a, made); });
  } else {
    made = ref_of(a, made);
    if (made.format == matrix_format::bin_bsr) check_slots(ctx, a, made);
    detail::operand checked(ctx, "arrays", made);
    checked.validate();
    checked.to_csr();
    made = checked.is_transpose() ? to_csr(ctx, transposed(checked.source())) : checked.source();
  }
  if (made.owner == nullptr) made = clone(ctx, made);
  ctx.synchronize();  // the caller may free or change what was converted
  return new tulle_csr{made, 0};
}

/// Calls f(CSR with 64-bit offsets on the host).
template <class F>
void on_host(const matrix_ref& a, const F& f) {
  const context host = context::cpu();
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    if (a.space == memory_space::host) return f(with_offsets<std::int64_t>(host, a.as<T, O>()));
    f(with_offsets<std::int64_t>(host, clone(host, a.as<T, O>()).view()));
  });
}

/// The matrix on the host.
matrix_ref here(const matrix_ref& a) { return a.space == memory_space::host ? a : clone(context::cpu(), a); }

/// Stands for a value where only whether it is finite counts.
template <class R>
float finiteness(further::complex_number<R> v) {
  return static_cast<float>((v.re - v.re) + (v.im - v.im)) == 0 ? 0.0f
         : std::isnan(v.re) || std::isnan(v.im)                 ? std::numeric_limits<float>::quiet_NaN()
                                                                : std::numeric_limits<float>::infinity();
}

/// What `validate` finds in a matrix of any type: integers and booleans are finite, complex numbers where both parts
/// are.
validation find(const context& ctx, const matrix_ref& a, validate_options options) {
  if (!is_further(a.types.value)) {
    return dispatch<type_set::all>(a.types, [&]<class T, class O>() { return validate(ctx, a.as<T, O>(), options); });
  }
  const auto of_pattern = [&](const context& where, const matrix_ref& m) {
    return m.types.offset == offset_type::i64 ? validate(where, m.as<float, std::int64_t>(), options)
                                              : validate(where, m.as<float, std::int32_t>(), options);
  };
  if (!options.finite || !is_complex(a.types.value)) {
    options.finite = false;
    return of_pattern(ctx, a);
  }
  matrix_ref stand_in = here(a);
  std::vector<float> flags(static_cast<std::size_t>(a.nnz));
  const auto fill = [&](const auto* values) {
    std::transform(values, values + a.nnz, flags.begin(), [](auto v) { return finiteness(v); });
  };
  if (a.types.value == scalar_type::c64) {
    fill(static_cast<const further::complex_number<float>*>(stand_in.values));
  } else {
    fill(static_cast<const further::complex_number<double>*>(stand_in.values));
  }
  stand_in.values = flags.data();
  return of_pattern(context::cpu(), stand_in);
}

tulle_status derive(const tulle_context* context, const tulle_csr* matrix, tulle_csr** out, const char* name,
                    matrix_ref (*f)(const tulle::context&, const matrix_ref&)) {
  return create(out, name, {{context, "context"}, {matrix, "matrix"}}, [&] {
    return new tulle_csr{f(context->value, matrix->ref), 0};
  });
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_csr_convert(const tulle_context* context, const tulle_matrix_arrays* arrays, tulle_csr** matrix) {
  return create(matrix, "matrix", {{context, "context"}, {arrays, "arrays"}},
                [&] { return convert(context->value, *arrays); });
}

tulle_status tulle_csr_copy_out_rows(const tulle_context* context, const tulle_csr* matrix, int32_t* rowind) {
  return guard({{context, "context"}, {matrix, "matrix"}}, [&] {
    if (matrix->ref.nnz > 0) require(rowind, "rowind");
    const tulle::matrix_ref a = here(matrix->ref);
    const tulle::further::row_offsets offsets(a.rowptr, a.types.offset);
    for (tulle::index_t r = 0; r < a.rows; ++r) std::fill(rowind + offsets[r], rowind + offsets[r + 1], r);
  });
}

tulle_status tulle_csr_copy_out_dense(const tulle_context* context, const tulle_csr* matrix, tulle_vector_order order,
                                      int64_t ld, void* values) {
  return guard({{context, "context"}, {matrix, "matrix"}}, [&] {
    const tulle::shape s = matrix->ref.dimensions();
    const auto by = vector_order_of(order, "order");
    check_ld(ld, s, by);
    if (s.rows > 0 && s.cols > 0) require(values, "values");
    const tulle::matrix_ref a = here(matrix->ref);
    const tulle::further::row_offsets offsets(a.rowptr, a.types.offset);
    tulle::further::dispatch_numbers(a.types.value, [&]<class N>() {
      N* const dense = static_cast<N*>(values);
      for (tulle::index_t i = 0; i < s.rows; ++i) {
        for (tulle::index_t j = 0; j < s.cols; ++j) dense[at(i, j, ld, by)] = N::zero();
        for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
          N& element = dense[at(i, a.colind[k], ld, by)];
          element = add(element, static_cast<const N*>(a.values)[k]);
        }
      }
    });
  });
}

tulle_status tulle_csr_copy_out_bsr(const tulle_context* context, const tulle_csr* matrix, int32_t block,
                                    int64_t* blocks, int64_t* rowptr, int32_t* colind, void* values) {
  return guard({{context, "context"}, {matrix, "matrix"}, {blocks, "blocks"}}, [&] {
    const tulle::context host = tulle::context::cpu();
    on_host(matrix->ref, [&](const auto& a) {
      const auto made = to_bsr(host, a.view(), block);
      *blocks = static_cast<std::int64_t>(made.colind.size());
      if (rowptr != nullptr) std::copy_n(made.rowptr.data(), made.rowptr.size(), rowptr);
      if (colind != nullptr) std::copy_n(made.colind.data(), made.colind.size(), colind);
      if (values != nullptr)
        std::copy_n(reinterpret_cast<const char*>(made.values.data()), made.values.bytes(), static_cast<char*>(values));
    });
  });
}

tulle_status tulle_csr_copy_out_bin_bsr(const tulle_context* context, const tulle_csr* matrix, int32_t block,
                                        int64_t* slots, int64_t* rowptr, int32_t* colptr, void* values) {
  return guard({{context, "context"}, {matrix, "matrix"}, {slots, "slots"}}, [&] {
    const tulle::context host = tulle::context::cpu();
    on_host(matrix->ref, [&](const auto& a) {
      const auto made = to_bin_bsr(host, a.view(), block);
      *slots = static_cast<std::int64_t>(made.colptr.size());
      if (rowptr != nullptr) std::copy_n(made.rowptr.data(), made.rowptr.size(), rowptr);
      if (colptr != nullptr) std::copy_n(made.colptr.data(), made.colptr.size(), colptr);
      if (values != nullptr)
        std::copy_n(reinterpret_cast<const char*>(made.values.data()), made.values.bytes(), static_cast<char*>(values));
    });
  });
}

tulle_status tulle_csr_transpose(const tulle_context* context, const tulle_csr* matrix, tulle_csr** transpose) {
  return derive(context, matrix, transpose, "transpose",
                [](const tulle::context& ctx, const tulle::matrix_ref& a) { return tulle::transpose(ctx, a).matrix; });
}
tulle_status tulle_csr_sort(const tulle_context* context, const tulle_csr* matrix, tulle_csr** sorted) {
  return derive(context, matrix, sorted, "sorted", tulle::sort);
}
tulle_status tulle_csr_sum_duplicates(const tulle_context* context, const tulle_csr* matrix, tulle_csr** summed) {
  return derive(context, matrix, summed, "summed", tulle::sum_duplicates);
}
tulle_status tulle_csr_eliminate_zeros(const tulle_context* context, const tulle_csr* matrix, tulle_csr** smaller) {
  return derive(context, matrix, smaller, "smaller", tulle::eliminate_zeros);
}

tulle_status tulle_csr_add(const tulle_context* context, double alpha, const tulle_csr* a, double beta,
                           const tulle_csr* b, tulle_csr** sum) {
  return create(sum, "sum", {{context, "context"}, {a, "a"}, {b, "b"}}, [&] {
    return new tulle_csr{add(context->value, alpha, a->ref, beta, b->ref), 0};
  });
}

tulle_status tulle_csr_validate(const tulle_context* context, const tulle_csr* matrix, int32_t checks,
                                tulle_data_status* found, int64_t* row, int64_t* entry) {
  return guard({{context, "context"}, {matrix, "matrix"}, {found, "found"}}, [&] {
    const tulle::validate_options options{(checks & TULLE_CHECK_SORTED) != 0, (checks & TULLE_CHECK_DUPLICATES) != 0,
                                          (checks & TULLE_CHECK_FINITE) != 0};
    const tulle::detail::operand here(context->value, "matrix", matrix->ref);
    const auto v = find(context->value, here.ref(), options);
    *found = static_cast<tulle_data_status>(v.what);
    if (row != nullptr) *row = v.row;
    if (entry != nullptr) *entry = v.entry;
  });
}

tulle_status tulle_csr_get_statistics(const tulle_context* context, const tulle_csr* matrix,
                                      tulle_csr_statistics* statistics) {
  return guard({{context, "context"}, {matrix, "matrix"}, {statistics, "statistics"}}, [&] {
    const tulle::detail::operand here(context->value, "matrix", matrix->ref);
    here.validate();
    const tulle::csr_stats s = here.statistics();
    *statistics = {s.rows,          s.cols, s.nnz,    s.max,         s.empty_rows,
                   s.bandwidth,     s.mean, s.stddev, s.ell_padding, s.sell_sorted_padding,
                   s.gather_sectors};
  });
}

tulle_status tulle_csr_write_matrix_market(const tulle_context* context, const tulle_csr* matrix, const char* path,
                                           int32_t symmetric) {
  return guard({{context, "context"}, {matrix, "matrix"}, {path, "path"}},
               [&] { write_matrix_market(path, matrix->ref, checked_flag(symmetric, "symmetric")); });
}

tulle_status tulle_kernel_count(const tulle_context* context, int64_t* count) {
  return guard({{context, "context"}, {count, "count"}},
               [&] { *count = static_cast<std::int64_t>(tulle::kernels(context->value.backend()).size()); });
}

tulle_status tulle_kernel_at(const tulle_context* context, int64_t index, tulle_kernel_info* kernel) {
  return guard({{context, "context"}, {kernel, "kernel"}}, [&] {
    const auto all = tulle::kernels(context->value.backend());
    if (index < 0 || index >= static_cast<std::int64_t>(all.size())) {
      throw tulle::error(tulle::status::invalid_argument,
                         fmt::format("index = {}: there are {} kernels", index, all.size()));
    }
    const tulle::kernel_info& k = all[static_cast<std::size_t>(index)];  // its texts are literals, which end in NUL
    *kernel = {k.name.data(), k.summary.data(), name(k.operation).data(),
               k.role == tulle::kernel_role::production ? 1 : 0, k.deterministic ? 1 : 0};
  });
}
