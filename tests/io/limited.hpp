// Calls that may use so much memory and no more.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support/errors.hpp"

namespace tulle::test {

inline constexpr rlim_t megabyte = rlim_t{1} << 20;

/// Bytes of address space that this process has mapped.
inline rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// 4 GiB of one line, as `compress` packs 16 MiB of it, 256 times over.
template <class Compress>
std::string bomb_of(const std::string& line, const Compress& compress) {
  std::string block;
  while (block.size() < 16 * megabyte) block += line;
  const std::string packed = compress(block);
  std::string all;
  for (int k = 0; k < 256; ++k) all += packed;
  return all;
}

/// Runs `call` in a child process that may use `limit` more bytes of address space, on one thread (the child of a
/// process with threads has none). Returns the status that it ends in, -1 for a crash.
template <class F>
int run_limited(rlim_t limit, F call) {
  const pid_t child = fork();
  if (child == 0) {
    const rlim_t most = address_space() + limit;  // on top of what the tests before have left mapped
    const rlimit bound{most, most};
    setrlimit(RLIMIT_AS, &bound);
    _exit(static_cast<int>(status_of(call)));
  }
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

}  // namespace tulle::test
