// One set of workers for each calling thread; docs/adr/0010-threads-of-our-own.md says why they are not OpenMP's.
#include "core/workers.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace tulle::detail {
namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 20;

/// Whether this thread is in a part already.
thread_local bool inside = false;
/// One more in every child of fork: the threads of its parent are not there.
std::atomic<int> generation = 0;

struct region {
  void (*call)(const void* body, int part);
  const void* body;
  std::mutex lock;
  std::exception_ptr failure;

  void run(int part) noexcept {
    try {
      call(body, part);
    } catch (...) {
      const std::scoped_lock hold(lock);
      failure = std::current_exception();
    }
  }
};

enum state : int { idle, offered, taken, quit };

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Looks again for about a millisecond, since the next region mostly comes soon, and then calls sleep(). Where another
/// thread wants the core it does so at once: one that is woken gets a busy core sooner than one that spins.
template <class Sleep>
void wait_while(const std::atomic<int>& state, int old, const Sleep& sleep) {
  using clock = std::chrono::steady_clock;
  constexpr int eager_looks = 1000, patient_looks = 2000;
  constexpr auto own_core = std::chrono::microseconds(20);
  for (int i = 0; i < eager_looks; ++i, pause()) {
    if (state.load(std::memory_order_acquire) != old) return;
  }
  auto before = clock::now();
  for (int i = 0; i < patient_looks; ++i) {
    sched_yield();
    if (state.load(std::memory_order_acquire) != old) return;
    const auto now = clock::now();
    if (now - before > own_core) break;
    before = now;
  }
  sleep();
}
void wait_while(const std::atomic<int>& state, int old) {
  wait_while(state, old, [&] { state.wait(old, std::memory_order_acquire); });
}

struct alignas(64) worker {
  std::atomic<int> state = idle;
  std::atomic<int> offers = 0;  // so far: a worker that wakes too late for one must not sleep through the next
  region* job = nullptr;
  int part = 0;
  pthread_t thread{};
  enum : int { awake, asleep, moved };
  std::atomic<int> rest = awake;
  cpu_set_t places{};  // as they were when it fell asleep

  /// A system that finds the other cores busy wakes a thread on the core of the one that calls it, where it waits for
  /// milliseconds, as that one computes. So it must begin on another; awake, it takes its places back. It does so after
  /// it was moved, never before: it would stay where it was moved, and might share a core with its caller from then on.
  void move_aside() {
    int is = asleep;
    if (!rest.compare_exchange_strong(is, moved, std::memory_order_acquire)) return;
    set_places_aside();
    rest.store(asleep, std::memory_order_release);
  }
  void set_places_aside() {
    const int here = sched_getcpu();
    cpu_set_t others = places;
    if (here < 0 || here >= CPU_SETSIZE) return;
    CPU_CLR(static_cast<std::size_t>(here), &others);
    if (CPU_COUNT(&others) > 0) pthread_setaffinity_np(thread, sizeof(others), &others);
  }

  void sleep_until_offered(int seen) {
    const bool known = pthread_getaffinity_np(pthread_self(), sizeof(places), &places) == 0;
    if (known) rest.store(asleep, std::memory_order_release);
    offers.wait(seen, std::memory_order_acquire);
    if (!known) return;
    for (int is = asleep; !rest.compare_exchange_weak(is, awake, std::memory_order_acquire); is = asleep) pause();
    pthread_setaffinity_np(pthread_self(), sizeof(places), &places);
  }

  void wake(int with) {
    move_aside();
    state.store(with, std::memory_order_release);
    offers.fetch_add(1, std::memory_order_release);
    offers.notify_all();
  }

  bool take() {
    int is = offered;
    return state.compare_exchange_strong(is, taken, std::memory_order_acq_rel);
  }

  void loop() {
    inside = true;
    for (int seen = 0;;) {
      wait_while(offers, seen, [&] { sleep_until_offered(seen); });
      seen = offers.load(std::memory_order_acquire);
      if (state.load(std::memory_order_acquire) == quit) return;
      if (!take()) continue;
      job->run(part);
      // In order with notify_all(), which looks whether somebody waits: a release store may still be on its way then,
      // the caller fall asleep by the old value, and nobody wake it.
      state.store(idle, std::memory_order_seq_cst);
      state.notify_all();
    }
  }
};

