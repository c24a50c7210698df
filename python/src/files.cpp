// Matrix Market files: read into arrays that Python takes over, written from those that it has.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <tulle/io/matrix_market.hpp>

#include "bind.hpp"
#include "matrix.hpp"
#include "work.hpp"

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

/// How to read, and bytes in place of a file, or null.
struct input {
  matrix_market_options options;
  const char* text = nullptr;
  std::size_t size = 0;
};

input input_of(nb::handle text, int threads, bool strict) {
  input in{{.strict = strict, .threads = threads}};
  if (text.is_none()) return in;
  const auto bytes = nb::cast<nb::bytes>(text);
  in.text = bytes.c_str();
  in.size = bytes.size();
  return in;
}

/// From a file, or from text where `text` is bytes (and `name` stands for it in messages).
template <scalar T>
nb::tuple read(const std::string& name, const char* text, std::size_t size, const matrix_market_options& options) {
  matrix_market_info info;
  matrix made;
  {
    const long_work at_work;
    made.ref = text == nullptr ? matrix_ref(read_matrix_market<T>(name, options, &info))
                               : matrix_ref(parse_matrix_market<T>(std::string_view(text, size), name, options, &info));
  }
  return nb::make_tuple(std::move(made), facts(info));
}

template <scalar T>
constexpr int numpy_type = std::is_same_v<T, double> ? NPY_DOUBLE : std::is_same_v<T, std::int64_t> ? NPY_INT64 : NPY_CDOUBLE;

/// (rows, columns, row of every entry, column, value), in the order of the file.
template <scalar T>
nb::tuple list(const std::string& name, const char* text, std::size_t size, const matrix_market_options& options) {
  auto made = std::make_shared<mm_entries<T>>();
  {
    const long_work at_work;
    *made = text == nullptr ? read_matrix_market_entries<T>(name, options)
                            : parse_matrix_market_entries<T>(std::string_view(text, size), name, options);
  }
  return nb::make_tuple(made->rows, made->cols, borrowed_array(NPY_INT, made->count, made->row.data(), made),
                        borrowed_array(NPY_INT, made->count, made->col.data(), made),
                        borrowed_array(numpy_type<T>, made->count, made->values.data(), made));
}

nb::tuple list_any(const std::string& name, nb::handle text, std::string_view type, int threads, bool strict) {
  const auto [options, from, size] = input_of(text, threads, strict);
  if (type == "f8") return list<double>(name, from, size, options);
  if (type == "i8") return list<std::int64_t>(name, from, size, options);
  if (type == "c16") return list<std::complex<double>>(name, from, size, options);
  throw error(status::unsupported, "values of type " + std::string(type) + " are not listed");
}

nb::tuple read_any(const std::string& name, nb::handle text, std::string_view type, int threads, bool strict) {
  const auto [options, from, size] = input_of(text, threads, strict);
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
  const long_work at_work;
  write_matrix_market(name, checked(a), symmetric, kind);
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("read_matrix_market", &read_any, nb::arg("name"), nb::arg("text").none(), nb::arg("type"), nb::arg("threads") = 0,
        nb::arg("strict") = false, "(matrix, what the file said)");
  m.def("list_matrix_market", &list_any, nb::arg("name"), nb::arg("text").none(), nb::arg("type"), nb::arg("threads") = 0,
        nb::arg("strict") = false, "(rows, columns, row, column and value of every entry)");
  m.def("write_matrix_market", &write, nb::arg("name"), nb::arg("matrix"), nb::arg("symmetric"), nb::arg("field"));
}

}  // namespace tulle::python
