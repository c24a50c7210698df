// `tulle bench --precision-study`: the ways to store the values of a matrix side by side.
#include <algorithm>
#include <cmath>
#include <map>

#include "cells.hpp"
#include "common/backend.hpp"
#include "precision_record.hpp"
#include "precision_values.hpp"
#include "session.hpp"

namespace tulle::cli::bench {
namespace {

enum class types { f64, f32, f32_under_f64 };
/// Values as two words, and which of them are read.
enum class words { none, both, high };

struct form {
  std::string name;
  std::string kernel = {};  // "" is the plan's choice
  types of = types::f64;
  narrowing mixed = {};
  words read = words::none;
};

constexpr std::string_view forms_of_the_origin[] = {"csr.split_entries",  "csr.split_rows",       "csr.dual_rows",
                                                    "csr.composite_rows", "packed.split_entries", "packed.split_rows"};

/// A matrix on the host, and what was learnt of it once.
struct subject_of_study {
  named_matrix loaded;
  matrix_facts facts;
  std::string hash;
  bool is_narrow = false;  // fewer bytes hold every bit of what was given
  std::string csr;         // the kernel that reads a CSR where it is
};

/// Some values for it, with vectors.
struct valued {
  std::string_view name;
  spmv_problem problem;
  matrix_ref host;
  std::vector<float> floats = {};  // the values rounded, once that was asked for
  double lost = 0x1p-24;           // of a value, at most, by that
};

class study {
 public:
  study(const bench_options& o, session& bench, const narrowing& asked)
      : o_(o), bench_(bench), asked_(asked), host_(context::cpu(o.run.threads)) {
    for (const kernel_info& k : kernels_of(bench.ctx.backend(), kernel_operation::spmv)) {
      const auto& of_origin = forms_of_the_origin;
      if (std::ranges::find(of_origin, k.name) != std::end(of_origin)) split_.emplace_back(k.name);
    }
  }

  subject_of_study prepare(const case_name& which) const {
    subject_of_study s{load_real(which.spec, o_.run), {}, {}, {}, {}};
    s.facts = s.loaded.facts();
    if (!which.label.empty()) s.facts.name = which.label;
    in_memory_for(s.facts.name, [&] {
      s.hash = matrix_hash(s.loaded.matrix);
      const matrix_ref a = place(bench_.ctx, s.loaded.matrix, offsets_for(s.loaded.matrix.nnz));
      const stored_values stored = any_spmv_plan(bench_.ctx, a).stored();
      s.is_narrow = stored.shares.size() > 1 || stored.shares[0].storage != name(scalar_type::f64);
      s.csr = any_spmv_plan(bench_.ctx, a, {.effort = spmv_effort::none}).kernel();
    });
    return s;
  }

  precision_results measure(const subject_of_study& s) {
    precision_results out;
    base_.clear();
    const std::size_t made = std::size(graded_values) + std::size(lossless_values);
    bench_.bar.divide(forms_of_whole(s).size() + made + std::size(graded_values) * forms_of_graded().size() +
                      std::size(lossless_values) + (s.is_narrow ? 1 : 0));
    const auto* const given = static_cast<const double*>(s.loaded.matrix.values);
    std::vector<double> whole;
    if (s.is_narrow) make_values(s.loaded.matrix, given, whole_values, host_.threads(), whole);
    const double* const values = s.is_narrow ? whole.data() : given;
    measure_all(s, s.is_narrow ? whole_values.name : "as given", values, forms_of_whole(s), out);
    for (const value_kind& k : graded_values) measure_made(s, values, k, forms_of_graded(), out);
    if (s.is_narrow) measure_all(s, "as given", given, {{"lossless"}}, out);
    for (const value_kind& k : lossless_values) measure_made(s, values, k, {{"lossless"}}, out);
    return out;
  }

