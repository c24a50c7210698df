#include "matrix.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <span>
#include <tulle/formats/convert.hpp>
#include <tulle/io/write_file.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/vector.hpp>
#include <type_traits>
#include <utility>

namespace tulle::cli {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

/// "dir/cant.mtx.gz" -> "cant".
std::string short_name(const std::filesystem::path& file) {
  std::filesystem::path name = file.filename();
  for (const char* ending : {".gz", ".xz", ".zst", ".mtx", ".mm"}) {
    if (ending_of(name) == ending) name = name.stem();
  }
  return name.string();
}

bool has_no_reader(int fd) {
  pollfd asked{fd, POLLOUT, 0};
  return poll(&asked, 1, 0) == 1 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

/// Throws reader_gone where `write` fails since nobody reads what goes to standard output.
template <class F>
void guard_pipe(const std::string& file, const F& write) {
  try {
    write();
  } catch (const error&) {
    if (file == "-" && has_no_reader(STDOUT_FILENO)) throw reader_gone();
    throw;
  }
}

}  // namespace

namespace {

template <scalar From, scalar To, class Convert>
matrix_ref converted(csr<From> a, const Convert& convert) {
  buffer<To> values(context::cpu(1), a.values.size());
  for (std::size_t k = 0; k < values.size(); ++k) values.data()[k] = convert(a.values.data()[k], k);
  return csr<To>{a.rows, a.cols, std::move(a.rowptr), std::move(a.colind), std::move(values)};
}

/// Generators make real numbers: a complex one gets a random imaginary part, an i64 is an i32, a boolean is true unless
/// 0.
matrix_ref generated(const std::string& spec, scalar_type type, const context& ctx) {
  return with_type(type, [&]<class T>() -> matrix_ref {
    if constexpr (complex_scalar<T>) {
      using R = typename T::value_type;
      csr<R> real = generate<R>(ctx, spec);
      std::vector<R> imaginary(real.values.size());
      vector_ops(ctx).random(3, imaginary);
      return converted<R, T>(std::move(real), [&](R v, std::size_t k) { return T(v, imaginary[k]); });
    } else if constexpr (std::same_as<T, std::int64_t>) {
      return converted<std::int32_t, T>(generate<std::int32_t>(ctx, spec),
                                        [](std::int32_t v, std::size_t) { return T{v}; });
    } else if constexpr (std::same_as<T, bool>) {
      return converted<double, T>(generate<double>(ctx, spec), [](double v, std::size_t) { return v != 0; });
    } else {
      return generate<T>(ctx, spec);
    }
  });
}

/// For bool, whose name errors are to have.
csr<double> read_numbers(const std::string& file, const matrix_market_options& options, matrix_market_info* info) {
  try {
    return read_matrix_market<double>(file, options, info);
  } catch (const error& e) {
    std::string said = e.what();
    const std::size_t at = said.find("do not fit f64");
    if (at == said.npos) throw;
    throw error(e.code(), said.replace(at, 14, "do not fit bool"));
  }
}

matrix_ref read(const std::string& file, scalar_type type, const matrix_market_options& options,
                matrix_market_info* info) {
  return with_type(type, [&]<class T>() -> matrix_ref {
    if constexpr (std::same_as<T, bool>) {
      return converted<double, T>(read_numbers(file, options, info), [](double v, std::size_t) { return v != 0; });
    } else {
      return read_matrix_market<T>(file, options, info);
    }
  });
}

/// The same, but complex values as c128 where real ones were not asked for.
matrix_ref read_as_asked(const std::string& file, const run_options& o, const matrix_market_options& options,
                         matrix_market_info* info) {
  const scalar_type type = type_named(o.precision);
  try {
    return read(file, type, options, info);
  } catch (const error& e) {
    const bool complex_as_real = e.code() == status::unsupported && !is_complex(type) &&
                                 std::string_view(e.what()).find("complex") != std::string_view::npos;
    if (!complex_as_real) throw;
    if (o.precision_given || file == "-")
      throw error(e.code(), fmt::format("{}; --precision c128 reads them", e.what()));
  }
  return read(file, scalar_type::c128, options, info);
}

}  // namespace

void take_stdin() {
  static bool taken = false;
  if (std::exchange(taken, true)) {
    throw error(status::invalid_argument, "- is named twice: standard input can be read once");
  }
}

json to_json(const matrix_facts& a) {
  return object(field("matrix", a.name), field("rows", a.rows), field("cols", a.cols), field("nnz", a.nnz));
}

std::string headline(const matrix_facts& a) {
  return fmt::format("{}: {} x {}, {}", printable(a.name), grouped(a.rows), grouped(a.cols), counted(a.nnz, "nonzero"));
}

json to_json(const csr_stats& s) {
  json fill = json::object();
  for (std::size_t b = 2; b < s.block_fill.size(); ++b) fill[std::to_string(b)] = s.block_fill[b];
  return object(field("mean", s.mean), field("max", s.max), field("stddev", s.stddev), field("skew", s.skew),
                field("empty_rows", s.empty_rows), field("bandwidth", s.bandwidth), field("ell_padding", s.ell_padding),
                field("sell_padding", s.sell_padding), field("sell_sorted_padding", s.sell_sorted_padding),
                field("block_fill", fill), field("gather_sectors", s.gather_sectors),
                field("gather_span", s.gather_span), field("column_window", s.column_window));
}

named_matrix load(const std::string& spec, const run_options& o) {
  if (spec == "-") take_stdin();
  named_matrix a;
  const auto start = clock::now();
  const matrix_market_options options{o.strict, o.threads};
  if (is_generator(spec)) {
    a.name = spec;
    a.matrix = generated(spec, type_named(o.precision), context::cpu(o.threads));
  } else {
    a.name = spec == "-" ? "stdin" : short_name(spec);
    a.matrix = read_as_asked(spec, o, options, &a.info);
  }
  if (!a.info.note.empty()) note(fmt::format("{}: {}", a.name, a.info.note));
  detail(fmt::format("{} of {}, in {}", headline(a.facts()), o.precision, human_time(1e6 * seconds_since(start))));
  return a;
}

named_matrix load_real(const std::string& spec, const run_options& o, std::string_view command) {
  named_matrix a = load(spec, o);
  if (!is_complex(a.matrix.types.value)) return a;
  throw error(status::unsupported, fmt::format("{}: complex values; {} is real", a.name, command));
}

csr_stats statistics(const matrix_ref& a, const run_options& o) {
  return with_precision(o,
                        [&]<class T>() { return tulle::statistics(context::cpu(o.threads), a.as<T, std::int64_t>()); });
}

std::optional<bin_padding> padding_in_bins(const matrix_ref& a, const csr_stats& stats, const run_options& o) {
  constexpr double least_fill = 0.9;
  index_t block = 8;
  while (block > 1 && stats.block_fill[static_cast<std::size_t>(block)] < least_fill) --block;
  if (block < 2 || a.nnz == 0 || is_further(a.types.value)) return {};
  return with_precision(
      o, [&]<class T>() { return tulle::padding_in_bins(context::cpu(o.threads), a.as<T, std::int64_t>(), block); });
}

double read_rate(const matrix_market_info& info) {
  return info.seconds > 0 ? static_cast<double>(info.bytes) / info.seconds / 1e6 : 0;
}

template <scalar T>
std::vector<stored<T>> load_vector(const std::string& spec, index_t size, std::string_view argument,
                                   const run_options& o) {
  run_options of_type = o;
  of_type.precision = name(scalar_type_of<T>);
  of_type.precision_given = true;
  const named_matrix loaded = load(spec, of_type);
  const auto a = loaded.view<T>();
  const bool column = a.cols == 1;
  if ((column ? a.rows : a.cols) != size || (!column && a.rows != 1)) {
    throw error(status::invalid_dimensions,
                fmt::format("{}: {} is {} x {}, and {} x 1 is needed", argument, spec, a.rows, a.cols, size));
  }
  std::vector<stored<T>> x(static_cast<std::size_t>(size));
  for (index_t row = 0; row < a.rows; ++row) {
    for (auto k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      x[static_cast<std::size_t>(column ? row : a.colind[k])] = a.values[k];
    }
  }
  return x;
}

void write_matrix(const std::string& file, const matrix_ref& a, bool symmetric, mm_field wish) {
  const auto start = clock::now();
  try {
    guard_pipe(file, [&] { write_matrix_market(file, a, symmetric, wish); });
  } catch (const error& e) {  // of the matrix, not of the command line
    if (!symmetric || e.code() != status::invalid_argument) throw;
    throw error(status::invalid_structure, fmt::format("--{}", e.what()));
  }
  const double seconds = seconds_since(start);
  if (file == "-" || !std::filesystem::is_regular_file(file)) return;
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  note(fmt::format("wrote {}, {} at {}", headline({file, a.rows, a.cols, a.nnz}), human_bytes(bytes),
                   human_rate(bytes / seconds)));
}

void note_written(const std::string& file) {
  std::error_code none;
  if (file.empty() || file == "-" || !std::filesystem::is_regular_file(file, none)) return;
  note(fmt::format("wrote {}, {}", file, human_bytes(static_cast<double>(std::filesystem::file_size(file, none)))));
}

void write_text(const std::string& file, std::string_view text) {
  guard_pipe(file, [&] { write_file(file, text); });
}

template <scalar T>
void write_vector(const std::string& file, host_span<const T> x, index_t columns) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix array {} general\n{} {}\n",
                 complex_scalar<T>       ? "complex"
                 : std::is_integral_v<T> ? "integer"
                                         : "real",
                 x.size() / static_cast<std::size_t>(columns), columns);
  for (const T value : x) {
    if constexpr (complex_scalar<T>) {
      fmt::format_to(std::back_inserter(text), "{} {}\n", value.real(), value.imag());
    } else {
      fmt::format_to(std::back_inserter(text), "{}\n", static_cast<stored<T>>(value));
    }
  }
  write_text(file, {text.data(), text.size()});
  note_written(file);
}

