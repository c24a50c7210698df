// What solvers by graphs share (graph.cu, graph_mixed.cu): a plan's product and what follows it as an iteration, so
// many of them captured together, and the loops over them: conditional nodes of a graph, in the caller's graph as well,
// so that what is queued does not grow with the number of iterations; or the host looks, one graph behind.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <tulle/ops/spmv.hpp>
#include <utility>

#include "core/memory_status.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/pinned_slot.hpp"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/graph_move.cuh"
#include "cuda/solvers/graph_nodes.hpp"
#include "cuda/spmv/fused_operator.cuh"
#include "kernels/cg.hpp"

namespace tulle::cuda {

/// How long the iterations between two looks at the end may take together: those behind it are lost, and a look takes
/// some microseconds (docs/notes/0021).
inline constexpr double round_microseconds = 200, bytes_per_microsecond = 4e6;

/// Iterates in T. A solver makes its plans and then calls `ready`.
template <class T>
class graph_solver : public cg_operator {
 public:
  ~graph_solver() override { drop(); }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    queue({b, x, record, history, 0}, native(stream));
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    run({b, x, record, history, 0}, native(stream));
  }
  void go_on(const void* b, void* x, cg_record* record, double* history, stream_view stream, int iterations) override {
    run({b, x, record, history, iterations}, native(stream));
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return x_.bytes() + r_.bytes() + p_.bytes() + q_.bytes() + shares_.bytes() + move_shares_.bytes() +
           plan_->workspace_bytes() + (truth_ ? truth_->workspace_bytes() : 0);
  }

 protected:
  /// `merged`: an iteration is two kernels, graph_move.cuh's behind the product. Else the solver has its own, x being
  /// updated every time.
  graph_solver(const context& ctx, const cg_problem& p, bool merged)
      : ctx_(ctx), options_(p.options), n_(p.csr.rows), merged_(merged), state_(ctx, 2), dots_(ctx, 2), range_(ctx, 2) {
    const device_guard guard(ctx_.device());
    for (buffer<T>* v : {&x_, &r_, &q_}) *v = vector();
    const std::int64_t threads = ceil_div(n_, merged_ ? quad<T>::size : 1);
    blocks_ = static_cast<int>(
        std::clamp<std::int64_t>(ceil_div(threads, graph_threads), 1, ctx_.info().multiprocessors * graph_blocks));
    shares_ = buffer<double>(ctx_, 2 * static_cast<std::size_t>(blocks_));
    move_shares_ = buffer<double>(ctx_, 2 * shares_.size());
    fill_bytes(ctx_, state_.data(), memory_space::device, 0, state_.bytes());
    fill_bytes(ctx_, move_shares_.data(), memory_space::device, 0, move_shares_.bytes());
  }

  /// Computes b - A x and what iterations begin with.
  virtual void anew(cudaStream_t s) = 0;
  /// The solution and the record.
  virtual void end(cudaStream_t s) { launch("cg.end", graph_end_kernel<T>, shape(), s, vectors()); }
  /// What follows the product of iteration i since the last start.
  virtual void follow_product(int i, cudaStream_t s) {
    const int slot = i % ring_;
    launch_early("cg.move", move_kernel(slot), s, vectors(), i % 2, slot);
  }
  [[nodiscard]] virtual graph_vectors<T> vectors() {
    return {n_,
            x_.data(),
            r_.data(),
            p_.data(),
            q_.data(),
            r_.data(),
            stride_,
            ring_,
            nullptr,
            nullptr,
            0,
            dots_.data(),
            range_.data(),
            state_.data(),
            shares_.data(),
            move_shares_.data(),
            product_.data,
            product_.count,
            static_cast<graph_told*>(told_.data()),
            options_.rtol,
            options_.atol,
            options_.max_iterations,
            options_.replace_interval,
            options_.zero_guess,
            options_.progress && told_.data() != nullptr};
  }

  /// Plans are there: the ring, of what memory is left and of `least` directions at least, and graphs. Waits.
  void ready(int least, const void* in_place) {
    const device_guard guard(ctx_.device());
    values_ = in_place;
    make_ring(least);
    if (merged_) leave_pairs();
    interval_ = rounds();
    if (n_ > 0) capture();
    ctx_.synchronize();
  }
  /// The plans have new values, which their kernels may read `in_place`, and maybe in another form than before.
  void follow_values(const void* in_place, bool were_narrow) {
    const bool moved = std::exchange(values_, in_place) != in_place;
    if (n_ == 0 || !(moved || were_narrow || narrows())) return;
    if (merged_) leave_pairs();  // what is stored in another form may leave others
    capture();
  }
  /// Values in fewer bits than they have are stored anew with every update, elsewhere and maybe in another form.
  [[nodiscard]] bool narrows() {
    const auto does = [](std::optional<any_spmv_plan>& plan) {
      return plan && detail::operator_of(*plan).narrows_values();
    };
    return does(plan_) || does(truth_);
  }

