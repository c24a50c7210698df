// Sequences of calls of the C API, for the most part right ones: broken arrays are found, wrong arguments refused with
// a message, results are right, and handles may be destroyed in any order. Compilers read an input in different orders.
#include <algorithm>
#include <cmath>

#include "capi_handles.hpp"
#include "capi_orders.hpp"
#include "capi_solvers.hpp"
#include "support/files.hpp"

namespace tulle::fuzz {
namespace {

class session {
 public:
  explicit session(input in) : in_(in) {
    tulle_context* first = nullptr;
    require(ok(tulle_context_create_cpu(1, &first)), "no context");
    contexts_.add(first);
  }

  void run() {
    static constexpr void (session::*steps[])() = {&session::make_context, &session::destroy_something,
                                                   &session::make_csr,     &session::make_csr,
                                                   &session::convert,      &session::look_at,
                                                   &session::copy_out,     &session::derive,
                                                   &session::add,          &session::file,
                                                   &session::plan_spmv,    &session::plan_spmv,
                                                   &session::apply,        &session::apply,
                                                   &session::apply_many,   &session::apply_fused,
                                                   &session::new_values,   &session::plan_spgemm,
                                                   &session::plan_spgemm,  &session::multiply,
                                                   &session::multiply,     &session::multiply_into,
                                                   &session::numeric,      &session::new_factors,
                                                   &session::one_shot,     &session::buffer,
                                                   &session::make_solver,  &session::use_solver,
                                                   &session::use_solver,   &session::make_order,
                                                   &session::permute,      &session::move_vector};
    while (!in_.empty()) (this->*steps[in_.byte() % std::size(steps)])();
  }

 private:
  tulle_context* context() { return contexts_.pick(in_); }
  /// Not of those that only plans may be made of.
  tulle_csr* sound() {
    const matrix& m = matrices_.pick(in_);
    return m.broken ? nullptr : m.handle;
  }
  tulle_csr_arrays arrays_of(const tulle_csr* m) {
    tulle_csr_arrays a{};
    if (m != nullptr) require(ok(tulle_csr_get_arrays(m, &a)), "no arrays");
    return a;
  }
  void keep(tulle_status status, tulle_csr* m, bool broken = false) {
    require(ok(status) == (m != nullptr), "a handle goes with SUCCESS alone");
    if (m == nullptr) return;
    tulle_data_status found = TULLE_DATA_SUCCESS;
    require(ok(tulle_csr_validate(contexts_.all.front(), m, 0, &found, nullptr, nullptr)), "not to be validated");
    require((found == TULLE_DATA_SUCCESS) != broken, "broken contents");
    matrices_.add({m, broken});
  }
  const char* kernel() {
    tulle_kernel_info info{"csr.rows", "", "", 0, 0};
    std::int64_t count = 0;
    if (in_.byte() < 128) return in_.rarely() ? "no such kernel" : nullptr;
    ok(tulle_kernel_count(contexts_.all.front(), &count));
    ok(tulle_kernel_at(contexts_.all.front(), in_.size(in_.byte() % count), &info));
    return info.name;
  }