matrix_ref widened(const matrix_ref& a) {
  if (a.types.offset == offset_type::i64) return a;
  struct arrays {
    matrix_ref of;
    std::vector<std::int64_t> rowptr;
  };
  const auto* const narrow = static_cast<const std::int32_t*>(a.rowptr);
  const auto owner = std::make_shared<const arrays>(arrays{a, {narrow, narrow + a.rows + 1}});
  matrix_ref wide = a;
  wide.types.offset = offset_type::i64;
  wide.rowptr = owner->rowptr.data();
  wide.owner = owner;
  return wide;
}

matrix_ref transposed(const matrix_ref& a, const run_options& o) {
  const context ctx = context::cpu(o.threads);
  if (is_further(a.types.value)) return widened(transpose(ctx, a).matrix);
  return with_precision(o, [&]<class T>() { return matrix_ref(transpose(to_csc(ctx, a.as<T, std::int64_t>()))); });
}

std::optional<matrix_entry> first_asymmetry(const matrix_ref& a) {
  return with_type(a.types.value, [&]<class T>() -> std::optional<matrix_entry> {
    if constexpr (!complex_scalar<T> && !std::same_as<T, bool> && !std::same_as<T, std::int64_t>) {
      const context ctx = context::cpu(1);
      const csc<T, std::int64_t> columns = to_csc(ctx, a.as<T, std::int64_t>());  // rows of the transpose, sorted
      const csr<T, std::int64_t> rows = to_csr(ctx, columns.view());              // the same of A
      for (index_t r = 0; r < a.rows; ++r) {
        const std::int64_t begin = rows.rowptr.data()[r], end = rows.rowptr.data()[r + 1];
        const std::int64_t mirrored = columns.colptr.data()[r], mirrored_end = columns.colptr.data()[r + 1];
        for (std::int64_t i = 0; begin + i < end || mirrored + i < mirrored_end; ++i) {
          const auto k = static_cast<std::size_t>(begin + i), m = static_cast<std::size_t>(mirrored + i);
          const index_t here = begin + i < end ? rows.colind.data()[k] : a.cols;
          const index_t there = mirrored + i < mirrored_end ? columns.rowind.data()[m] : a.cols;
          const T x = begin + i < end ? rows.values.data()[k] : T{};
          const T y = mirrored + i < mirrored_end ? columns.values.data()[m] : T{};
          if (here == there && (x == y || (x != x && y != y))) continue;
          return matrix_entry{r, std::min(here, there)};
        }
      }
    }
    return std::nullopt;
  });
}