  /// Of the diagonal that was folded away.
  void set_range(const diagonal_range& range) {
    copy_bytes(ctx_, range_.data(), memory_space::device, &range, memory_space::host, sizeof(range));
  }
  [[nodiscard]] buffer<T> vector() const { return buffer<T>(ctx_, static_cast<std::size_t>(n_)); }
  template <class V>
  [[nodiscard]] const_vector_ref ref(const buffer<V>& v) const {
    return {scalar_type_of<V>, v.data(), n_, memory_space::device, ctx_.device()};
  }
  template <class V>
  [[nodiscard]] vector_ref ref(buffer<V>& v) const {
    return {scalar_type_of<V>, v.data(), n_, memory_space::device, ctx_.device()};
  }
  [[nodiscard]] launch_shape shape() const { return {blocks_, graph_threads}; }
  template <class... Parameters, class... Args>
  void launch_early(const char* name, void (*kernel)(Parameters...), cudaStream_t s, const Args&... args) const {
    if (!early_ || ctx_.info().compute_capability < 90) return launch(name, kernel, shape(), s, args...);
    launch_behind(name, kernel, shape(), 1, s, args...);
  }
  [[nodiscard]] std::string describe_rounds() const {
    const std::string out = "iterations_per_graph=" + std::to_string(interval_);
    return merged_ ? out + " kernels=2 directions=" + std::to_string(ring_) : out + " kernels=3";
  }

  context ctx_;
  cg_options options_;
  std::int64_t n_;
  bool merged_;
  buffer<T> x_, r_, p_, q_;
  buffer<graph_state> state_;
  buffer<double> dots_, range_;
  bool by_high_words_ = false;  // iterations are; set before `ready`
  std::optional<any_spmv_plan> plan_;
  std::optional<any_spmv_plan> truth_;  // of A itself, where that is another

 private:
  /// A ring of as many directions as there is memory for.
  void make_ring(int least) {
    stride_ = ceil_div(n_, 32) * 32;
    if (!merged_) ring_ = 1;
    for (;; ring_ /= 2) {
      try {
        p_ = buffer<T>(ctx_, static_cast<std::size_t>(stride_ * ring_));
        break;
      } catch (const error& e) {
        if (ring_ <= least || !is_out_of_memory(e)) throw;
      }
    }
    for (buffer<T>* v : {&x_, &p_}) fill_bytes(ctx_, v->data(), memory_space::device, 0, v->bytes());
  }
  /// Sums of parts of the product where it can leave them, else what it makes of them.
  void leave_pairs() {
    spmv_operator* of_plan = &detail::operator_of(*plan_);
    if (by_high_words_ && of_plan->high_words() != nullptr) of_plan = of_plan->high_words();
    auto* const leaves = dynamic_cast<leaves_dot_pairs*>(of_plan);
    if (leaves != nullptr && plan_->can(operation::apply_dots)) product_ = leaves->leave_dot_pairs();
    if (product_.count == 0) product_ = {dots_.data(), 1};
  }
  /// Iterations of two kernels come in whole numbers of rings and of pairs: states and slots of the ring take turns.
  [[nodiscard]] int rounds() const {
    const std::size_t of_matrix = by_high_words_ ? plan_->high_words_bytes() : plan_->matrix_bytes();
    const double bytes = static_cast<double>(of_matrix) + 10.0 * sizeof(T) * n_;
    const double most = round_microseconds / (2 + bytes / bytes_per_microsecond);
    const int wanted = std::clamp(static_cast<int>(most), 1, std::max(1, options_.check_interval));
    const int whole = std::max(2, ring_);
    return merged_ ? ceil_div(wanted, whole) * whole : wanted;
  }

