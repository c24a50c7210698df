// Solvers of the C API in a session: systems that are positive definite for the most part, ends that are true.
#pragma once

#include <array>
#include <cmath>

#include "capi_handles.hpp"
#include "capi_orders.hpp"

namespace tulle::fuzz {

struct cg {
  tulle_cg_solver* handle = nullptr;
  std::int64_t rows = 0, nnz = 0;
  tulle_scalar_type type = TULLE_F64, vector = TULLE_F64;
  std::int32_t rhs = 1;
};

struct jacobi {
  tulle_jacobi_solver* handle = nullptr;
  std::int64_t rows = 0, nnz = 0;
  tulle_scalar_type type = TULLE_F64, vector = TULLE_F64;
};

struct batch {
  tulle_cg_batch* handle = nullptr;
  std::int64_t systems = 0, rows = 0, values = 0;  // rows and values of all
  tulle_scalar_type type = TULLE_F64;
};

inline void destroy(const cg& c) { tulle_cg_solver_destroy(c.handle); }
inline void destroy(const jacobi& j) { tulle_jacobi_solver_destroy(j.handle); }
inline void destroy(const batch& b) { tulle_cg_batch_destroy(b.handle); }

class solver_steps {
 public:
  solver_steps(input& in, arena& memory, order_steps& orders) : in_(in), memory_(memory), orders_(orders) {}

  /// A solver or a batch of `m`, or of a system that is made for it.
  void make(tulle_context* context, tulle_csr* m, const char* kernel) {
    tulle_csr* made = nullptr;
    if (in_.byte() < 220) m = made = system(context);
    tulle_csr_arrays a{};
    if (m != nullptr) require(ok(tulle_csr_get_arrays(m, &a)), "no arrays");
    switch (in_.below(3)) {
      case 0:
        make_solver(context, m, a, kernel);
        break;
      case 1:
        make_jacobi(context, m, a, kernel);
        break;
      default:
        make_batch(context, m, a);
    }
    if (in_.byte() < 200) {
      owned_.add({made, false});
    } else {
      tulle_csr_destroy(made);  // what was made of it keeps what it needs
    }
  }

  void use() {
    switch (in_.below(3)) {
      case 0:
        return use_solver();
      case 1:
        return use_jacobi();
      default:
        return use_batch();
    }
  }

  void destroy_one() {
    const auto of = [&](auto& pool) {
      if (!pool.all.empty()) pool.destroy_one(in_.byte() % pool.all.size());
    };
    const int what = in_.below(3);
    what == 0 ? of(solvers_) : what == 1 ? of(jacobis_) : of(batches_);
  }