/// As OMP_PROC_BIND asks; the calling thread is bound to a place of its own then, which its workers must not inherit.
void bind(pthread_attr_t& attributes, int part, int parts) {
  const int places = omp_get_num_places(), here = omp_get_place_num();
  if (omp_get_proc_bind() == omp_proc_bind_false || places <= 0 || here < 0) return;
  const bool spread = omp_get_proc_bind() == omp_proc_bind_spread && parts <= places;
  const int place = (here + (spread ? part * places / parts : part)) % places;
  std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
  omp_get_place_proc_ids(place, ids.data());
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int id : ids) {
    if (id >= 0 && id < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(id), &set);
  }
  if (CPU_COUNT(&set) > 0) pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
}

/// The workers of one calling thread.
class crew {
 public:
  crew() = default;
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() {
    for (const auto& w : workers_) {
      w->wake(quit);
    }
    for (const auto& w : workers_) pthread_join(w->thread, nullptr);
  }

  [[nodiscard]] bool is_of_parent() const { return generation_ != generation.load(std::memory_order_relaxed); }

  void run(int parts, region& job) {
    grow(parts);
    const int offers = std::min(parts - 1, static_cast<int>(workers_.size()));
    for (int i = 0; i < offers; ++i) offer(*workers_[static_cast<std::size_t>(i)], job, i + 1);
    job.run(0);
    for (int part = offers + 1; part < parts; ++part) job.run(part);
    for (int i = 0; i < offers; ++i) finish(*workers_[static_cast<std::size_t>(i)], job);
  }

 private:
  /// Workers for all parts but the caller's, or as many as the system gives; it is asked once.
  void grow(int parts) {
    while (!refused_ && static_cast<int>(workers_.size()) < parts - 1) {
      try {
        workers_.reserve(workers_.size() + 1);
        auto made = std::make_unique<worker>();
        refused_ = !start(*made, static_cast<int>(workers_.size()) + 1, parts);
        if (!refused_) workers_.push_back(std::move(made));
      } catch (const std::bad_alloc&) {
        refused_ = true;
      }
    }
  }

  static bool start(worker& w, int part, int parts) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    const auto body = [](void* of) -> void* {
      static_cast<worker*>(of)->loop();
      return nullptr;
    };
    bind(attributes, part, parts);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    const int error = pthread_create(&w.thread, &attributes, body, &w);
    pthread_attr_destroy(&attributes);
    return error == 0;
  }

  static void offer(worker& w, region& job, int part) {
    w.job = &job;
    w.part = part;
    w.wake(offered);
  }

  static void finish(worker& w, region& job) {
    int is = offered;
    if (w.state.compare_exchange_strong(is, idle, std::memory_order_acq_rel)) {
      job.run(w.part);
    } else {
      wait_while(w.state, taken);
    }
  }

  int generation_ = generation.load(std::memory_order_relaxed);
  bool refused_ = false;
  std::vector<std::unique_ptr<worker>> workers_;
};

/// A thread's crew, made when it first has work to share.
class crew_of_thread {
 public:
  ~crew_of_thread() {
    if (crew_ != nullptr && crew_->is_of_parent()) abandon();
    delete std::exchange(crew_, nullptr);
    over_ = true;
  }

  /// nullptr where there is no memory for one, or the thread is ending.
  crew* get() {
    if (over_) return nullptr;
    if (crew_ != nullptr && crew_->is_of_parent()) abandon();
    if (crew_ == nullptr) {
      static const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });
      if (registered != 0) return nullptr;
      crew_ = new (std::nothrow) crew;
    }
    return crew_;
  }

 private:
  /// In a child of fork: the threads to join do not exist. The memory stays.
  void abandon() { parents_ = std::exchange(crew_, nullptr); }

  crew* crew_ = nullptr;
  crew* parents_ = nullptr;
  bool over_ = false;
};

thread_local crew_of_thread own_crew;

}  // namespace

void run_parts(int parts, void (*call)(const void* body, int part), const void* body) {
  crew* const workers = inside || omp_in_parallel() != 0 ? nullptr : own_crew.get();
  if (workers == nullptr) {
    for (int part = 0; part < parts; ++part) call(body, part);
    return;
  }
  region job{call, body, {}, {}};
  inside = true;
  workers->run(parts, job);
  inside = false;
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace tulle::detail
