// What this tulle is and runs on.
#include <nanobind/stl/string.h>

#include <tulle/core/build_info.hpp>
#include <tulle/core/context.hpp>
#include <tulle/ops/kernels.hpp>
#include <tulle/version.hpp>

#include "bind.hpp"
#include "matrix.hpp"

namespace tulle::python {

void bind_system(nb::module_& m) {
  m.attr("__version__") = TULLE_VERSION_STRING;
  nb::list types;
  nb::dict names;  // tulle's to NumPy's
  for (const value_type& t : value_types) {
    std::string text(1, t.kind);
    text += std::to_string(t.bytes);
    types.append(text);
    names[std::string(name(t.type)).c_str()] = text;
  }
  m.attr("value_types") = types;
  m.attr("names") = names;
  m.def("device_count", [] { return cuda_device_count(); });
  m.def("why_no_device", [] { return cuda_unavailable_reason(); });
  m.def("build_info", [] {
    const build_info& b = built_from();
    nb::dict d;
    const auto text = [](std::string_view s) { return std::string(s); };
    d["version"] = text(b.version);
    d["commit"] = text(b.commit);
    d["compiler"] = text(b.compiler);
    d["flags"] = text(b.flags);
    d["cuda"] = text(b.cuda);
    return d;
  });
  m.def("machine", [] {
    const context& ctx = context_for(memory_space::host, -1);
    nb::dict d;
    d["cpu"] = ctx.info().name;
    d["threads"] = ctx.threads();
    d["memory_bytes"] = ctx.info().memory_bytes;
    return d;
  });
}

}  // namespace tulle::python
