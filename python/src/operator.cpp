// A plan of y = A x with its lock. The class of Python (tulle/_operator.py) derives from this one; what comes here first is what
// an array of NumPy in the plan's own type goes through, without a line of Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/reorder/orderings.hpp>

#include "bind.hpp"
#include "dense.hpp"
#include "matrix.hpp"
#include "work.hpp"

namespace tulle::python {
namespace {

template <class E>
E choice(std::string_view given, const char* what, std::initializer_list<E> all) {
  std::string names;
  for (const E e : all) {
    if (name(e) == given) return e;
    names += std::string(names.empty() ? "" : ", ") + std::string(name(e));
  }
  throw error(status::invalid_argument, std::string(what) + " = " + std::string(given) + ": must be one of " + names);
}

class py_operator {
 public:
  py_operator(const matrix& a, std::string kernel, std::string_view effort, bool transpose, bool conjugate,
              std::string_view reorder, std::string_view method, index_t columns, double tolerance, int threads,
              bool plain)
      : ctx_(threads != 0 && a.ref.space == memory_space::host ? context::cpu(threads) : own_context(a.ref)), a_(a.ref) {
    options_.kernel = std::move(kernel);
    options_.effort = choice(effort, "effort", {spmv_effort::none, spmv_effort::standard, spmv_effort::max});
    options_.transpose = transpose;
    options_.conjugate = conjugate;
    options_.reorder = choice(reorder, "reorder", {spmv_reorder::never, spmv_reorder::automatic, spmv_reorder::always});
    if (!method.empty()) options_.reorder_method = ordering_named(method);
    options_.columns = columns;
    options_.values.tolerance = tolerance;
    const long_work at_work;
    plan_.emplace(ctx_, a_, options_);
    shape_ = plan_->dimensions();
    type_ = plan_->vector_type();
    number_ = type_of(type_).number;
    plain_ = plain;
    takes_many_ = plan_->can(operation::apply_many);
  }

  /// y = A x in a new array of NumPy, or nothing where x is not an array that can be read as it is.
  [[nodiscard]] nb::object multiply(nb::handle x) const {
    if (!plain_ || on_device() || !PyArray_CheckExact(x.ptr())) return {};
    return multiply_as_computed(x);
  }

  /// The same for x of the type that the plan computes in, which may stand for another one of the caller's.
  [[nodiscard]] nb::object multiply_as_computed(nb::handle x) const {
    PyArrayObject* const from = numpy_array(x);
    if (!is_plain(x, number_)) return multiply_wider(x);
    if (PyArray_NDIM(from) == 1) return multiply_one(*plan_, from, type_, number_);
    if (PyArray_NDIM(from) == 2) return multiply_many(const_cast<py_operator*>(this)->for_many(), from, type_, number_);
    return {};
  }

  /// y = alpha A x + beta y, between arrays of the operator's type, in any layout that tulle reads. False: in none of these.
  bool apply(double alpha, nb::handle x, double beta, nb::handle y) {
    if (!is_plain(x, number_) || !is_plain(y, number_)) return false;
    PyArrayObject *const from = numpy_array(x), *const to = numpy_array(y);
    if (PyArray_NDIM(from) != PyArray_NDIM(to)) {
      throw error(status::invalid_dimensions, "x and out have different numbers of dimensions");
    }
    if (!PyArray_ISWRITEABLE(to)) throw error(status::invalid_argument, "out cannot be written");
    if (PyArray_NDIM(from) == 1) {
      const auto a = as_vector(from, type_), b = as_vector(to, type_);
      if (!a || !b || (!takes_many_ && (a->stride != 1 || b->stride != 1))) return false;
      locked([&] { plan_->apply(alpha, *a, beta, *b); });
      return true;
    }
    if (PyArray_NDIM(from) != 2) return false;
    const auto a = as_multivector(from, type_), b = as_multivector(to, type_);
    if (!a || !b) return false;
    any_spmv_plan& plan = for_many();
    locked([&] { plan.apply_many(alpha, *a, beta, *b); });
    return true;
  }

  /// The same in device memory: pointers, the distance from row to row or from vector to vector, and a stream.
  void apply_device(double alpha, std::uintptr_t x, double beta, std::uintptr_t y, index_t count, std::int64_t x_ld,
                    bool x_by_row, std::int64_t y_ld, bool y_by_row, std::uintptr_t stream) {
    apply_options how;
    how.stream = stream_view{reinterpret_cast<void*>(stream)};
    void *const from = reinterpret_cast<void*>(x), *const to = reinterpret_cast<void*>(y);
    const int device = ctx_.device();
    if (count == 0) {
      locked([&] {
        plan_->apply(alpha, const_vector_ref(type_, from, shape_.cols, memory_space::device, device), beta,
                     vector_ref(type_, to, shape_.rows, memory_space::device, device), how);
      });
      return;
    }
    const auto order = [](bool by_row) { return by_row ? vector_order::row_major : vector_order::column_major; };
    any_spmv_plan& plan = for_many();
    locked([&] {
      plan.apply_many(
          alpha, const_multivector_ref(type_, shape_.cols, count, x_ld, order(x_by_row), from, memory_space::device, device),
          beta, multivector_ref(type_, shape_.rows, count, y_ld, order(y_by_row), to, memory_space::device, device), how);
    });
  }

