// The products of SciPy's other containers under its own `@` (tulle/_install.py): coo, dia and bsr as they are, in one
// call. As in scipy.cpp nothing is validated but lengths, and None stands for what is not for tulle.
#include <tulle/ops/once.hpp>

#include "bind.hpp"
#include "dense.hpp"
#include "matrix.hpp"
#include "work.hpp"

namespace tulle::python {
namespace {

const context& host() { return context_for(memory_space::host, -1); }

bool is_row_of(nb::handle a, int number) { return is_row_of_numbers(a) && PyArray_TYPE(numpy_array(a)) == number; }
npy_intp size_of_array(nb::handle a) { return PyArray_SIZE(numpy_array(a)); }
template <class T = void>
const T* data_of(nb::handle a) {
  return static_cast<const T*>(PyArray_DATA(numpy_array(a)));
}

/// Y = A x, or A X with X row-major, in a new array of `rows` rows; apply(X, Y) as multivectors.
template <class Apply>
nb::object product(const value_type& type, std::int64_t rows, std::int64_t cols, nb::handle x, const Apply& apply) {
  if (!is_plain(x, type.number)) return nb::none();
  PyArrayObject* const from = numpy_array(x);
  const int dimensions = PyArray_NDIM(from);
  if (dimensions < 1 || dimensions > 2 || PyArray_DIM(from, 0) != cols || !PyArray_IS_C_CONTIGUOUS(from))
    return nb::none();
  const npy_intp count = dimensions == 2 ? PyArray_DIM(from, 1) : 1;
  if (count > std::numeric_limits<index_t>::max()) return nb::none();
  npy_intp shape[] = {rows, count};
  nb::object made = nb::steal(PyArray_EMPTY(dimensions, shape, type.number, 0));
  if (!made.is_valid()) nb::raise_python_error();
  const auto many = static_cast<index_t>(count);
  const auto ld = std::max<std::int64_t>(count, 1);
  const const_multivector_ref in(type.type, static_cast<index_t>(cols), many, ld, vector_order::row_major,
                                 PyArray_DATA(from), memory_space::host);
  const multivector_ref out(type.type, static_cast<index_t>(rows), many, ld, vector_order::row_major,
                            PyArray_DATA(numpy_array(made)), memory_space::host);
  const nb::gil_scoped_release released;
  apply(in, out);
  return made;
}

nb::object multiply_coo(std::int64_t rows, std::int64_t cols, nb::handle row, nb::handle col, nb::handle data,
                        nb::handle x) {
  if (!is_extent(rows) || !is_extent(cols)) return nb::none();
  if (!is_row_of(row, NPY_INT) || !is_row_of(col, NPY_INT) || !is_row_of_numbers(data)) return nb::none();
  const value_type* const type = find_type(PyArray_TYPE(numpy_array(data)));
  const npy_intp nnz = size_of_array(row);
  if (type == nullptr || size_of_array(col) != nnz || size_of_array(data) != nnz) return nb::none();
  matrix_ref a;
  a.format = matrix_format::coo;
  a.types = {type->type, offset_type::i64};
  a.rows = static_cast<index_t>(rows);
  a.cols = static_cast<index_t>(cols);
  a.nnz = a.stored = nnz;
  a.rowind = data_of<index_t>(row);
  a.colind = data_of<index_t>(col);
  a.values = data_of(data);
  return product(*type, rows, cols, x,
                 [&](const const_multivector_ref& in, const multivector_ref& out) { apply_once(host(), a, in, out); });
}

struct diagonals {
  bool taken = false;
  diagonals_ref ref;
  const value_type* type = nullptr;
};

diagonals as_diagonals(std::int64_t rows, std::int64_t cols, nb::handle offsets, nb::handle data) {
  if (!is_extent(rows) || !is_extent(cols)) return {};
  if (!is_row_of(offsets, NPY_INT) || !is_row_of_numbers(data) || PyArray_NDIM(numpy_array(data)) != 2) return {};
  const value_type* const type = find_type(PyArray_TYPE(numpy_array(data)));
  const npy_intp count = size_of_array(offsets);
  if (type == nullptr || PyArray_DIM(numpy_array(data), 0) != count) return {};
  return {true,
          {type->type, static_cast<index_t>(rows), static_cast<index_t>(cols), count, PyArray_DIM(numpy_array(data), 1),
           data_of<std::int32_t>(offsets), data_of(data)},
          type};
}

nb::object multiply_dia(std::int64_t rows, std::int64_t cols, nb::handle offsets, nb::handle data, nb::handle x) {
  const diagonals a = as_diagonals(rows, cols, offsets, data);
  if (!a.taken) return nb::none();
  return product(*a.type, rows, cols, x, [&](const const_multivector_ref& in, const multivector_ref& out) {
    apply_once(host(), a.ref, in, out);
  });
}

/// (offsets, data) of the product, whose data has two dimensions and owns its memory.
nb::object multiply_dia_sparse(std::int64_t rows, std::int64_t inner, std::int64_t cols, nb::handle a_offsets,
                               nb::handle a_data, nb::handle b_offsets, nb::handle b_data) {
  const diagonals a = as_diagonals(rows, inner, a_offsets, a_data), b = as_diagonals(inner, cols, b_offsets, b_data);
  if (!a.taken || !b.taken || a.type != b.type) return nb::none();
  std::shared_ptr<diagonal_matrix> c;
  {
    const long_work at_work;
    c = std::make_shared<diagonal_matrix>(multiply_diagonals(host(), a.ref, b.ref));
  }
  const auto count = static_cast<std::int64_t>(c->offsets.size());
  return nb::make_tuple(
      borrowed_array(NPY_INT, count, c->offsets.data(), c),
      borrowed_array(a.type->number, count * c->length, c->values.data(), c).attr("reshape")(count, c->length));
}

struct blocks {
  bool taken = false;
  blocks_ref ref;
  const value_type* type = nullptr;
};

blocks as_blocks(std::int64_t rows, std::int64_t cols, nb::handle indptr, nb::handle indices, nb::handle data) {
  if (!is_extent(rows) || !is_extent(cols)) return {};
  if (!is_row_of_numbers(indptr) || !is_row_of(indices, NPY_INT) || !is_row_of_numbers(data)) return {};
  PyArrayObject* const values = numpy_array(data);
  if (PyArray_NDIM(values) != 3) return {};
  const value_type* const type = find_type(PyArray_TYPE(values));
  const auto offset = index_type(PyArray_TYPE(numpy_array(indptr)));
  const npy_intp height = PyArray_DIM(values, 1), width = PyArray_DIM(values, 2);
  constexpr npy_intp most = std::numeric_limits<index_t>::max();
  if (type == nullptr || !offset || height < 1 || width < 1 || height > most || width > most) return {};
  if (rows % height != 0 || cols % width != 0 || size_of_array(indptr) != rows / height + 1) return {};
  blocks b{true,
           {{type->type, *offset},
            static_cast<index_t>(rows),
            static_cast<index_t>(cols),
            static_cast<index_t>(height),
            static_cast<index_t>(width),
            data_of(indptr),
            data_of<index_t>(indices),
            data_of(data)},
           type};
  const std::int64_t count = b.ref.blocks();
  b.taken = count >= 0 && count <= size_of_array(indices) && count <= PyArray_DIM(values, 0);
  return b;
}

nb::object multiply_bsr(std::int64_t rows, std::int64_t cols, nb::handle indptr, nb::handle indices, nb::handle data,
                        nb::handle x) {
  const blocks a = as_blocks(rows, cols, indptr, indices, data);
  if (!a.taken) return nb::none();
  return product(*a.type, rows, cols, x, [&](const const_multivector_ref& in, const multivector_ref& out) {
    apply_once(host(), a.ref, in, out);
  });
}

/// (indptr, indices, data, False: rows are not sorted) of the product, whose data has three dimensions and owns its
/// memory.
nb::object multiply_bsr_sparse(std::int64_t rows, std::int64_t inner, std::int64_t cols, nb::handle a_indptr,
                               nb::handle a_indices, nb::handle a_data, nb::handle b_indptr, nb::handle b_indices,
                               nb::handle b_data) {
  const blocks a = as_blocks(rows, inner, a_indptr, a_indices, a_data);
  const blocks b = as_blocks(inner, cols, b_indptr, b_indices, b_data);
  if (!a.taken || !b.taken || a.type != b.type || a.ref.block_cols != b.ref.block_rows) return nb::none();
  std::shared_ptr<block_matrix> c;
  {
    const long_work at_work;
    c = std::make_shared<block_matrix>(multiply_blocks(host(), a.ref, b.ref));
  }
  const auto count = static_cast<std::int64_t>(c->colind.size());
  const std::int64_t values = count * c->block_rows * c->block_cols;
  return nb::make_tuple(
      borrowed_array(NPY_LONG, static_cast<std::int64_t>(c->rowptr.size()), c->rowptr.data(), c),
      borrowed_array(NPY_INT, count, c->colind.data(), c),
      borrowed_array(a.type->number, values, c->values.data(), c).attr("reshape")(count, c->block_rows, c->block_cols),
      false);
}

}  // namespace

void bind_scipy_formats(nb::module_& m) {
  m.def("multiply_coo", &multiply_coo);
  m.def("multiply_dia", &multiply_dia);
  m.def("multiply_dia_sparse", &multiply_dia_sparse);
  m.def("multiply_bsr", &multiply_bsr);
  m.def("multiply_bsr_sparse", &multiply_bsr_sparse);
}

}  // namespace tulle::python
