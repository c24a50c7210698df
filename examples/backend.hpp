// Which backend an example runs on.
#pragma once

#include <string_view>
#include <tulle/tulle.hpp>

/// The one that the first argument names, cpu or cuda, which is taken off the arguments; else the best there is.
inline tulle::context take_context(int& argc, char**& argv) {
  const std::string_view backend = argc > 1 ? argv[1] : "";
  if (backend != "cpu" && backend != "cuda") return tulle::context::best();
  --argc, ++argv;
  return backend == "cpu" ? tulle::context::cpu() : tulle::context::cuda();
}