 private:
  static narrowing promise(double tolerance, error_bound bound) { return {{tolerance, bound}, {}}; }
  /// The plan's choice, and the forms of the origin.
  void add_mixed(std::vector<form>& to, const narrowing& mixed) const {
    to.push_back({mixed.label(), {}, types::f64, mixed});
    for (const std::string& kernel : split_) to.push_back({mixed.label(), kernel, types::f64, mixed});
  }
  std::vector<form> forms_of_whole(const subject_of_study& s) const {
    std::vector<form> all{{"f64"},
                          {"f32", {}, types::f32},
                          {"f32 under f64", {}, types::f32_under_f64},
                          {"f64", s.csr},
                          {"f32 under f64", s.csr, types::f32_under_f64},
                          {"words", {}, types::f64, {}, words::both},
                          {"high words", {}, types::f64, promise(0x1p-21, error_bound::componentwise), words::high}};
    for (const double tolerance : {1e-3, 1e-5, 1e-7}) {
      for (const error_bound b : {error_bound::componentwise, error_bound::row, error_bound::norm}) {
        const narrowing mixed = promise(tolerance, b);
        all.push_back({mixed.label(), {}, types::f64, mixed});
      }
    }
    if (asked_.is_asked_for()) add_mixed(all, asked_);
    return all;
  }
  std::vector<form> forms_of_graded() const {
    std::vector<form> all;
    add_mixed(all, promise(0x1p-30, error_bound::norm));
    return all;
  }

  void measure_made(const subject_of_study& s, const double* given, const value_kind& kind,
                    const std::vector<form>& forms, precision_results& out) {
    bench_.bar.step(fmt::format("{}: values {}", s.facts.name, kind.name));
    make_values(s.loaded.matrix, given, kind, host_.threads(), made_);
    measure_all(s, kind.name, made_.data(), forms, out);
  }

  void measure_all(const subject_of_study& s, std::string_view values_name, const double* values,
                   const std::vector<form>& forms, precision_results& out) {
    matrix_ref a = s.loaded.matrix;
    a.values = values;
    valued v{values_name, {s.facts, s.hash, {}}, a};
    set_vectors(bench_.ctx, {.verify = true}, o_.run, a, v.problem);
    v.problem.a = place(bench_.ctx, a, offsets_for(a.nnz));
    for (const form& f : forms) {
      bench_.bar.step(fmt::format("{}: values {}, {} {}", s.facts.name, values_name, f.name, f.kernel));
      omission blank{f.kernel.empty() ? "default" : f.kernel, s.facts.name, f.name, {}, false};
      try_kernel(std::move(blank), true, out.omitted, [&] {
        if (f.of == types::f64) return measure(f, v, v.problem, v.problem.a, f.mixed, out);
        measure_floats(f, v, out);
      });
    }
  }

  /// The same values as floats, under vectors of f32, or of f64, which the answer for f64 is then held to.
  void measure_floats(const form& f, valued& v, precision_results& out) {
    if (v.floats.empty()) round(v);
    if (!std::isfinite(v.lost)) throw error(status::unsupported, "a value is beyond the range of f32");
    matrix_ref a = v.host;
    a.types.value = scalar_type::f32;
    a.values = v.floats.data();
    const matrix_ref there = place(bench_.ctx, a, offsets_for(a.nnz));
    if (f.of == types::f32_under_f64) {
      return measure(f, v, v.problem, there, {{v.lost, error_bound::componentwise}, {}}, out);
    }
    run_options of_floats = o_.run;
    of_floats.precision = name(scalar_type::f32);
    spmv_problem p{v.problem.matrix, v.problem.hash, {}};
    set_vectors(bench_.ctx, {.verify = true}, of_floats, a, p);
    measure(f, v, p, there, {}, out);
  }
  static void round(valued& v) {
    const auto* const values = static_cast<const double*>(v.host.values);
    v.floats.assign(values, values + v.host.nnz);
    for (std::size_t i = 0; i < v.floats.size(); ++i) {
      const double lost = std::abs(values[i] - static_cast<double>(v.floats[i]));
      if (lost > v.lost * std::abs(values[i])) v.lost = lost / std::abs(values[i]);
    }
  }

