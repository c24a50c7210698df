#include "matrix.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <limits>
#include <map>
#include <tulle/core/status.hpp>
#include <tulle/formats/validate.hpp>
#include <tulle/ops/matrix.hpp>

#include "bind.hpp"

namespace tulle::python {
namespace {

index_t checked_extent(std::int64_t n, const char* name) {
  if (n >= 0 && n <= std::numeric_limits<index_t>::max()) return static_cast<index_t>(n);
  throw error(status::overflow, std::string(name) + " = " + std::to_string(n) + ": dimensions stay below 2^31");
}

matrix_format format_of(std::string_view name) {
  if (name == "csr") return matrix_format::csr;
  if (name == "csc") return matrix_format::csc;
  if (name == "coo") return matrix_format::coo;
  if (name == "bsr") return matrix_format::bsr;
  throw error(status::invalid_argument, "format = " + std::string(name) + ": must be csr, csc, coo or bsr");
}

void require_index(const array& a, int bytes, const char* name) {
  if (a.is_index() && (bytes == 0 || a.bytes == bytes)) return;
  throw nb::type_error((std::string(name) + " must be of type " + (bytes == 4 ? "int32" : "int32 or int64")).c_str());
}

void require_length(const array& a, std::int64_t least, const char* name) {
  if (a.size >= least) return;
  throw error(status::invalid_structure, std::string(name) + " has " + std::to_string(a.size) + " elements, " +
                                             std::to_string(least) + " are needed");
}

std::int64_t last_offset(const context& ctx, const array& a) {
  if (a.size == 0) return 0;
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  const auto* from = static_cast<const char*>(a.data) + (a.size - 1) * a.bytes;
  void* const to = a.bytes == 8 ? static_cast<void*>(&wide) : &narrow;
  copy_bytes(ctx, to, memory_space::host, from, a.space, static_cast<std::size_t>(a.bytes));
  return a.bytes == 8 ? wide : narrow;
}

/// `outer` are offsets of rows, columns or block rows, or for coo the row indices.
matrix make_matrix(std::string_view format, std::int64_t rows, std::int64_t cols, const nb::object& data,
                   const nb::object& indices, const nb::object& outer, int block, int device) {
  const array values = array_of(data, "data"), inner = array_of(indices, "indices");
  const array offsets = array_of(outer, "indptr");
  if (values.space != inner.space || values.space != offsets.space) {
    throw error(status::invalid_argument, "data, indices and indptr must be in the same memory");
  }
  matrix_ref a;
  a.format = format_of(format);
  a.rows = checked_extent(rows, "rows");
  a.cols = checked_extent(cols, "columns");
  a.types.value = value_type_of(values, "data");
  a.space = values.space;
  a.device = values.space == memory_space::device ? device : -1;
  a.colind = static_cast<const index_t*>(inner.data);
  a.values = values.data;
  require_index(inner, 4, "indices");
  if (a.format == matrix_format::coo) {
    require_index(offsets, 4, "row indices");
    a.types.offset = offset_type::i64;
    a.rowind = static_cast<const index_t*>(offsets.data);
    a.nnz = a.stored = offsets.size;
    if (inner.size != offsets.size) {
      throw error(status::invalid_structure, "there are " + std::to_string(offsets.size) + " row indices and " +
                                                 std::to_string(inner.size) + " column indices");
    }
    require_length(values, a.nnz, "data");
  } else {
    require_index(offsets, 0, "indptr");
    const bool in_blocks = a.format == matrix_format::bsr;
    if (in_blocks && (block < 2 || block > 8 || a.rows % block != 0 || a.cols % block != 0)) {
      throw error(status::invalid_argument, "blocks must be square, of 2 to 8 rows, and divide the matrix");
    }
    const std::int64_t outer_size = in_blocks ? a.rows / block : a.format == matrix_format::csr ? a.rows : a.cols;
    require_length(offsets, outer_size + 1, "indptr");
    array used = offsets;
    used.size = outer_size + 1;
    a.stored = last_offset(context_for(a.space, device), used);
    if (a.stored < 0) throw error(status::invalid_structure, "indptr ends below 0");
    a.block = in_blocks ? block : 0;
    a.nnz = a.stored * (in_blocks ? std::int64_t{block} * block : 1);
    a.types.offset = offsets.as_offset();
    a.rowptr = offsets.data;
    require_length(inner, a.stored, "indices");
    require_length(values, a.nnz, "data");
  }
  a.owner = keep(nb::make_tuple(data, indices, outer));
  return {std::move(a)};
}

/// (indptr, indices, data), which share the matrix's memory and keep it alive.
nb::tuple arrays_of(const matrix& m) {
  const matrix_ref& a = m.ref;
  if (a.space != memory_space::host || (a.format != matrix_format::csr && a.format != matrix_format::csc)) {
    throw error(status::unsupported, "arrays of a compressed matrix in host memory only");
  }
  const index_t outer = a.format == matrix_format::csr ? a.rows : a.cols;
  const int offsets = a.types.offset == offset_type::i64 ? NPY_INT64 : NPY_INT;
  return nb::make_tuple(borrowed_array(offsets, std::int64_t{outer} + 1, const_cast<void*>(a.rowptr), a.owner),
                        borrowed_array(NPY_INT, a.nnz, const_cast<index_t*>(a.colind), a.owner),
                        borrowed_array(type_of(a.types.value).number, a.nnz, const_cast<void*>(a.values), a.owner));
}

/// 64-bit indices in 32 bits. Throws IndexError for one that does not fit.
nb::object narrow(const nb::object& indices) {
  const array from = array_of(indices, "indices");
  require_index(from, 8, "indices");
  const nb::object made = empty_vector(NPY_INT, from.size);
  auto* const to = static_cast<std::int32_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made.ptr())));
  const auto* const wide = static_cast<const std::int64_t*>(from.data);
  std::int64_t lost = 0;
  {
    const nb::gil_scoped_release released;
    for (std::int64_t i = 0; i < from.size; ++i) {
      to[i] = static_cast<std::int32_t>(wide[i]);
      lost |= wide[i] ^ to[i];
    }
  }
  if (lost != 0) throw nb::index_error("indices: one does not fit 32 bits");
  return made;
}

