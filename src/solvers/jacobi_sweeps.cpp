#include "solvers/jacobi_sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/matrix_arrays.hpp"
#include "kernels/spmv.hpp"
#include "kernels/types.hpp"

namespace tulle::detail {
namespace {

/// Of a graph at most.
constexpr int sweeps_together = 50;

}  // namespace

jacobi_sweeps::jacobi_sweeps(const context& ctx, const matrix_ref& a, const spmv_options& options, double omega,
                             const permutation* stored, int together)
    : ctx_(ctx),
      ops_(ctx),
      plan_(ctx, a, options),
      type_(plan_.vector_type()),
      n_(a.rows),
      omega_(omega),
      together_(std::min(together, sweeps_together) / 2 * 2) {
  if (stored != nullptr && !operator_of(plan_).store_in_order(stored->order().data(), true)) {
    throw error(status::unsupported,
                fmt::format("form = rows: kernel {} cannot store rows in an order", plan_.kernel()));
  }
  for (buffer<std::byte>* v : {&inverse_, &b_, &residual_, &iterate_[0], &iterate_[1]}) {
    *v = buffer<std::byte>(ctx, static_cast<std::size_t>(n_) * size_of(type_));
  }
}

void jacobi_sweeps::set_inverse(const std::vector<double>& inverses) {
  dispatch<type_set::floating>({type_}, [&]<class T, class>() {
    const std::vector<T> typed(inverses.begin(), inverses.end());
    copy_bytes(ctx_, inverse_.data(), ctx_.space(), typed.data(), memory_space::host, inverse_.bytes());
    ctx_.synchronize();  // before what was copied goes
  });
}

void jacobi_sweeps::update_values(const matrix_ref& a) {
  plan_.update_values(const_vector_ref(a.types.value, a.values, arrays_of(ctx_, a).values, a.space, a.device));
  capture();  // a kernel may read values where they are
  ctx_.synchronize();
}

/// Sweeps that begin and end with the first iterate. A stream that cannot be captured goes without.
void jacobi_sweeps::capture() {
  if (ctx_.backend() != backend_kind::cuda || together_ == 0 || n_ == 0) return;
  sweeps_.reset();
  try {
    sweeps_.emplace(ctx_, [&] {
      for (int i = 0; i < together_; ++i) sweep(i % 2);
    });
    in_graph_ = together_;
  } catch (const error& e) {
    if (e.code() != status::unsupported) throw;
  }
}

void jacobi_sweeps::sweep(int from) {
  const vector_ref x = iterate(from), y = iterate(1 - from);
  if (plan_.can(operation::jacobi)) return plan_.jacobi(omega_, x, b(), vector(inverse_), y);
  subtract_product(from);
  ops_.copy(x, y);
  ops_.multiply(omega_, vector(inverse_), residual(), 1, y);
}

void jacobi_sweeps::subtract_product(int iterate_number) {
  ops_.copy(b(), residual());
  plan_.apply(-1, iterate(iterate_number), 1, residual());
}

int jacobi_sweeps::advance(int from, int count) {
  while (count > 0) {
    if (from == 0 && sweeps_ && count >= in_graph_) {
      sweeps_->launch();
      count -= in_graph_;
    } else {
      sweep(from);
      from = 1 - from;
      --count;
    }
  }
  return from;
}

}  // namespace tulle::detail