  void call(const graph_call& what, unsigned long long outer, cudaStream_t s) {
    launch("cg.call", graph_call_kernel, {1, 1}, s, state_.data(), what, outer);
  }
  void queue(const graph_call& what, cudaStream_t s) {
    const device_guard guard(ctx_.device());
    if (n_ == 0 || !has_conditional_nodes(ctx_.info().driver_version)) return queue_all(what, s);
    if (is_capturing(s)) {
      const loop_place place = place_loop(s);
      call(what, place.outer, s);
      add_loop(s, place, parts());
    } else {
      call(what, place_.outer, s);
      loop_.launch(s);
    }
    end(s);
  }
  /// Where the driver has no loops: everything, and what comes after the end does nothing but multiply.
  void queue_all(const graph_call& what, cudaStream_t s) {
    call(what, 0, s);
    anew(s);
    int since = 0;
    for (int i = what.begun; i < options_.max_iterations && n_ > 0; ++i) {
      iterate(since++, s);
      const bool replaces = options_.replace_interval > 0 && (i + 1) % options_.replace_interval == 0;
      if (!replaces && i + 1 < options_.max_iterations) continue;
      if (merged_ && since % 2 != 0) iterate(since, s);  // the iterations pause: it does nothing but change states
      anew(s);
      since = 0;
    }
    end(s);
  }
  void run(const graph_call& what, cudaStream_t s) {
    const device_guard guard(ctx_.device());
    const auto* const seen = static_cast<const volatile graph_told*>(told_.data());
    if (n_ == 0 || seen == nullptr || (has_conditional_nodes(ctx_.info().driver_version) && !options_.progress)) {
      queue(what, s);
    } else {
      look_on(what, *seen, s);
    }
    check(cudaStreamSynchronize(s), "cudaStreamSynchronize");
  }
  /// The host looks at what it is told, one graph behind.
  void look_on(const graph_call& what, const volatile graph_told& seen, cudaStream_t s) {
    call(what, 0, s);
    for (auto at = graph_progress::runs; at != graph_progress::stopped;) {
      anew_.launch(s);
      rounds_.launch(s);
      int last = 0;
      check(cudaEventRecord(events_[last], s), "cudaEventRecord");
      do {
        rounds_.launch(s);
        check(cudaEventRecord(events_[last ^ 1], s), "cudaEventRecord");
        check(cudaEventSynchronize(events_[last]), "cudaEventSynchronize");
        at = static_cast<graph_progress>(seen.progress);
        if (options_.progress) options_.progress(seen.iterations, seen.residual);
        last ^= 1;
      } while (at == graph_progress::runs);
    }
    end(s);
  }

  void iterate(int i, cudaStream_t s) {
    const T* const at = p_.data() + i % ring_ * stride_;
    const const_vector_ref p{scalar_type_of<T>, at, n_, memory_space::device, ctx_.device()};
    const linear_operator& a = by_high_words_ ? plan_->high_words() : *plan_;
    if (a.can(operation::apply_dots)) {
      a.apply_dots(1, p, 0, ref(q_), p, {scalar_type::f64, dots_.data(), 2, memory_space::device, ctx_.device()},
                   {.stream = stream_view{s}});
    } else {
      a.apply(1, p, 0, ref(q_), {.stream = stream_view{s}});
      launch("cg.dot", graph_dot_kernel<T>, shape(), s, vectors(), at, dots_.data());
    }
    follow_product(i, s);
  }
  /// What updates x comes at the end of the ring.
  [[nodiscard]] auto move_kernel(int slot) const {
    if (slot + 1 < ring_) return graph_move_kernel<0, T>;
    return ring_ == 1 ? graph_move_kernel<1, T> : ring_ == 2 ? graph_move_kernel<2, T> : graph_move_kernel<4, T>;
  }

  [[nodiscard]] loop_parts parts() { return {anew_.graph, rounds_.graph, graph_inner_kernel, state_.data()}; }
  void capture() {
    try {
      capture_as_it_is();
    } catch (const error&) {  // not every driver takes early launches in a loop
      if (!early_) throw;
      early_ = false;
      capture_as_it_is();
    }
  }
  void capture_as_it_is() {
    drop();
    anew_ = capture_segment([&](cudaStream_t s) { anew(s); });
    rounds_ = capture_segment([&](cudaStream_t s) {
      for (int i = 0; i < interval_; ++i) iterate(i, s);
    });
    anew_.instantiate();
    rounds_.instantiate();
    if (has_conditional_nodes(ctx_.info().driver_version)) {
      check(cudaGraphCreate(&loop_.graph, 0), "cudaGraphCreate");
      place_ = place_loop(loop_.graph);
      add_loop(place_, parts());
      loop_.instantiate();
    }
    for (cudaEvent_t& e : events_)
      check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  void drop() noexcept {
    for (graph_segment* g : {&anew_, &rounds_, &loop_}) graph_segment().swap(*g);
    for (cudaEvent_t& e : events_) {
      if (e != nullptr) (void)cudaEventDestroy(e);
      e = nullptr;
    }
  }

  int ring_ = graph_most_ring;
  std::int64_t stride_ = 0;
  int blocks_ = 0, interval_ = 1;
  bool early_ = true;             // kernels are launched before those in front of them end
  const void* values_ = nullptr;  // that kernels may read where they are
  dot_pairs product_;             // where p.q and q.q are
  buffer<double> shares_, move_shares_;
  pinned_slot told_;
  graph_segment anew_, rounds_, loop_;
  loop_place place_{};
  cudaEvent_t events_[2] = {};
};

}  // namespace tulle::cuda