std::string matrix_hash(const matrix_ref& a) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](const void* data, std::size_t size) {
    for (const std::byte b : std::span(static_cast<const std::byte*>(data), size)) {
      hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
    }
  };
  const auto nnz = static_cast<std::size_t>(a.nnz);
  const auto add_lengths = [&](const auto* rowptr) {
    for (index_t row = 0; row < a.rows; ++row) {
      const std::int64_t length = rowptr[row + 1] - rowptr[row];
      add(&length, sizeof(length));
    }
  };
  add(&a.rows, sizeof(a.rows));
  add(&a.cols, sizeof(a.cols));
  if (a.types.offset == offset_type::i64) {
    add_lengths(static_cast<const std::int64_t*>(a.rowptr));
  } else {
    add_lengths(static_cast<const std::int32_t*>(a.rowptr));
  }
  add(a.colind, nnz * sizeof(index_t));
  add(a.values, nnz * size_of(a.types.value));
  return fmt::format("{:016x}", hash);
}

double compulsory_bytes(const csr_stats& stats, std::size_t value_bytes, bool reads_y, index_t vectors) {
  const auto value = static_cast<double>(value_bytes), offset = static_cast<double>(size_of(offsets_for(stats.nnz)));
  const double rows = stats.rows;
  return static_cast<double>(stats.nnz) * (value + sizeof(index_t)) + (rows + 1) * offset +
         vectors * value * (stats.cols + rows * (reads_y ? 2 : 1));
}

