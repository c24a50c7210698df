// What all readers begin with: a file or text, its header, and the threads that it is worth.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string>

#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {

inline context all_threads(const matrix_market_options& options) {
  if (options.threads >= 0) return context::cpu(options.threads);
  throw error(status::invalid_argument, fmt::format("threads: {} is negative; 0 means all", options.threads));
}

/// No more threads than there are pieces of text worth one.
inline context context_for(const source& file, const matrix_market_options& options) {
  constexpr std::size_t bytes_per_thread = std::size_t{1} << 15;
  const context all = all_threads(options);
  const std::size_t useful = file.size() / bytes_per_thread + 1;
  return useful < static_cast<std::size_t>(all.threads()) ? context::cpu(static_cast<int>(useful)) : all;
}

/// The header, and what it says. Throws what read_header throws, and UNSUPPORTED where values do not fit T.
template <scalar T>
header opened_header(const source& file, const matrix_market_options& options, matrix_market_info& info) {
  header h = read_header(file);
  if (h.field == mm_field::complex && !complex_scalar<T>) {
    fail(status::unsupported, file, 1,
         fmt::format("complex values do not fit {}: they are read as c64 or c128", name(scalar_type_of<T>)));
  }
  h.no_diagonal = options.strict && h.symmetry == mm_symmetry::skew_symmetric;
  info.field = h.field;
  info.symmetry = h.symmetry;
  info.array = h.array;
  info.stored_entries = h.entries;
  info.bytes = static_cast<std::int64_t>(file.size());
  return h;
}

/// To a CSR: `read_matrix_market` of what was opened (matrix_market_read.cpp).
template <scalar T>
csr<T> parse_csr(const source& file, const matrix_market_options& options, matrix_market_info& info);

/// Returns f(); where memory does not suffice, the message begins with the name.
template <class F>
auto in_memory_for(std::string_view name, F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw error(status::out_of_memory, fmt::format("{}: no memory to read it", name));
  } catch (const error& e) {
    if (e.code() != status::out_of_memory || std::string_view(e.what()).starts_with(name)) throw;
    throw error(status::out_of_memory, fmt::format("{}: no memory to read it: {}", name, e.what()));
  }
}

/// parse(source, info), and what there is to know of the file where the caller asks for it.
template <class F>
auto timed(const source& file, matrix_market_info* info, std::chrono::steady_clock::time_point start, F parse) {
  matrix_market_info learnt;
  auto made = parse(file, learnt);
  learnt.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (info != nullptr) *info = std::move(learnt);
  return made;
}

/// parse(source, info) of text in memory.
template <class F>
auto of_text(std::string_view text, std::string_view name, matrix_market_info* info, F parse) {
  const auto start = std::chrono::steady_clock::now();
  return in_memory_for(name, [&] { return timed({text, name}, info, start, parse); });
}

/// The same of a file, again with its whole text in memory where a message needs it.
template <class F>
auto of_file(const std::filesystem::path& file, const matrix_market_options& options, matrix_market_info* info,
             F parse) {
  const auto start = std::chrono::steady_clock::now();
  const std::string name = file == "-" ? "stdin" : file.string();
  return in_memory_for(name, [&] {
    const int threads = all_threads(options).threads();
    file_text text(file, name);
    if (text.is_open()) {
      try {
        return timed(text.as_source(), info, start, parse);
      } catch (const text_needed&) {
        text.load(threads);
      }
    }
    return timed(text.as_source(), info, start, parse);
  });
}

}  // namespace tulle::matrix_market
