// The products under SciPy's own `@` (tulle/_install.py): arrays of a container in, an array out, in one call and without a
// plan. SciPy's containers vouch for their structure, so that nothing is validated, as SciPy validates nothing.
#include <nanobind/stl/string_view.h>

#include <tulle/ops/once.hpp>
#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/spmv.hpp>

#include "bind.hpp"
#include "dense.hpp"
#include "matrix.hpp"
#include "work.hpp"

namespace tulle::python {
namespace {

struct compressed {
  bool taken = false;
  matrix_ref ref;
};

/// The arrays of a csr container, or those of a csc one as the CSR of its transpose, with rows and columns that way.
compressed as_csr(std::int64_t rows, std::int64_t cols, nb::handle indptr, nb::handle indices, nb::handle data) {
  if (!is_extent(rows) || !is_extent(cols)) return {};
  if (!is_row_of_numbers(indptr) || !is_row_of_numbers(indices) || !is_row_of_numbers(data)) return {};
  PyArrayObject *const offsets = numpy_array(indptr), *const columns = numpy_array(indices), *const values = numpy_array(data);
  const value_type* const type = find_type(PyArray_TYPE(values));
  const auto offset = index_type(PyArray_TYPE(offsets));
  if (type == nullptr || !offset || PyArray_TYPE(columns) != NPY_INT || PyArray_SIZE(offsets) != npy_intp{rows} + 1) return {};
  compressed a;
  a.ref.types = {type->type, *offset};
  a.ref.rows = static_cast<index_t>(rows);
  a.ref.cols = static_cast<index_t>(cols);
  a.ref.rowptr = PyArray_DATA(offsets);
  a.ref.colind = static_cast<const index_t*>(PyArray_DATA(columns));
  a.ref.values = PyArray_DATA(values);
  a.ref.nnz = a.ref.stored = *offset == offset_type::i64 ? static_cast<const std::int64_t*>(a.ref.rowptr)[rows]
                                                         : static_cast<const std::int32_t*>(a.ref.rowptr)[rows];
  a.taken = a.ref.nnz >= 0 && a.ref.nnz <= PyArray_SIZE(columns) && a.ref.nnz <= PyArray_SIZE(values);
  return a;
}

/// Of a matrix whose arrays are `rows` x `cols` as CSR, or of its transpose. None: not for tulle.
nb::object multiply_dense(std::int64_t rows, std::int64_t cols, nb::handle indptr, nb::handle indices, nb::handle data,
                          nb::handle x, bool transposed) {
  compressed a = as_csr(rows, cols, indptr, indices, data);
  if (!a.taken) return nb::none();
  const scalar_type type = a.ref.types.value;
  const int number = type_of(type).number;
  const std::int64_t y_rows = transposed ? cols : rows, x_rows = transposed ? rows : cols;
  if (!is_plain(x, number) || PyArray_NDIM(numpy_array(x)) > 2 || PyArray_NDIM(numpy_array(x)) < 1) return nb::none();
  PyArrayObject* const from = numpy_array(x);
  if (PyArray_DIM(from, 0) != x_rows) return nb::none();
  spmv_options options;
  options.effort = spmv_effort::none;
  options.transpose = transposed;
  const context& ctx = context_for(memory_space::host, -1);
  if (PyArray_NDIM(from) == 1) {
    const auto v = as_vector(from, type);
    if (!v || v->stride != 1) return nb::none();
    nb::object made = empty_vector(number, y_rows);
    if (!made.is_valid()) nb::raise_python_error();
    const vector_ref y(type, PyArray_DATA(numpy_array(made)), y_rows, memory_space::host);
    const nb::gil_scoped_release released;
    any_spmv_plan(ctx, a.ref, options).apply(1, *v, 0, y);
    return made;
  }
  const auto v = as_multivector(from, type);
  if (!v) return nb::none();
  npy_intp shape[] = {y_rows, v->count};
  nb::object made = nb::steal(PyArray_EMPTY(2, shape, number, 0));
  if (!made.is_valid()) nb::raise_python_error();
  const auto y = as_multivector(numpy_array(made), type);
  if (v->count == 0 || !y) return made;
  if (transposed) options.columns = v->count;  // room for all of them side by side
  const nb::gil_scoped_release released;
  any_spmv_plan(ctx, a.ref, options).apply_many(1, *v, 0, *y);
  return made;
}

/// Multiplications of a product that is made without a plan, in SciPy's order of entries: about as many as take as long
/// as a plan.
constexpr std::int64_t small_product = 4096;

/// (indptr, indices, data, whether rows are sorted) of the product of two CSR matrices, which own their memory. None:
/// not for tulle.
nb::object multiply_sparse(std::int64_t rows, std::int64_t inner, std::int64_t cols, nb::handle a_indptr,
                           nb::handle a_indices, nb::handle a_data, nb::handle b_indptr, nb::handle b_indices,
                           nb::handle b_data) {
  const compressed a = as_csr(rows, inner, a_indptr, a_indices, a_data),
                   b = as_csr(inner, cols, b_indptr, b_indices, b_data);
  if (!a.taken || !b.taken || a.ref.types.value != b.ref.types.value) return nb::none();
  if (auto small = multiply_small(context_for(memory_space::host, -1), a.ref, b.ref, small_product)) {
    const auto kept = std::make_shared<block_matrix>(std::move(*small));
    const std::int64_t nnz = kept->rowptr.data()[rows];
    return nb::make_tuple(borrowed_array(NPY_LONG, std::int64_t{rows} + 1, kept->rowptr.data(), kept),
                          borrowed_array(NPY_INT, nnz, kept->colind.data(), kept),
                          borrowed_array(type_of(kept->type).number, nnz, kept->values.data(), kept), false);
  }
  matrix_ref c;
  {
    const long_work at_work;
    c = spgemm(context_for(memory_space::host, -1), a.ref, b.ref);
  }
  const int offsets = c.types.offset == offset_type::i64 ? NPY_INT64 : NPY_INT;
  return nb::make_tuple(borrowed_array(offsets, std::int64_t{rows} + 1, const_cast<void*>(c.rowptr), c.owner),
                        borrowed_array(NPY_INT, c.nnz, const_cast<index_t*>(c.colind), c.owner),
                        borrowed_array(type_of(c.types.value).number, c.nnz, const_cast<void*>(c.values), c.owner),
                        true);
}

}  // namespace

void bind_scipy(nb::module_& m) {
  m.def("multiply_dense", &multiply_dense);
  m.def("multiply_sparse", &multiply_sparse);
}

}  // namespace tulle::python