matrix_ref on_host(const matrix_ref& a) { return a.space == memory_space::host ? a : clone(context::cpu(1), a); }

matrix_ref place(const context& ctx, const matrix_ref& host, offset_type offsets) {
  matrix_ref a = host;
  if (offsets == offset_type::i32) {
    const auto* wide = static_cast<const std::int64_t*>(host.rowptr);
    const auto narrow =
        std::make_shared<buffer<std::int32_t>>(context::cpu(1), static_cast<std::size_t>(host.rows) + 1);
    std::copy_n(wide, narrow->size(), narrow->data());
    a.types.offset = offsets;
    a.rowptr = narrow->data();
    a.owner = narrow;
  }
  return ctx.space() == memory_space::host ? a : clone(ctx, a);
}

#define TULLE_CLI_INSTANTIATE(T)                                                                                     \
  template std::vector<stored<T>> load_vector<T>(const std::string&, index_t, std::string_view, const run_options&); \
  template void write_vector<T>(const std::string&, host_span<const T>, index_t);
TULLE_CLI_INSTANTIATE(float)
TULLE_CLI_INSTANTIATE(double)
TULLE_CLI_INSTANTIATE(std::int32_t)
TULLE_CLI_INSTANTIATE(std::int64_t)
TULLE_CLI_INSTANTIATE(std::complex<float>)
TULLE_CLI_INSTANTIATE(std::complex<double>)
TULLE_CLI_INSTANTIATE(bool)

}  // namespace tulle::cli
