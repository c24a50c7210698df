// What a matrix looks like, and the kernels there are: for tulle.info and tulle.bench.
#include <nanobind/stl/string.h>

#include <tulle/formats/stats.hpp>
#include <tulle/ops/kernels.hpp>
#include <tulle/ops/matrix.hpp>

#include "bind.hpp"
#include "matrix.hpp"

namespace tulle::python {
namespace {

/// Of the pattern: no value is looked at, so that one type stands for all.
csr_stats statistics_of(const context& ctx, const matrix_ref& a) {
  return a.types.offset == offset_type::i64 ? statistics(ctx, a.as<double, std::int64_t>())
                                            : statistics(ctx, a.as<double, std::int32_t>());
}

nb::dict describe(const matrix& m) {
  csr_stats s;
  {
    const nb::gil_scoped_release released;
    const context& ctx = context_for(m.ref);
    s = statistics_of(ctx, to_csr(ctx, checked(m)));
  }
  nb::dict d;
  d["rows"] = s.rows;
  d["columns"] = s.cols;
  d["nonzeros"] = s.nnz;
  d["mean_row"] = s.mean;
  d["longest_row"] = s.max;
  d["row_deviation"] = s.stddev;
  d["empty_rows"] = s.empty_rows;
  d["bandwidth"] = s.bandwidth;
  return d;
}

nb::list kernels_of(bool cuda) {
  nb::list all;
  for (const kernel_info& k : kernels(cuda ? backend_kind::cuda : backend_kind::cpu)) {
    nb::dict d;
    d["name"] = std::string(k.name);
    d["summary"] = std::string(k.summary);
    d["operation"] = std::string(name(k.operation));
    d["role"] = std::string(name(k.role));
    all.append(std::move(d));
  }
  return all;
}

}  // namespace

void bind_report(nb::module_& m) {
  m.def("describe", &describe, nb::arg("matrix"));
  m.def("kernels", &kernels_of, nb::arg("cuda"));
}

}  // namespace tulle::python