 private:
  /// Symmetric, with a diagonal that outweighs the rest; now and then a value that breaks it.
  tulle_csr* system(tulle_context* context) {
    const std::int64_t n = in_.below(9);
    std::vector<std::int64_t> rowptr{0}, colind, values;
    const unsigned seed = in_.byte();
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t c = 0; c < n; ++c) {
        const auto low = static_cast<unsigned>(std::min(r, c)), high = static_cast<unsigned>(std::max(r, c));
        const unsigned word = (low * 7 + high * 13 + 1) * (seed + 3) % 11;
        if (r != c && word > 4) continue;
        colind.push_back(c);
        values.push_back(r == c ? 20 : static_cast<std::int64_t>(word) - 2);
      }
      rowptr.push_back(static_cast<std::int64_t>(colind.size()));
    }
    if (in_.rarely() && !values.empty()) values[in_.byte() % values.size()] = -30;
    const tulle_scalar_type type = in_.rarely() ? TULLE_I32 : in_.below(2);
    const bool narrow = in_.below(2) == 0;
    const tulle_csr_arrays a{
        n,
        n,
        rowptr.back(),
        type,
        narrow ? TULLE_OFFSET_I32 : TULLE_OFFSET_I64,
        0,
        TULLE_HOST,
        narrow ? static_cast<void*>(memory_.copy<std::int32_t>(rowptr)) : memory_.copy<std::int64_t>(rowptr),
        memory_.copy<std::int32_t>(colind),
        memory_.copy(values, type)};
    tulle_csr* made = nullptr;
    ok(tulle_csr_copy(context, &a, &made));
    return made;
  }

  tulle_cg_options options() {
    tulle_cg_options o{};
    o.rtol = in_.rarely() ? in_.factor() : in_.one_of({0.0, 1e-3, 1e-12, 1e-300});
    o.atol = in_.rarely() ? in_.factor() : 0;
    o.max_iterations = in_.rarely() ? -2 : in_.below(60) - 1;
    if (o.max_iterations == 0) o.max_iterations = 1;
    o.check_interval = in_.rarely() ? -1 : in_.below(3);
    o.replace_interval = in_.rarely() ? -2 : in_.below(6) - 1;
    o.zero_guess = in_.rarely() ? 2 : in_.below(2);
    o.rtol_given = in_.rarely() ? 2 : in_.below(2);
    o.keep_history = in_.rarely() ? 2 : in_.below(2);
    o.preconditioner = in_.rarely() ? 4 : in_.below(4);
    o.block = in_.rarely() ? 9 : in_.below(9);
    o.degree = in_.rarely() ? 101 : in_.below(5);
    set_precision(o);
    return o;
  }

  template <class Options>
  void set_precision(Options& o) {
    if (in_.byte() > 200) o.precision = in_.rarely() ? 2 : 1;
    if (in_.byte() > 200) o.tolerance = in_.rarely() ? in_.factor() : in_.one_of({1e-3, 1e-7, 0.5});
    o.bound = in_.rarely() ? 3 : in_.below(3);
  }

  void make_solver(tulle_context* context, tulle_csr* m, const tulle_csr_arrays& a, const char* kernel) {
    cg c{nullptr, a.rows, a.nnz, a.scalar_type, a.scalar_type};
    tulle_cg_options o = options();
    o.kernel = in_.byte() < 200 ? nullptr : in_.below(2) == 0 ? "cg.operations" : kernel;
    o.rhs = in_.rarely() ? -1 : in_.below(4);
    const tulle_scalar_type vector = in_.rarely() ? 3 : in_.below(2);
    if (in_.byte() > 200) o.vector_type = &vector;
    if (o.vector_type != nullptr) c.vector = vector;
    c.rhs = std::max(o.rhs, 1);
    if (in_.byte() > 200) o.reorder = in_.rarely() ? 3 : 1 + in_.below(2);
    if (o.reorder != TULLE_REORDER_NEVER) o.order = orders_.of_size(a.rows);
    if (!ok(tulle_cg_solver_create(context, m, &o, &c.handle))) {
      return require(c.handle == nullptr, "a handle goes with SUCCESS alone");
    }
    const char* sentence = nullptr;
    std::size_t bytes = 0;
    require(ok(tulle_cg_solver_explain(c.handle, &sentence)) && ok(tulle_cg_solver_workspace(c.handle, &bytes)),
            "no explanation");
    require(a.rows == a.cols, "a solver of what is not square");
    solvers_.add(c);
  }

  void make_jacobi(tulle_context* context, tulle_csr* m, const tulle_csr_arrays& a, const char* kernel) {
    jacobi j{nullptr, a.rows, a.nnz, a.scalar_type, a.scalar_type};
    tulle_jacobi_options o{};
    o.rtol = in_.rarely() ? in_.factor() : in_.one_of({0.0, 1e-3, 1e-12});
    o.max_iterations = in_.rarely() ? -2 : 1 + in_.below(60);
    o.check_interval = in_.rarely() ? -1 : in_.below(9);
    o.omega = in_.rarely() ? in_.factor() : in_.one_of({0.0, 0.5, 1.0});
    o.form = in_.rarely() ? 3 : in_.below(3);
    if (o.form != TULLE_JACOBI_PLAIN) o.order = orders_.of_size(a.rows);
    o.match = in_.rarely() ? 2 : in_.below(2);
    set_precision(o);
    o.kernel = in_.byte() < 200 ? nullptr : kernel;
    const tulle_scalar_type vector = in_.rarely() ? 3 : in_.below(2);
    if (in_.byte() > 200) o.vector_type = &vector;
    const bool by_default = in_.rarely();
    if (o.vector_type != nullptr && !by_default) j.vector = vector;
    if (!ok(tulle_jacobi_solver_create(context, m, by_default ? nullptr : &o, &j.handle))) {
      return require(j.handle == nullptr, "a handle goes with SUCCESS alone");
    }
    const char* sentence = nullptr;
    std::size_t bytes = 0;
    require(ok(tulle_jacobi_solver_explain(j.handle, &sentence)) && ok(tulle_jacobi_solver_workspace(j.handle, &bytes)),
            "no explanation");
    require(a.rows == a.cols, "a solver of what is not square");
    jacobis_.add(j);
  }

  void make_batch(tulle_context* context, tulle_csr* m, const tulle_csr_arrays& a) {
    batch b;
    tulle_cg_options o = options();
    if (in_.rarely()) o.kernel = "cg.operations";
    b.type = a.scalar_type;
    b.systems = in_.below(5);
    const tulle_cg_options* const given = in_.rarely() ? nullptr : &o;
    tulle_status status = TULLE_STATUS_SUCCESS;
    if (in_.below(2) == 0) {
      const std::size_t one = static_cast<std::size_t>(a.nnz) * size_of(a.scalar_type);
      void* const values = memory_.block(static_cast<std::size_t>(b.systems) * one);
      for (std::int64_t i = 0; i < b.systems && one > 0; ++i)
        std::memcpy(static_cast<std::byte*>(values) + static_cast<std::size_t>(i) * one, a.values, one);
      status = tulle_cg_batch_create(context, m, in_.rarely() ? nullptr : values, in_.rarely() ? -1 : b.systems, given,
                                     &b.handle);
    } else {
      const std::vector<const tulle_csr*> all(static_cast<std::size_t>(b.systems), m);
      status = tulle_cg_batch_create_many(context, all.data(), in_.rarely() ? -1 : b.systems, given, &b.handle);
      if (b.systems == 0) b.type = TULLE_F64;
    }
    if (!ok(status)) return require(b.handle == nullptr, "a handle goes with SUCCESS alone");
    b.rows = b.systems * a.rows;
    b.values = b.systems * a.nnz;
    std::int64_t unknowns = -1;
    const char* sentence = nullptr;
    std::size_t bytes = 0;
    require(ok(tulle_cg_batch_unknowns(b.handle, &unknowns)) && unknowns == b.rows, "unknowns");
    require(ok(tulle_cg_batch_explain(b.handle, &sentence)) && ok(tulle_cg_batch_workspace(b.handle, &bytes)),
            "no explanation");
    batches_.add(b);
  }

  static void check(const tulle_cg_record& r) {
    const bool known = r.code == TULLE_STATUS_SUCCESS || r.code == TULLE_STATUS_NOT_CONVERGED ||
                       r.code == TULLE_STATUS_INDEFINITE || r.code == TULLE_STATUS_BREAKDOWN ||
                       r.code == TULLE_STATUS_NOT_FINITE;
    require(known && r.iterations >= 0, "an unknown end");
    require(r.code == TULLE_STATUS_NOT_FINITE || (r.residual >= 0 && r.rhs >= 0), "no norms");
  }

  static void check_history(const cg& c) {
    const double* residuals = nullptr;
    std::int64_t count = -1;
    const bool there = ok(tulle_cg_solver_history(c.handle, &residuals, &count));
    require(there == (c.handle != nullptr) && (!there || count >= 0), "no history");
    for (std::int64_t i = 0; i < count; ++i) require(!(residuals[i] < 0), "a norm below 0");
  }

  void use_solver() {
    cg& c = solvers_.pick(in_);
    const std::int64_t count = 1 + in_.below(3);
    const void* const b = memory_.numbers(in_, c.rows * count, c.vector);
    void* const x = in_.rarely() ? nullptr : memory_.numbers(in_, c.rows * count, c.vector);
    std::array<tulle_cg_record, 3> records{};
    switch (in_.below(4)) {
      case 0:
        if (ok(tulle_cg_solver_solve(c.handle, b, x, in_.size(c.rows), records.data()))) check(records[0]);
        return check_history(c);
      case 1:
        if (ok(tulle_cg_solver_enqueue(c.handle, b, x, in_.size(c.rows), records.data()))) check(records[0]);
        return;
      case 2: {
        const tulle_multivector from{c.rows, count, c.rows, in_.rarely() ? 2 : TULLE_COLUMN_MAJOR,
                                     const_cast<void*>(b)};
        tulle_multivector to{in_.size(c.rows), count, c.rows, TULLE_COLUMN_MAJOR, x};
        if (!ok(tulle_cg_solver_solve_many(c.handle, &from, &to, records.data()))) return;
        for (std::int64_t j = 0; j < count; ++j) check(records[static_cast<std::size_t>(j)]);
        return;
      }
      default: {
        const void* const values = memory_.numbers(in_, c.nnz, c.type);
        ok(tulle_cg_solver_update_values(c.handle, values, in_.size(c.nnz), in_.rarely() ? TULLE_DEVICE : TULLE_HOST));
      }
    }
  }

  void use_jacobi() {
    jacobi& j = jacobis_.pick(in_);
    if (in_.below(3) == 0) {
      const void* const values = memory_.numbers(in_, j.nnz, j.type);
      ok(tulle_jacobi_solver_update_values(j.handle, values, in_.size(j.nnz),
                                           in_.rarely() ? TULLE_DEVICE : TULLE_HOST));
      return;
    }
    const void* const b = memory_.numbers(in_, j.rows, j.vector);
    void* const x = in_.rarely() ? nullptr : memory_.numbers(in_, j.rows, j.vector);
    tulle_cg_record record{};
    if (ok(tulle_jacobi_solver_solve(j.handle, b, x, in_.size(j.rows), &record))) check(record);
  }

  void use_batch() {
    batch& s = batches_.pick(in_);
    const void* const b = memory_.numbers(in_, s.rows, s.type);
    void* const x = in_.rarely() ? nullptr : memory_.numbers(in_, s.rows, s.type);
    std::array<tulle_cg_record, 5> records{};
    const int what = in_.below(3);
    if (what == 2) {
      const void* const values = memory_.numbers(in_, s.values, s.type);
      ok(tulle_cg_batch_update_values(s.handle, values, in_.size(s.values), in_.rarely() ? TULLE_DEVICE : TULLE_HOST));
      return;
    }
    const auto call = what == 0 ? tulle_cg_batch_solve : tulle_cg_batch_enqueue;
    if (!ok(call(s.handle, b, x, in_.size(s.rows), records.data()))) return;
    for (std::int64_t i = 0; i < s.systems; ++i) check(records[static_cast<std::size_t>(i)]);
  }

  input& in_;
  arena& memory_;
  order_steps& orders_;
  pool<matrix> owned_;
  pool<cg> solvers_;
  pool<jacobi> jacobis_;
  pool<batch> batches_;
};

}  // namespace tulle::fuzz
