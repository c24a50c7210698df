// The threads of a parallel region.
#pragma once

namespace tulle {

namespace detail {

void run_parts(int parts, void (*call)(const void* body, int part), const void* body);

}  // namespace detail

/// Calls f(part) once for each of the parts 0 .. parts - 1 and returns when all are done. Part 0 is the caller's, part
/// p that of its worker p, the same thread every time, so that what it touched is still in its cache. When the caller
/// has done its own part it also takes those that no worker has begun: where other processes keep the cores busy, where
/// no thread can be started, or in a child of fork, a region takes no longer than on one thread. Inside another region,
/// a caller's own OpenMP region included, it runs on the calling thread alone. Of what is thrown, one exception
/// arrives.
template <class F>
void for_each_part(int parts, const F& f) {
  if (parts == 1) return f(0);
  detail::run_parts(
      parts, [](const void* body, int part) { (*static_cast<const F*>(body))(part); }, &f);
}

}  // namespace tulle
