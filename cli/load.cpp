// Matrices and vectors named on the command line, and the vectors that commands make up or write.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "common.hpp"
#include "core/instantiate.hpp"

namespace tulle::cli {
namespace {

/// "dir/cant.mtx.gz" -> "cant".
std::string short_name(const std::filesystem::path& file) {
  std::filesystem::path name = file.filename();
  for (const char* extension : {".gz", ".zst", ".mtx", ".mm"}) {
    if (name.extension() == extension) name = name.stem();
  }
  return name.string();
}

template <scalar T>
csr<T> timed_generate(const std::string& spec, const run_options& o, matrix_market_info& info) {
  const auto start = std::chrono::steady_clock::now();
  csr<T> matrix = generate<T>(context::cpu(o.threads), spec);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return matrix;
}

/// One step of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class fnv1a {
 public:
  template <class T>
  void add(const T* data, std::size_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < count * sizeof(T); ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3u;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace

template <scalar T>
named_matrix<T> load(const std::string& spec, const run_options& o) {
  named_matrix<T> a;
  const matrix_market_options options{o.strict, o.threads};
  if (is_generator(spec)) {
    a.name = spec;
    a.matrix = timed_generate<T>(spec, o, a.info);
  } else if (spec == "-") {
    a.name = "stdin";
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    a.matrix = parse_matrix_market<T>(text, a.name, options, &a.info);
  } else {
    a.name = short_name(spec);
    a.matrix = read_matrix_market<T>(spec, options, &a.info);
  }
  if (!a.info.note.empty()) note(fmt::format("{}: {}", a.name, a.info.note));
  return a;
}

template <scalar T>
std::vector<T> load_vector(const std::string& spec, index_t size, std::string_view argument, const run_options& o) {
  const csr<T> a = load<T>(spec, o).matrix;
  const bool column = a.cols == 1;
  if ((column ? a.rows : a.cols) != size || (!column && a.rows != 1)) {
    throw error(status::invalid_dimensions,
                fmt::format("{}: {} is {} x {}, and {} x 1 is needed", argument, spec, a.rows, a.cols, size));
  }
  std::vector<T> x(static_cast<std::size_t>(size));
  const auto view = a.view();
  for (index_t row = 0; row < a.rows; ++row) {
    for (auto k = view.rowptr[row]; k < view.rowptr[row + 1]; ++k) {
      x[static_cast<std::size_t>(column ? row : view.colind[k])] = view.values[k];
    }
  }
  return x;
}

template <scalar T>
void write_vector(const std::string& file, host_span<const T> x, index_t columns) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix array {} general\n{} {}\n",
                 std::is_integral_v<T> ? "integer" : "real", x.size() / static_cast<std::size_t>(columns), columns);
  for (const T value : x) fmt::format_to(std::back_inserter(text), "{}\n", value);
  write_file(file, {text.data(), text.size()});
}

template <scalar T>
std::vector<T> random_vector(std::size_t n, std::uint64_t seed) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = mix(mix(seed) + i);
    if constexpr (std::is_same_v<T, std::int32_t>) {
      x[i] = static_cast<T>(bits % 17) - 8;
    } else {
      constexpr int digits = std::numeric_limits<T>::digits;
      x[i] = std::ldexp(static_cast<T>(bits >> (64 - digits)), 1 - digits) - 1;
    }
  }
  return x;
}

template <scalar T, offset O>
std::string matrix_hash(csr_view<T, O> a) {
  fnv1a hash;
  hash.add(&a.rows, 1);
  hash.add(&a.cols, 1);
  for (index_t row = 0; row < a.rows; ++row) {  // lengths, so that the width of the offsets does not matter
    const auto length = static_cast<std::int64_t>(a.rowptr[row + 1] - a.rowptr[row]);
    hash.add(&length, 1);
  }
  hash.add(a.colind, static_cast<std::size_t>(a.nnz));
  hash.add(a.values, static_cast<std::size_t>(a.nnz));
  return fmt::format("{:016x}", hash.value());
}

#define TULLE_INSTANTIATE(T)                                                                                 \
  template named_matrix<T> load<T>(const std::string&, const run_options&);                                  \
  template std::vector<T> load_vector<T>(const std::string&, index_t, std::string_view, const run_options&); \
  template void write_vector<T>(const std::string&, host_span<const T>, index_t);                            \
  template std::vector<T> random_vector<T>(std::size_t, std::uint64_t);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

#define TULLE_INSTANTIATE_HASH(T, O) template std::string matrix_hash<T, O>(csr_view<T, O>);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE_HASH)

}  // namespace tulle::cli