  void make_context() {
    tulle_context* made = nullptr;
    const int threads = in_.rarely() ? in_.one_of({-1, 4097, INT32_MAX, INT32_MIN}) : 1 + in_.rarely();
    if (ok(tulle_context_create_cpu(threads, &made))) contexts_.add(made);
    require((made != nullptr) == (threads == 1 || threads == 2), "threads");
    tulle_memory_space space = -1;
    ok(tulle_context_space(context(), &space));
    ok(tulle_context_synchronize(context()));
  }
  void destroy_something() {
    const auto of = [&](auto& pool, std::size_t least) {
      if (pool.all.size() > least) pool.destroy_one(in_.byte() % pool.all.size());
    };
    switch (in_.below(7)) {
      case 0:
        return of(contexts_, 1);
      case 5:
        return solvers_.destroy_one();
      case 6:
        return orders_.destroy_one();
      case 1:
        return of(matrices_, 0);
      case 2:
        return of(spmvs_, 0);
      case 3:
        return of(spgemms_, 0);
      default:
        return of(buffers_, 0);
    }
  }
  void make_csr() {
    const csr_input m = random_csr(in_, memory_);
    tulle_context* const c = context();
    tulle_csr* made = nullptr;
    const bool described = m.right_description && c != nullptr;
    switch (in_.below(3)) {
      case 0: {
        const tulle_status status = tulle_csr_copy(c, &m.arrays, &made);
        require((status == TULLE_STATUS_SUCCESS) == (described && m.right_contents), "copied");
        return keep(status, made);
      }
      case 1: {
        const tulle_status status = tulle_csr_borrow(c, &m.arrays, &made);
        require((status == TULLE_STATUS_SUCCESS) == (described && m.right_contents), "borrowed");
        return keep(status, made);
      }
      default: {  // what is trusted of base 1 is changed, and cannot be when it is broken
        if (!m.right_description || (!m.right_contents && m.arrays.index_base != 0)) return;
        const tulle_status status = tulle_csr_borrow_trusted(c, &m.arrays, &made);
        return keep(status, made, !m.right_contents);
      }
    }
  }
  void convert() {
    const tulle_matrix_arrays a = random_arrays(in_, memory_);
    tulle_csr* made = nullptr;
    const tulle_status status = tulle_csr_convert(context(), &a, &made);
    keep(status, made);
  }
  void look_at() {
    tulle_csr* const m = sound();
    tulle_csr_statistics s{};
    if (ok(tulle_csr_get_statistics(context(), m, &s))) require(s.nnz == arrays_of(m).nnz, "nnz of the statistics");
    tulle_data_status found = -1;
    std::int64_t row = -2, entry = -2;
    ok(tulle_csr_validate(context(), m, in_.rarely() ? 8 : in_.below(8), &found, &row, &entry));
  }
  void copy_out() {
    tulle_csr* const m = sound();
    const tulle_csr_arrays a = arrays_of(m);
    const auto room = [&](std::int64_t count, std::size_t size) {
      return in_.rarely() ? nullptr : memory_.block(static_cast<std::size_t>(count) * size);
    };
    void* const rowptr = room(a.rows + 1, a.offset_type == TULLE_OFFSET_I32 ? 4 : 8);
    auto* const colind = static_cast<std::int32_t*>(room(a.nnz, 4));
    ok(tulle_csr_copy_out(context(), m, rowptr, colind, room(a.nnz, size_of(a.scalar_type))));
    ok(tulle_csr_copy_out_rows(context(), m, colind));
    const bool by_row = in_.byte() < 128;
    const std::int64_t least = by_row ? a.cols : a.rows, stripes = by_row ? a.rows : a.cols, ld = least + in_.below(3);
    void* const dense =
        memory_.block(stripes == 0 ? 0 : static_cast<std::size_t>((stripes - 1) * ld + least) * size_of(a.scalar_type));
    ok(tulle_csr_copy_out_dense(context(), m, by_row ? TULLE_ROW_MAJOR : TULLE_COLUMN_MAJOR,
                                in_.rarely() ? least - 1 : ld, dense));
    const std::int32_t block = in_.rarely() ? in_.below(12) : 2 + in_.below(3);
    std::int64_t blocks = 0;
    if (!ok(tulle_csr_copy_out_bsr(context(), m, block, &blocks, nullptr, nullptr, nullptr))) return;
    auto* const offsets =
        static_cast<std::int64_t*>(memory_.block(static_cast<std::size_t>((a.rows + block - 1) / block + 1) * 8));
    void* const columns = memory_.block(static_cast<std::size_t>(blocks) * 4);
    void* const values = memory_.block(static_cast<std::size_t>(blocks * block * block) * size_of(a.scalar_type));
    ok(tulle_csr_copy_out_bsr(context(), m, block, &blocks, offsets, static_cast<std::int32_t*>(columns), values));
  }
  void derive() {
    constexpr decltype(&tulle_csr_transpose) functions[] = {tulle_csr_transpose, tulle_csr_sort,
                                                            tulle_csr_sum_duplicates, tulle_csr_eliminate_zeros};
    tulle_csr* made = nullptr;
    const tulle_status status = in_.one_of(functions)(context(), sound(), &made);
    keep(status, made);
  }
  void add() {
    tulle_csr* made = nullptr;
    const tulle_csr *const a = sound(), *const b = sound();
    const tulle_status status = tulle_csr_add(context(), in_.factor(), a, in_.factor(), b, &made);
    keep(status, made);
  }
  void file() {
    static const test::temporary_directory directory;
    const std::string path = directory / in_.one_of({"a.mtx", "a.mtx.gz", "a.mtx.zst", "none/a.mtx"});
    tulle_csr* const m = sound();
    const tulle_scalar_type type = arrays_of(m).scalar_type;
    if (!ok(tulle_csr_write_matrix_market(context(), m, path.c_str(), in_.below(2)))) return;
    tulle_csr* made = nullptr;
    const tulle_status status = tulle_csr_read_matrix_market(context(), path.c_str(), in_.rarely() ? 9 : type, &made);
    keep(status, made);
  }

