// The table of generators, and the matrix from its pattern and values.
#include <fmt/format.h>

#include <array>
#include <tulle/core/nearest_name.hpp>
#include <tulle/io/generate.hpp>
#include <vector>

#include "core/instantiate.hpp"
#include "io/generate_pattern.hpp"

namespace tulle {
namespace generators_detail {
namespace {

struct generator {
  generator_info info;
  pattern (*make)(const context&, const parameters&);
};

constexpr std::array table{
    generator{{"uniform", "n=1000, cols=n, degree=16", "n rows of `degree` entries in random columns"}, make_uniform},
    generator{{"corner", "n=1000, size=100", "n x n with only the bottom-right corner of `size` rows filled"},
              make_corner},
    generator{{"stencil", "n=100, nx=n, ny=n, nz=n, points=7 (5, 7, 9, 27)",
               "a grid of n x n (5, 9 points) or n x n x n (7, 27 points) nodes"},
              make_stencil},
    generator{{"fem", "n=20, dof=3", "trilinear finite elements on n x n x n nodes with `dof` unknowns per node"},
              make_fem},
    generator{{"banded", "n=1000, width=5", "n x n, `width` diagonals on either side of the main one"}, make_banded},
    generator{{"rmat", "scale=10, degree=16, a=0.57, b=0.19, c=0.19",
               "a power-law graph of 2^scale vertices and `degree` edges per vertex, repeated edges removed"},
              make_rmat},
    generator{{"short", "n=1000, width=16", "1 to 4 entries per row within `width` of the diagonal"}, make_short},
    generator{
        {"arrow", "n=1000, dense=4, columns=0", "the diagonal, the first `dense` rows and the first `columns` columns"},
        make_arrow},
    generator{{"block", "n=250, block=4, blocks=8",
               "n block rows with `blocks` full blocks of block x block entries in random places"},
              make_block},
    generator{{"diagonal", "n=1000", "n x n, the diagonal alone"}, make_diagonal},
};

constexpr std::array infos = [] {
  std::array<generator_info, table.size()> out;
  for (std::size_t i = 0; i < table.size(); ++i) out[i] = table[i].info;
  return out;
}();

const generator& find_generator(std::string_view name) {
  std::vector<std::string_view> names;
  for (const generator& g : table) {
    if (g.info.name == name) return g;
    names.push_back(g.info.name);
  }
  throw error(status::invalid_argument, fmt::format("no generator is called '{}'{}", name, alternatives(name, names)));
}

value_kind kind_of(const parameters& p) {
  const std::string& kind = p.text("values");
  if (kind == "random") return value_kind::random;
  if (kind == "spd") return value_kind::spd;
  if (kind == "integer") return value_kind::integer;
  p.refuse(fmt::format("values={} is no kind of values", kind));
}

}  // namespace

void require_memory(const context& ctx, index_t rows, double nnz) {
  constexpr double bytes_per_entry = sizeof(index_t) + sizeof(double);
  const double bytes = static_cast<double>(rows) * sizeof(std::int64_t) + nnz * bytes_per_entry;
  const auto available = static_cast<double>(ctx.info().memory_bytes);
  if (available > 0 && bytes > available) {
    throw error(status::out_of_memory,
                fmt::format("the matrix would take {:.1f} GB; this machine has {:.1f} GB of memory", bytes * 1e-9,
                            available * 1e-9));
  }
}

}  // namespace generators_detail

std::span<const generator_info> generators() noexcept { return generators_detail::infos; }

bool is_generator(std::string_view spec) noexcept { return spec.starts_with("gen:"); }

void check_generator(std::string_view spec) {
  using namespace generators_detail;
  kind_of(parameters(spec, find_generator(generator_name(spec)).info));
}

template <scalar T>
csr<T> generate(const context& ctx, std::string_view spec) {
  using namespace generators_detail;
  const context host = ctx.space() == memory_space::host ? ctx : context::cpu();
  const generator& chosen = find_generator(generator_name(spec));
  const parameters p(spec, chosen.info);
  const value_kind kind = kind_of(p);
  pattern made = chosen.make(host, p);
  if (kind == value_kind::spd && !made.symmetric) {
    p.refuse(fmt::format("values=spd needs a symmetric pattern with a full diagonal: {}", takers_of_spd));
  }
  buffer<T> values = make_values<T>(host, made, kind, p.seed());
  return {made.rows, made.cols, std::move(made.rowptr), std::move(made.colind), std::move(values)};
}

#define TULLE_INSTANTIATE(T) template csr<T> generate<T>(const context&, std::string_view);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

}  // namespace tulle
