// Whether other processes take the cores that are being measured.
#pragma once

#include <optional>
#include <string>

namespace tulle::cli::bench {

/// Processor time since it was made, in units of 10 ms as Linux counts it.
class load_watch {
 public:
  load_watch();
  /// Cores that other processes kept busy on average; nothing where the system does not tell or too little time has
  /// passed.
  [[nodiscard]] std::optional<double> others() const;

 private:
  struct times {
    double wall = 0, own = 0, all = 0;  // seconds
  };
  static times now();

  times begin_;
};

/// Whether `threads` and what others keep busy are more than the machine's cores.
bool is_overloaded(std::optional<double> others, int threads, int cores);
/// What to say where that is so; else empty.
std::string overload(std::optional<double> others, int threads, int cores);
/// The cores of this machine.
int cores();

}  // namespace tulle::cli::bench