  void plan_spmv() {
    const matrix& m = matrices_.pick(in_);
    const tulle_csr_arrays a = arrays_of(m.handle);
    const tulle_scalar_type vector = in_.rarely() ? 3 : in_.below(3);
    tulle_spmv_options options{};
    const bool by_default = in_.rarely();
    if (!by_default) {
      options.kernel = kernel();
      options.effort = in_.rarely() ? 3 : m.broken ? 2 * in_.below(2) : in_.below(3);
      options.transpose = in_.rarely() ? 2 : in_.below(2);
      options.vector_type = in_.byte() < 200 ? nullptr : &vector;
      options.reorder = in_.rarely() ? 3 : in_.byte() < 200 ? TULLE_REORDER_NEVER : 1 + in_.below(2);
      if (options.reorder != TULLE_REORDER_NEVER) options.order = orders_.of_size(a.rows);
      if (in_.byte() > 200) options.tolerance = in_.rarely() ? in_.factor() : in_.one_of({1e-3, 1e-7, 0.5});
      options.bound = in_.rarely() ? 3 : in_.below(3);
    }
    spmv p{nullptr, a.rows, a.cols, a.nnz, a.scalar_type, options.vector_type == nullptr ? a.scalar_type : vector, {}};
    if (!ok(tulle_spmv_plan_create_with(context(), m.handle, by_default ? nullptr : &options, &p.handle))) {
      return require(p.handle == nullptr, "a handle goes with SUCCESS alone");
    }
    require(!m.broken, "a plan of a broken matrix");
    std::size_t bytes = 0;
    const char *sentence = nullptr, *name = nullptr;
    require(ok(tulle_spmv_plan_explain(p.handle, &sentence)) && ok(tulle_spmv_plan_kernel(p.handle, &name)) &&
                ok(tulle_spmv_plan_workspace(p.handle, &bytes)) && std::string_view(sentence).starts_with(name),
            "no explanation");
    p.a = read(a, options.transpose == 1);
    if (options.transpose == 1) std::swap(p.rows, p.cols);
    p.loses_bits = options.tolerance > 0;
    spmvs_.add(std::move(p));
  }
  void apply() {
    spmv& p = spmvs_.pick(in_);
    const void* const x = memory_.numbers(in_, p.cols, p.vector);
    void* const y = memory_.numbers(in_, p.rows, p.vector);
    const double alpha = in_.factor(), beta = in_.factor();
    std::vector<double> expected, magnitude;
    for (std::int64_t i = 0; i < p.rows; ++i) {
      expected.push_back(beta == 0 ? 0 : beta * number_at(y, static_cast<std::size_t>(i), p.vector));
      magnitude.push_back(std::abs(expected.back()));
    }
    for (std::size_t k = 0; p.a && k < p.a->values.size(); ++k) {
      const double term = alpha * p.a->values[k] * number_at(x, static_cast<std::size_t>(p.a->cols[k]), p.vector);
      expected[static_cast<std::size_t>(p.a->rows[k])] += term;
      magnitude[static_cast<std::size_t>(p.a->rows[k])] += std::abs(term) + std::abs(p.a->values[k]);
    }
    const bool overlap = in_.rarely() && p.rows >= p.cols;  // else y has not the elements of x
    if (!ok(tulle_spmv_plan_apply(p.handle, alpha, overlap ? y : x, in_.size(p.cols), beta, y, in_.size(p.rows))))
      return;
    require(!overlap || p.cols == 0, "x and y overlap");
    for (std::size_t i = 0; p.a && i < expected.size(); ++i) {
      // What f32 cannot hold is infinite there, and infinity times 0 is NaN.
      const bool exact = !p.loses_bits && std::abs(alpha) + std::abs(beta) < 1e10 && magnitude[i] < 1 << 22;
      require(!exact || number_at(y, i, p.vector) == expected[i], "a wrong product");
    }
  }
  void apply_many() {
    spmv& p = spmvs_.pick(in_);
    const std::int64_t count = in_.below(5);
    tulle_multivector x = vectors(in_, memory_, p.cols, count, p.vector);
    const tulle_multivector y = vectors(in_, memory_, p.rows, count, p.vector);
    x.count = in_.size(x.count);
    ok(tulle_spmv_plan_apply_many(p.handle, in_.factor(), &x, in_.factor(), &y));
  }
  void apply_fused() {
    spmv& p = spmvs_.pick(in_);
    const void* const x = memory_.numbers(in_, p.cols, p.vector);
    const void* const w = in_.below(2) == 0 && p.rows == p.cols ? x : memory_.numbers(in_, p.rows, p.vector);
    void* const y = memory_.numbers(in_, p.rows, p.vector);
    const std::int64_t rows = in_.size(p.rows);
    if (in_.below(2) == 0) {
      void* const dots = in_.rarely() && p.rows > 0 ? y : memory_.numbers(in_, 2, p.vector);
      ok(tulle_spmv_plan_apply_dots(p.handle, in_.factor(), x, p.cols, in_.factor(), y, rows, in_.rarely() ? y : w,
                                    dots));
    } else {
      ok(tulle_spmv_plan_jacobi(p.handle, in_.factor(), x, w, in_.rarely() ? y : w, y, rows));
    }
  }
  void new_values() {
    spmv& p = spmvs_.pick(in_);
    const void* const values = memory_.numbers(in_, p.nnz, p.type);
    const tulle_memory_space space = in_.rarely() ? in_.one_of({TULLE_DEVICE + 0, 5}) : TULLE_HOST + 0;
    if (!ok(tulle_spmv_plan_update_values(p.handle, values, in_.size(p.nnz), space)) || !p.a) return;
    for (std::size_t k = 0; k < p.a->values.size(); ++k) p.a->values[k] = number_at(values, k, p.type);
  }

