// A x = b: solvers that are made once for a matrix, and a solve that a person can interrupt.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <optional>
#include <tulle/core/status.hpp>
#include <tulle/reorder/orderings.hpp>
#include <tulle/solvers/cg.hpp>
#include <tulle/solvers/jacobi.hpp>

#include "bind.hpp"
#include "matrix.hpp"
#include "work.hpp"

namespace tulle::python {
namespace {

using clock = std::chrono::steady_clock;

template <class E, class... Rest>
E choice(std::string_view given, const char* what, E first, Rest... rest) {
  std::string names;
  for (const E e : {first, rest...}) {
    if (name(e) == given) return e;
    names += std::string(names.empty() ? "" : ", ") + std::string(name(e));
  }
  throw error(status::invalid_argument, std::string(what) + " = " + std::string(given) + ": must be one of " + names);
}

template <class T>
T option(const nb::dict& from, const char* key, T otherwise) {
  if (!from.contains(key)) return otherwise;
  T value;
  if (!nb::try_cast<T>(from[key], value)) throw nb::type_error((std::string(key) + " has the wrong type").c_str());
  return value;
}

template <class Options>
Options common_options(const nb::dict& from) {
  Options o;
  o.rtol = option(from, "rtol", o.rtol);
  o.atol = option(from, "atol", o.atol);
  o.max_iterations = option(from, "max_iterations", o.max_iterations);
  o.check_interval = option(from, "check_interval", o.check_interval);
  o.keep_history = option(from, "history", true);
  o.precision = choice(option<std::string>(from, "precision", "uniform"), "precision", solver_precision::uniform,
                       solver_precision::mixed);
  o.spmv.reorder = choice(option<std::string>(from, "reorder", "never"), "reorder", spmv_reorder::never,
                          spmv_reorder::automatic, spmv_reorder::always);
  if (const auto how = option<std::string>(from, "reorder_method", ""); !how.empty()) {
    o.spmv.reorder_method = ordering_named(how);
  }
  return o;
}

cg_options options_of_cg(const nb::dict& from) {
  auto o = common_options<cg_options>(from);
  o.replace_interval = option(from, "replace_interval", o.replace_interval);
  o.preconditioner = choice(option<std::string>(from, "preconditioner", "jacobi"), "preconditioner", preconditioner_kind::none,
                            preconditioner_kind::jacobi, preconditioner_kind::block_jacobi, preconditioner_kind::chebyshev);
  o.block = option(from, "block", o.block);
  o.degree = option(from, "degree", o.degree);
  o.kernel = option<std::string>(from, "kernel", "");
  o.once = option(from, "once", o.once);
  return o;
}

jacobi_options options_of_jacobi(const nb::dict& from) {
  auto o = common_options<jacobi_options>(from);
  o.omega = option(from, "omega", o.omega);
  o.spmv.kernel = option<std::string>(from, "kernel", "");
  return o;
}

/// Called by a solve that runs without the GIL: looks for signals ten times a second, and tells whoever wants to know.
class watch {
 public:
  void begin(nb::handle callback) {
    callback_ = callback;
    last_ = clock::now();
  }
  void operator()(int iterations, double residual) {
    const auto now = clock::now();
    if (callback_.is_none() && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    if (!callback_.is_none()) callback_(iterations, residual);
  }

 private:
  nb::handle callback_ = nb::none();
  clock::time_point last_;
};

/// A solver of either kind with its lock.
template <class Solver, class Options>
class py_solver {
 public:
  py_solver(const matrix& a, const Options& given, int threads)
      : ctx_(a.ref.space == memory_space::device ? context::cuda(std::max(a.ref.device, 0)) : context::cpu(threads)),
        values_(a.ref.nnz),
        type_(a.ref.types.value) {
    Options options = given;
    options.progress = [this](int iterations, double residual) { watch_(iterations, residual); };
    const long_work at_work;
    const auto begin = clock::now();
    solver_.emplace(ctx_, a.ref, options);
    setup_seconds_ = std::chrono::duration<double>(clock::now() - begin).count();
  }