  void update(std::optional<nb::object> data) {
    if (!data) {
      locked([&] {
        plan_->update_values();
        if (wide_) wide_->update_values();
        if (many_) update_many(const_vector_ref(a_.types.value, a_.values, values_count(), a_.space, a_.device));
        ctx_.synchronize();  // products come on other streams
      });
      return;
    }
    const array values = array_of(*data, "data");
    if (value_type_of(values, "data") != a_.types.value) throw nb::type_error("data is of another type than A's");
    if (values.size < values_count()) {
      throw error(status::invalid_dimensions, "data has " + std::to_string(values.size) + " elements, A has " +
                                                  std::to_string(values_count()));
    }
    const const_vector_ref numbers(a_.types.value, values.data, values_count(), values.space,
                                   values.space == memory_space::device ? a_.device : -1);
    const auto kept = keep(*data);
    locked([&] {
      data_ = both(data_, kept);  // an update that fails may have lent the new ones already
      plan_->update_values(numbers);
      if (wide_) wide_->update_values(numbers);
      if (many_) update_many(numbers);
      ctx_.synchronize();
      data_ = kept;  // lent until the next ones
      a_.values = values.data;
    });
  }

  void autotune() {
    const long_work at_work;
    const std::scoped_lock lock(mutex_);
    plan_->autotune();
    takes_many_ = plan_->can(operation::apply_many);
  }

  /// What f(plan) says, between two calls.
  template <class F>
  [[nodiscard]] auto ask(const F& f) const {
    const nb::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    return f(*plan_);
  }
  [[nodiscard]] std::string explain() const {
    return ask([](const any_spmv_plan& plan) { return plan.explain(); });
  }
  [[nodiscard]] std::string value_type() const { return std::string(name(type_)); }
  [[nodiscard]] nb::tuple dimensions() const { return nb::make_tuple(shape_.rows, shape_.cols); }
  [[nodiscard]] bool on_device() const noexcept { return a_.space == memory_space::device; }

 private:
  /// Contexts are for one thread at a time, and any thread may come.
  static context own_context(const matrix_ref& a) {
    return a.space == memory_space::host ? context::cpu() : context::cuda(std::max(a.device, 0));
  }

  template <class F>
  void locked(const F& f) const {
    const nb::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    f();
  }

  [[nodiscard]] std::int64_t values_count() const noexcept { return a_.nnz; }

  nb::object multiply_one(const any_spmv_plan& plan, PyArrayObject* from, scalar_type type, int number) const {
    const auto x = as_vector(from, type);
    if (!x || (x->stride != 1 && !plan.can(operation::apply_many))) return {};
    nb::object made = empty_vector(number, shape_.rows);
    if (!made.is_valid()) nb::raise_python_error();
    const vector_ref y(type, PyArray_DATA(numpy_array(made)), shape_.rows, memory_space::host);
    locked([&] { plan.apply(1, *x, 0, y); });
    return made;
  }

  nb::object multiply_many(const any_spmv_plan& plan, PyArrayObject* from, scalar_type type, int number) const {
    const auto x = as_multivector(from, type);
    if (!x) return {};
    nb::object made = empty_like_rows(*x, number, shape_.rows);
    const auto y = as_multivector(numpy_array(made), type);
    if (x->count == 0 || !y) return made;
    locked([&] { plan.apply_many(1, *x, 0, *y); });
    return made;
  }

  /// f32 values between f64 vectors, by a plan of its own that is made when it is first wanted.
  nb::object multiply_wider(nb::handle x) const {
    const int dimensions = is_plain(x, NPY_DOUBLE) ? PyArray_NDIM(numpy_array(x)) : 0;
    if (type_ != scalar_type::f32 || (dimensions != 1 && dimensions != 2)) return {};
    locked([&] {
      if (wide_) return;
      spmv_options options = options_;
      options.vector_type = scalar_type::f64;
      wide_.emplace(ctx_, a_, options);
    });
    if (dimensions == 1) return multiply_one(*wide_, numpy_array(x), scalar_type::f64, NPY_DOUBLE);
    if (!wide_->can(operation::apply_many)) return {};
    return multiply_many(*wide_, numpy_array(x), scalar_type::f64, NPY_DOUBLE);
  }

