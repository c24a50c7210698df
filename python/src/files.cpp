// Matrix Market files: read into arrays that Python takes over, written from those that it has.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <tulle/io/matrix_market.hpp>

#include "bind.hpp"
#include "matrix.hpp"

namespace tulle::python {
namespace {

std::string_view name_of(mm_symmetry s) {
  switch (s) {
    case mm_symmetry::general:
      return "general";
    case mm_symmetry::symmetric:
      return "symmetric";
    case mm_symmetry::skew_symmetric:
      return "skew-symmetric";
    case mm_symmetry::hermitian:
      break;
  }
  return "hermitian";
}

std::string_view name_of(mm_field f) {
  switch (f) {
    case mm_field::real:
      return "real";
    case mm_field::integer:
      return "integer";
    case mm_field::pattern:
      return "pattern";
    case mm_field::complex:
      break;
  }
  return "complex";
}

nb::dict facts(const matrix_market_info& info) {
  nb::dict d;
  d["field"] = std::string(name_of(info.field));
  d["symmetry"] = std::string(name_of(info.symmetry));
  d["array"] = info.array;
  d["stored_entries"] = info.stored_entries;
  d["duplicates_summed"] = info.duplicates_summed;
  d["bytes"] = info.bytes;
  d["seconds"] = info.seconds;
  d["note"] = info.note;
  return d;
}

/// From a file, or from text where `text` is bytes (and `name` stands for it in messages).
template <scalar T>
nb::tuple read(const std::string& name, const char* text, std::size_t size, const matrix_market_options& options) {
  matrix_market_info info;
  matrix made;
  {
    const nb::gil_scoped_release released;
    made.ref = text == nullptr ? matrix_ref(read_matrix_market<T>(name, options, &info))
                               : matrix_ref(parse_matrix_market<T>(std::string_view(text, size), name, options, &info));
  }
  return nb::make_tuple(std::move(made), facts(info));
}

nb::tuple read_any(const std::string& name, nb::handle text, std::string_view type, int threads, bool strict) {
  matrix_market_options options;
  options.threads = threads;
  options.strict = strict;
  const bool in_memory = !text.is_none();
  const char* const from = in_memory ? nb::cast<nb::bytes>(text).c_str() : nullptr;
  const std::size_t size = in_memory ? nb::cast<nb::bytes>(text).size() : 0;
  if (type == "f4") return read<float>(name, from, size, options);
  if (type == "f8") return read<double>(name, from, size, options);
  if (type == "i4") return read<std::int32_t>(name, from, size, options);
  if (type == "i8") return read<std::int64_t>(name, from, size, options);
  if (type == "c8") return read<std::complex<float>>(name, from, size, options);
  if (type == "c16") return read<std::complex<double>>(name, from, size, options);
  throw error(status::unsupported, "values of type " + std::string(type) + " are not read");
}

void write(const std::string& name, const matrix& a, bool symmetric, std::string_view field) {
  mm_field kind = mm_field::real;
  for (const mm_field f : {mm_field::integer, mm_field::pattern, mm_field::complex}) {
    if (name_of(f) == field) kind = f;
  }
  const nb::gil_scoped_release released;
  write_matrix_market(name, a.ref, symmetric, kind);
}

/// The row of every entry of a compressed matrix: what a COO has in place of offsets.
nb::object expand(const matrix& a) {
  const matrix_ref& m = a.ref;
  if (m.space != memory_space::host || m.format != matrix_format::csr) {
    throw error(status::unsupported, "rows of entries of a CSR in host memory only");
  }
  nb::object made = empty_vector(NPY_INT, m.nnz);
  if (!made.is_valid()) nb::raise_python_error();
  auto* const to = static_cast<std::int32_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made.ptr())));
  const nb::gil_scoped_release released;
  const auto fill = [&](const auto* offsets) {
    for (index_t i = 0; i < m.rows; ++i) std::fill(to + offsets[i], to + offsets[i + 1], i);
  };
  if (m.types.offset == offset_type::i64) {
    fill(static_cast<const std::int64_t*>(m.rowptr));
  } else {
    fill(static_cast<const std::int32_t*>(m.rowptr));
  }
  return made;
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("read_matrix_market", &read_any, nb::arg("name"), nb::arg("text").none(), nb::arg("type"), nb::arg("threads") = 0,
        nb::arg("strict") = false, "(matrix, what the file said)");
  m.def("write_matrix_market", &write, nb::arg("name"), nb::arg("matrix"), nb::arg("symmetric"), nb::arg("field"));
  m.def("expand_rows", &expand, nb::arg("matrix"));
}

}  // namespace tulle::python