  void plan_spgemm() {
    const tulle_csr *const a = sound(), *const b = sound();
    tulle_spgemm_options o{};
    o.kernel = kernel();
    o.transpose_a = in_.rarely() ? 2 : in_.below(2);
    o.transpose_b = in_.below(2);
    o.memory_limit = in_.rarely() ? in_.one_of({std::size_t{1}, std::size_t{600}, std::size_t{4096}, SIZE_MAX}) : 0;
    o.eliminate_zeros = in_.rarely();
    o.mask = in_.byte() < 200 ? nullptr : sound();
    o.d = in_.byte() < 200 ? nullptr : sound();
    spgemm p{nullptr,
             o.transpose_a == 0 ? arrays_of(a).rows : arrays_of(a).cols,
             {arrays_of(a).nnz, arrays_of(b).nnz, arrays_of(o.d).nnz},
             o.d != nullptr,
             arrays_of(a).scalar_type};
    if (!ok(tulle_spgemm_plan_create(context(), a, b, &o, &p.handle))) {
      return require(p.handle == nullptr, "a handle goes with SUCCESS alone");
    }
    const char *sentence = nullptr, *name = nullptr;
    std::int64_t products = -1;
    std::size_t bytes = 0;
    ok(tulle_spgemm_plan_explain(p.handle, &sentence));
    ok(tulle_spgemm_plan_kernel(p.handle, &name));
    ok(tulle_spgemm_plan_products(p.handle, &products));
    ok(tulle_spgemm_plan_workspace(p.handle, &bytes));
    spgemms_.add(p);
  }
  void multiply() {
    const spgemm& p = spgemms_.pick(in_);
    tulle_csr* made = nullptr;
    const tulle_status status =
        tulle_spgemm_plan_multiply(p.handle, in_.factor(), p.has_d ? in_.factor() : in_.rarely(), &made);
    keep(status, made);
  }
  void multiply_into() {
    const spgemm& p = spgemms_.pick(in_);
    std::int64_t nnz = 0;
    if (!ok(tulle_spgemm_plan_symbolic(p.handle, &nnz))) return;
    const bool narrow = in_.byte() < 128;
    void* const rowptr = memory_.block(static_cast<std::size_t>(p.rows + 1) * (narrow ? 4 : 8));
    auto* const colind = static_cast<std::int32_t*>(memory_.block(static_cast<std::size_t>(nnz) * 4));
    void* const values = memory_.block(static_cast<std::size_t>(nnz) * size_of(p.type));
    const tulle_offset_type type = in_.rarely() ? 2 : narrow ? TULLE_OFFSET_I32 : TULLE_OFFSET_I64;
    ok(tulle_spgemm_plan_multiply_into(p.handle, in_.factor(), in_.below(2), type, rowptr,
                                       in_.rarely() ? nullptr : colind, values));
  }
  void numeric() {
    const spgemm& p = spgemms_.pick(in_);
    if (!ok(tulle_spgemm_plan_numeric(p.handle, in_.factor(), p.has_d ? in_.factor() : 0, sound()))) return;
    for (spmv& plan : spmvs_.all) plan.a.reset();  // its values may have changed under it
  }
  void new_factors() {
    const spgemm& p = spgemms_.pick(in_);
    const auto values = [&](int which) {
      return in_.rarely() ? nullptr : memory_.numbers(in_, p.counts[which], p.type);
    };
    const void *const a = values(0), *const b = values(1), *const d = p.has_d ? values(2) : nullptr;
    ok(tulle_spgemm_plan_update_values(p.handle, a, b, d));
  }
  void one_shot() {
    tulle_csr* made = nullptr;
    const tulle_csr *const a = sound(), *const b = sound();
    tulle_spgemm_estimate estimate{};
    ok(tulle_estimate_spgemm(context(), a, b, nullptr, &estimate));
    if (in_.below(2) == 0) {
      const tulle_status status = tulle_spgemm(context(), a, b, &made);
      keep(status, made);
    } else {
      const tulle_status status = tulle_triple_product(context(), a, b, sound(), nullptr, &made);
      keep(status, made);
    }
  }
  void buffer() {
    tulle_buffer* made = nullptr;
    const std::size_t bytes =
        in_.rarely() ? in_.one_of({SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2, std::size_t{1} << 50}) : in_.byte();
    if (!ok(tulle_buffer_create(context(), bytes, &made)))
      return require(made == nullptr, "a handle goes with SUCCESS alone");
    require(bytes < 256, "so large a buffer");
    const std::size_t length =
        in_.rarely() ? bytes + in_.one_of({std::size_t{1}, SIZE_MAX - bytes}) : in_.byte() % (bytes + 1);
    void *const host = memory_.block(bytes), *data = nullptr;
    require(ok(tulle_buffer_copy_in(made, host, length)) == (length <= bytes), "copied in");
    require(ok(tulle_buffer_copy_out(made, host, length)) == (length <= bytes), "copied out");
    ok(tulle_buffer_data(made, &data));
    if (data != nullptr) std::memset(data, 1, bytes);
    buffers_.add(made);
  }