/// Of a CSR, in host or device memory.
void require_structure(const matrix_ref& a, const char* what) {
  const context& ctx = context_for(a);
  const validation found = a.types.offset == offset_type::i64 ? validate(ctx, a.as<double, std::int64_t>())
                                                              : validate(ctx, a.as<double, std::int32_t>());
  if (!found.ok()) throw error(status::invalid_structure, what + found.message());
}

}  // namespace

const matrix_ref& checked(const matrix& m) {
  matrix_ref a = m.ref;
  a.format = matrix_format::csr;
  switch (m.ref.format) {
    case matrix_format::csc:
      std::swap(a.rows, a.cols);
      require_structure(a, "of the transpose, ");
      break;
    case matrix_format::bsr:
      a.rows /= a.block;
      a.cols /= a.block;
      a.nnz = a.stored;
      require_structure(a, "of the blocks, ");
      break;
    case matrix_format::coo: {
      if (a.space != memory_space::host) break;  // the conversion looks at them
      const std::array<std::int64_t, 2> one_row{0, a.nnz};
      a.types.offset = offset_type::i64;
      a.rowptr = one_row.data();
      a.rows = 1;
      require_structure(a, "of the column indices, ");
      a.cols = m.ref.rows;
      a.colind = m.ref.rowind;
      require_structure(a, "of the row indices, ");
      break;
    }
    default:
      require_structure(a, "");
  }
  return m.ref;
}

const context& context_for(memory_space space, int device) {
  thread_local std::map<int, context> contexts;
  const int key = space == memory_space::host ? -1 : std::max(device, 0);
  if (const auto known = contexts.find(key); known != contexts.end()) return known->second;
  return contexts.emplace(key, key < 0 ? context::cpu() : context::cuda(key)).first->second;
}

void bind_matrix(nb::module_& m) {
  nb::class_<matrix>(m, "Matrix", "A matrix as tulle sees it: the arrays of somebody else, or its own.")
      .def(nb::new_(&make_matrix), nb::arg("format"), nb::arg("rows"), nb::arg("cols"), nb::arg("data"), nb::arg("indices"),
           nb::arg("indptr"), nb::arg("block") = 0, nb::arg("device") = 0)
      .def("arrays", &arrays_of, "(indptr, indices, data) of a compressed matrix, in its own memory")
      .def_prop_ro("format", [](const matrix& a) { return std::string(name(a.ref.format)); })
      .def_prop_ro("shape", [](const matrix& a) { return nb::make_tuple(a.ref.rows, a.ref.cols); })
      .def_prop_ro("nnz", [](const matrix& a) { return a.ref.nnz; })
      .def_prop_ro("dtype", [](const matrix& a) {
        const value_type& t = type_of(a.ref.types.value);
        return std::string(1, t.kind) + std::to_string(t.bytes);
      })
      .def_prop_ro("value_type", [](const matrix& a) { return std::string(name(a.ref.types.value)); })
      .def_prop_ro("offset_bytes", [](const matrix& a) { return static_cast<int>(size_of(a.ref.types.offset)); })
      .def_prop_ro("on_device", [](const matrix& a) { return a.ref.space == memory_space::device; })
      .def_prop_ro("pointers", [](const matrix& a) {
        return nb::make_tuple(reinterpret_cast<std::uintptr_t>(a.ref.rowptr), reinterpret_cast<std::uintptr_t>(a.ref.colind),
                              reinterpret_cast<std::uintptr_t>(a.ref.values));
      });
  m.def("narrow", &narrow, nb::arg("indices"));
}

}  // namespace tulle::python
