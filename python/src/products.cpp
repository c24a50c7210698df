// C = A B of sparse matrices, plans of it, and triple products. Results own their arrays (matrix.cpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <tulle/ops/spgemm.hpp>

#include "bind.hpp"
#include "matrix.hpp"
#include "work.hpp"

namespace tulle::python {
namespace {

/// The mask is a matrix, or None.
std::optional<matrix_ref> optional_ref(const matrix* m) { return m == nullptr ? std::nullopt : std::optional(m->ref); }

spgemm_options options_of(std::size_t memory_limit, std::string kernel) {
  spgemm_options options;
  options.memory_limit = memory_limit;
  options.kernel = std::move(kernel);
  return options;
}

matrix multiply(const matrix& a, const matrix& b, const matrix* mask, std::size_t memory_limit, std::string kernel) {
  const long_work at_work;
  const context& ctx = context_for(a.ref);
  const spgemm_options options = options_of(memory_limit, std::move(kernel));
  matrix c{mask == nullptr ? spgemm(ctx, a.ref, b.ref, options) : spgemm_masked(ctx, a.ref, b.ref, mask->ref, options)};
  ctx.synchronize();
  return c;
}

matrix multiply_three(const matrix& r, const matrix& a, const matrix& p, std::size_t memory_limit) {
  const long_work at_work;
  const context& ctx = context_for(a.ref);
  matrix c{triple_product(ctx, r.ref, a.ref, p.ref, options_of(memory_limit, {}))};
  ctx.synchronize();
  return c;
}

/// A product that is made again for other numbers.
class product_plan {
 public:
  product_plan(const matrix& a, const matrix& b, const matrix* mask, std::size_t memory_limit, std::string kernel)
      : ctx_(a.ref.space == memory_space::host ? context::cpu() : context::cuda(std::max(a.ref.device, 0))),
        a_(a.ref),
        b_(b.ref) {
    const long_work at_work;
    plan_.emplace(ctx_, a_, b_, options_of(memory_limit, std::move(kernel)), spgemm_terms{.mask = optional_ref(mask)});
  }

  matrix multiply() {
    const long_work at_work;
    const std::scoped_lock lock(mutex_);
    matrix c{plan_->multiply()};
    ctx_.synchronize();
    return c;
  }

  /// The values of C anew, where it is.
  void numeric(const matrix& c) {
    const long_work at_work;
    const std::scoped_lock lock(mutex_);
    plan_->numeric(c.ref);
    ctx_.synchronize();
  }

  void update(const nb::object& a, const nb::object& b) {
    const array of_a = array_of(a, "a"), of_b = array_of(b, "b");
    const const_vector_ref x = values_of(of_a, a_, "a"), y = values_of(of_b, b_, "b");
    auto kept = keep(nb::make_tuple(a, b));
    const nb::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    data_ = both(data_, kept);  // an update that fails may have lent the new ones already
    plan_->update_values(x, y);
    data_ = std::move(kept);
  }

  [[nodiscard]] std::string explain() const {
    const nb::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    return plan_->explain();
  }
  [[nodiscard]] std::string kernel() const { return std::string(plan_->kernel()); }
  [[nodiscard]] nb::tuple dimensions() const {
    return nb::make_tuple(plan_->dimensions().rows, plan_->dimensions().cols);
  }

 private:
  static const_vector_ref values_of(const array& v, const matrix_ref& of, const char* name) {
    if (value_type_of(v, name) != of.types.value) throw nb::type_error("other values are of another type than those before");
    if (v.size < of.nnz) throw error(status::invalid_dimensions, std::string(name) + " has too few values");
    return {of.types.value, v.data, of.nnz, v.space, v.space == memory_space::device ? of.device : -1};
  }

  context ctx_;
  matrix_ref a_, b_;
  std::shared_ptr<const void> data_;
  std::optional<any_spgemm_plan> plan_;
  mutable plan_lock mutex_;
};

}  // namespace

void bind_products(nb::module_& m) {
  m.def("multiply", &multiply, nb::arg("a"), nb::arg("b"), nb::arg("mask").none() = nb::none(), nb::arg("memory_limit") = 0,
        nb::arg("kernel") = "");
  m.def("triple_product", &multiply_three, nb::arg("r"), nb::arg("a"), nb::arg("p"), nb::arg("memory_limit") = 0);
  nb::class_<product_plan>(m, "ProductPlan")
      .def(nb::init<const matrix&, const matrix&, const matrix*, std::size_t, std::string>(), nb::arg("a"), nb::arg("b"),
           nb::arg("mask").none() = nb::none(), nb::arg("memory_limit") = 0, nb::arg("kernel") = "")
      .def("multiply", &product_plan::multiply)
      .def("numeric", &product_plan::numeric, nb::arg("c"))
      .def("update", &product_plan::update, nb::arg("a"), nb::arg("b"))
      .def("explain", &product_plan::explain)
      .def_prop_ro("kernel", &product_plan::kernel)
      .def_prop_ro("shape", &product_plan::dimensions);
}

}  // namespace tulle::python
