// Orders of rows and unknowns, what they are worth, and matrices in them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <tulle/core/status.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/permutation.hpp>
#include <tulle/reorder/matching.hpp>
#include <tulle/reorder/orderings.hpp>

#include "bind.hpp"
#include "matrix.hpp"
#include "work.hpp"

namespace tulle::python {
namespace {

nb::object numbers_of(const permutation& p) {
  const std::vector<index_t> order = p.to_vector();
  nb::object made = empty_vector(NPY_INT, static_cast<npy_intp>(order.size()));
  if (!made.is_valid()) nb::raise_python_error();
  std::copy(order.begin(), order.end(), static_cast<index_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made.ptr()))));
  return made;
}

nb::object find_order(const matrix& a, std::string_view method, index_t part_rows, index_t window, std::uint64_t seed) {
  const context& ctx = context_for(a.ref);
  permutation p(ctx);
  {
    const long_work at_work;
    p = method == "match_diagonal" ? match_diagonal(ctx, checked(a))
                                   : order(ctx, checked(a), ordering_named(method),
                                           {.part_rows = part_rows, .window = window, .seed = seed});
  }
  return numbers_of(p);
}

matrix permuted(const matrix& a, const nb::object& order, std::string_view what) {
  const array numbers = array_of(order, "order");
  if (numbers.kind != 'i' || numbers.bytes != 4) throw nb::type_error("order must be of type int32");
  const long_work at_work;
  const context& ctx = context_for(a.ref);
  const permutation_ref given(offset_type::i32, numbers.data, numbers.size, numbers.space);
  const permutation p(ctx, given);
  matrix made{what == "rows" ? permute_rows(ctx, checked(a), p) : permute_symmetric(ctx, checked(a), p)};
  ctx.synchronize();
  return made;
}

nb::dict quality(const matrix& a) {
  order_quality q;
  {
    const long_work at_work;
    q = measure_order(context_for(a.ref), checked(a));
  }
  nb::dict d;
  d["bandwidth"] = q.bandwidth;
  d["profile"] = q.profile;
  return d;
}

}  // namespace

void bind_reorder(nb::module_& m) {
  m.def("order", &find_order, nb::arg("matrix"), nb::arg("method"), nb::arg("part_rows") = 0, nb::arg("window") = 1024,
        nb::arg("seed") = 1);
  m.def("permuted", &permuted, nb::arg("matrix"), nb::arg("order"), nb::arg("what"));
  m.def("order_quality", &quality, nb::arg("matrix"));
  m.def("orderings", [] {
    nb::list all;
    for (const ordering o : orderings()) all.append(std::string(name(o)));
    return all;
  });
}

}  // namespace tulle::python