  /// `a` is what the plan is made of, on the backend.
  void measure(const form& f, const valued& v, spmv_problem& p, const matrix_ref& a, const narrowing& held_to,
               precision_results& out) {
    spmv_options options;
    options.kernel = f.kernel;
    if (f.of == types::f32_under_f64) options.vector_type = scalar_type::f64;
    options.high_words = f.read != words::none;
    if (!options.high_words) f.mixed.tell(options);
    const any_spmv_plan plan(bench_.ctx, a, options);
    const linear_operator& op = f.read == words::high ? plan.high_words() : plan;
    precision_record r = describe(f, v, plan);
    if (std::ranges::any_of(out.records, [&](const precision_record& seen) { return is_same(seen, r); })) return;
    r.moved_bytes = static_cast<double>(r.matrix_bytes + p.x.bytes() + p.y.bytes());
    std::vector<precision_record> records;
    for (const cache_state state : states_of(o_)) {
      r.cache = name(state);
      r.time = bench_.clock.time(state, [&] { p.apply(op); });
      r.over_f64 = base_.try_emplace(r.cache, r.time.median).first->second / r.time.median;
      records.push_back(r);
    }
    p.reset(bench_.ctx);
    p.apply(op);
    bench_.ctx.synchronize();
    const value_tolerance promise = held_to.promised(plan);
    const double ratio = p.error_ratio(p.y, promise);
    for (precision_record& done : records) {
      done.promise = promise;
      done.error_ratio = ratio;
      out.records.push_back(std::move(done));
    }
  }

  /// A kernel that is named and was the plan's own choice too is measured once.
  static bool is_same(const precision_record& a, const precision_record& b) {
    return a.kernel == b.kernel && a.matrix == b.matrix && a.values == b.values && a.form == b.form &&
           a.precision == b.precision;
  }
  static precision_record describe(const form& f, const valued& v, const any_spmv_plan& plan) {
    precision_record r;
    r.kernel = plan.kernel();
    r.matrix = v.problem.matrix.name;
    r.matrix_hash = v.problem.hash;
    r.precision = f.of == types::f32 ? "f32" : f.of == types::f64 ? "f64" : "f32/f64";
    if (f.mixed.is_asked_for()) r.precision = "mixed";
    r.rows = v.host.rows;
    r.cols = v.host.cols;
    r.nnz = v.host.nnz;
    r.chosen = f.kernel.empty();
    r.workspace_bytes = plan.workspace_bytes();
    r.values = v.name;
    r.form = f.name;
    r.mixed = f.mixed;
    r.stored = plan.stored();
    r.parameters = plan.parameters();
    r.reason = plan.explain();
    r.matrix_bytes = f.read == words::high ? plan.high_words_bytes() : plan.matrix_bytes();
    r.plan_us = plan.plan_microseconds();
    return r;
  }

  const bench_options& o_;
  session& bench_;
  narrowing asked_;
  context host_;
  std::vector<std::string> split_;      // those of the origin that there are here
  std::vector<double> made_;            // values, kept for its memory
  std::map<std::string, double> base_;  // microseconds of f64, by the state of the cache
};

}  // namespace

int run_precision_study(bench_options o) {
  const narrowing asked = narrowing_of(o.run);
  o.run.precision = name(scalar_type::f64);
  o.run.tolerance = o.run.below = o.run.shrink = o.run.percent = std::nullopt;
  o.run.bound.clear();
  const context ctx = make_context(o.run);
  if (o.matrices.empty() && o.suite.empty()) o.suite = ctx.backend() == backend_kind::cuda ? "meshes" : "meshes-small";
  session bench(o, ctx);
  study s(o, bench, asked);
  precision_results all;
  bench.each_matrix(
      all.omitted, [&](const case_name& which, const run_options&) { return s.prepare(which); },
      [&](const subject_of_study& subject) {
        precision_results mine = s.measure(subject);
        bench.mark_disturbed(mine.records);
        bench.print([&](page& to) {
          to.line().line(headline(subject.facts), look::bold);
          add_precisions(to, mine.records);
          add_omissions(to, mine.omitted);
        });
        all.append(std::move(mine));
      });
  return bench.finish(all);
}

}  // namespace tulle::cli::bench