  /// Blocks that stay blocks take one vector at a time: several go by a CSR.
  any_spmv_plan& for_many() {
    if (takes_many_) return *plan_;
    locked([&] {
      if (many_) return;
      many_matrix_ = to_csr(ctx_, a_);
      spmv_options options = options_;
      options.kernel.clear();
      many_.emplace(ctx_, many_matrix_, options);
    });
    return *many_;
  }

  void update_many(const const_vector_ref& numbers) {
    matrix_ref now = a_;
    now.values = numbers.data;
    spmv_options options = options_;
    options.kernel.clear();
    many_matrix_ = to_csr(ctx_, now);
    many_.emplace(ctx_, many_matrix_, options);
  }

  context ctx_;
  matrix_ref a_;
  matrix_ref many_matrix_;
  spmv_options options_;
  std::shared_ptr<const void> data_;
  std::optional<any_spmv_plan> plan_;
  mutable std::optional<any_spmv_plan> wide_;
  std::optional<any_spmv_plan> many_;
  mutable plan_lock mutex_;
  shape shape_;
  scalar_type type_ = scalar_type::f64;
  int number_ = NPY_DOUBLE;
  bool plain_ = true;  // results are of the type that the plan computes in
  std::atomic<bool> takes_many_ = true;
};

/// What the fast way does not take goes to the class of Python.
nb::object matmul(nb::pointer_and_handle<py_operator> self, nb::handle x) {
  if (nb::object y = self.p->multiply(x); y.is_valid()) return y;
  return self.h.attr("_matmul_any")(x);
}

/// The same where nobody else can be asked to multiply.
nb::object product(nb::pointer_and_handle<py_operator> self, nb::handle x) {
  nb::object y = matmul(self, x);
  if (!y.is(nb::handle(Py_NotImplemented))) return y;
  throw nb::type_error("a tulle.operator multiplies vectors and matrices");
}

template <class F>
auto asking(const F& f) {
  return [f](const py_operator& a) { return a.ask(f); };
}

}  // namespace

void bind_operator(nb::module_& m) {
  nb::class_<py_operator>(m, "Operator", nb::dynamic_attr(), nb::is_weak_referenceable())
      .def(nb::init<const matrix&, std::string, std::string_view, bool, bool, std::string_view, std::string_view,
                    index_t, double, int, bool>(),
           nb::arg("matrix"), nb::arg("kernel") = "", nb::arg("effort") = "standard", nb::arg("transpose") = false,
           nb::arg("conjugate") = false, nb::arg("reorder") = "never", nb::arg("reorder_method") = "",
           nb::arg("columns") = 0, nb::arg("tolerance") = 0.0, nb::arg("threads") = 0, nb::arg("plain") = true)
      .def("__matmul__", &matmul, nb::arg("x").none(), nb::sig("def __matmul__(self, x: typing.Any) -> typing.Any"))
      .def("matvec", &product, nb::arg("x").none(), nb::sig("def matvec(self, x: typing.Any) -> typing.Any"),
           "A @ x for a vector; what solvers of SciPy and CuPy call.")
      .def("matmat", &product, nb::arg("x").none(), nb::sig("def matmat(self, x: typing.Any) -> typing.Any"),
           "A @ X for several vectors side by side.")
      .def("dot", &product, nb::arg("x").none(), nb::sig("def dot(self, x: typing.Any) -> typing.Any"))
      .def("__call__", &product, nb::arg("x").none(), nb::sig("def __call__(self, x: typing.Any) -> typing.Any"))
      .def("_multiply",
           [](const py_operator& a, nb::handle x) {
             nb::object y = a.multiply_as_computed(x);
             return y.is_valid() ? y : nb::none();
           })
      .def("_apply", &py_operator::apply, nb::arg("alpha"), nb::arg("x"), nb::arg("beta"), nb::arg("y"))
      .def("_apply_device", &py_operator::apply_device)
      .def("_update", &py_operator::update, nb::arg("data").none())
      .def("_autotune", &py_operator::autotune)
      .def("explain", &py_operator::explain, "One sentence: the kernel, and why.")
      .def_prop_ro("kernel", asking([](const any_spmv_plan& plan) { return std::string(plan.kernel()); }), "The kernel's name.")
      .def_prop_ro("shape", &py_operator::dimensions, nb::for_getter(nb::sig("def shape(self) -> tuple[int, int]")),
                   "(rows, columns)")
      .def_prop_ro("value_type", &py_operator::value_type)
      .def_prop_ro("plan_seconds", asking([](const any_spmv_plan& plan) { return plan.plan_microseconds() * 1e-6; }),
                   "What planning took, in seconds.")
      .def_prop_ro("workspace_bytes", asking([](const any_spmv_plan& plan) { return plan.workspace_bytes(); }),
                   "Bytes that the plan owns beside the arrays it was given.")
      .def_prop_ro("matrix_bytes", asking([](const any_spmv_plan& plan) { return plan.matrix_bytes(); }),
                   "Bytes of the matrix that one product reads.");
}

}  // namespace tulle::python