  nb::dict solve(const nb::object& b, const nb::object& x, nb::handle callback) {
    const array from = array_of(b, "b"), to = array_of(x, "x");
    if (!to.writable) throw error(status::invalid_argument, "x cannot be written");
    const auto type = value_type_of(from, "b");
    if (value_type_of(to, "x") != type) throw nb::type_error("b and x are of different types");
    const int device = ctx_.device();
    const const_vector_ref rhs(type, from.data, from.size, from.space, from.space == memory_space::device ? device : -1);
    const vector_ref solution(type, to.data, to.size, to.space, to.space == memory_space::device ? device : -1);
    cg_result end;
    double seconds = 0;
    {
      const nb::gil_scoped_release released;
      const std::scoped_lock lock(mutex_);
      watch_.begin(callback);
      const auto begin = clock::now();
      end = solver_->solve(rhs, solution);
      seconds = std::chrono::duration<double>(clock::now() - begin).count();
    }
    return report(end, seconds);
  }

  void update(const nb::object& data) {
    const array values = array_of(data, "data");
    if (value_type_of(values, "data") != type_) throw nb::type_error("data is of another type than A's");
    if (values.size < values_) {
      throw error(status::invalid_dimensions,
                  "data has " + std::to_string(values.size) + " elements, A has " + std::to_string(values_));
    }
    auto kept = keep(data);
    const nb::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    data_ = both(data_, kept);  // an update that fails may have lent the new ones already
    solver_->update_values({type_, values.data, values_, values.space,
                            values.space == memory_space::device ? ctx_.device() : -1});
    data_ = std::move(kept);
  }

  [[nodiscard]] std::string explain() const { return solver_->explain(); }
  [[nodiscard]] std::string kernel() const { return std::string(solver_->kernel()); }
  [[nodiscard]] std::size_t workspace_bytes() const { return solver_->workspace_bytes(); }

 private:
  nb::dict report(const cg_result& end, double seconds) const {
    nb::object history = empty_vector(NPY_DOUBLE, static_cast<npy_intp>(end.history.size()));
    if (!history.is_valid()) nb::raise_python_error();
    std::copy(end.history.begin(), end.history.end(),
              static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(history.ptr()))));
    nb::dict d;
    d["status"] = std::string(name(static_cast<status>(end.code)));
    d["iterations"] = end.iterations;
    d["residual"] = end.residual;
    d["rhs"] = end.rhs;
    d["row"] = end.row;
    d["corrections"] = end.corrections;
    d["wide_iterations"] = end.wide_iterations;
    d["history"] = std::move(history);
    d["setup_seconds"] = setup_seconds_;
    d["solve_seconds"] = seconds;
    return d;
  }

  context ctx_;
  std::int64_t values_;
  scalar_type type_;
  watch watch_;
  std::shared_ptr<const void> data_;
  std::optional<Solver> solver_;
  double setup_seconds_ = 0;
  plan_lock mutex_;
};

template <class Solver, class Options>
void bind_solver(nb::module_& m, const char* name, Options (*read)(const nb::dict&)) {
  using bound = py_solver<Solver, Options>;
  nb::class_<bound>(m, name)
      .def("__init__",
           [read](bound* self, const matrix& a, const nb::dict& options, int threads) {
             new (self) bound(a, read(options), threads);
           },
           nb::arg("matrix"), nb::arg("options"), nb::arg("threads") = 0)
      .def("solve", &bound::solve, nb::arg("b"), nb::arg("x"), nb::arg("callback").none() = nb::none())
      .def("update", &bound::update, nb::arg("data"))
      .def("explain", &bound::explain)
      .def_prop_ro("kernel", &bound::kernel)
      .def_prop_ro("workspace_bytes", &bound::workspace_bytes);
}

}  // namespace

void bind_solvers(nb::module_& m) {
  bind_solver<cg_solver, cg_options>(m, "CgSolver", &options_of_cg);
  bind_solver<jacobi_solver, jacobi_options>(m, "JacobiSolver", &options_of_jacobi);
}

}  // namespace tulle::python