  void make_order() {
    tulle_csr* const m = sound();
    orders_.make(context(), m, arrays_of(m).rows);
  }
  void permute() {
    tulle_csr *const m = sound(), *made = nullptr;
    const tulle_csr_arrays a = arrays_of(m);
    const tulle_permutation *const rows = orders_.of_size(a.rows), *const columns = orders_.of_size(a.cols);
    const tulle_status status = tulle_permute(context(), m, rows, columns, &made);
    keep(status, made);
  }
  void move_vector() { orders_.move_vector(); }

  void make_solver() { solvers_.make(context(), sound(), kernel()); }
  void use_solver() { solvers_.use(); }

  input in_;
  arena memory_;  // outlives what borrows from it
  order_steps orders_{in_, memory_};
  solver_steps solvers_{in_, memory_, orders_};
  pool<tulle_context*> contexts_;
  pool<matrix> matrices_;
  pool<spmv> spmvs_;
  pool<spgemm> spgemms_;
  pool<tulle_buffer*> buffers_;
};

}  // namespace
}  // namespace tulle::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tulle;
  static const test::temporary_directory cache;
  static const test::environment_variable cache_directory("TULLE_CACHE_DIR", cache.path());
  static const bool counts = std::getenv("TULLE_FUZZ_CALLS") != nullptr &&
                             std::atexit([] { std::fprintf(stderr, "%ld calls\n", fuzz::calls); }) == 0;
  static_cast<void>(counts);
  fuzz::session(fuzz::input(data, size)).run();
  return 0;
}
