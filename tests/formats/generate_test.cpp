// The generators: sizes, patterns, values, the same matrix everywhere, and what they refuse.
#include <algorithm>
#include <cmath>
#include <set>

#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

matrix make(const std::string& spec, int threads = 2) { return {plain(generate<double>(context::cpu(threads), spec))}; }

/// FNV-1a over the bytes of the arrays.
template <class T>
std::uint64_t hash_bytes(const std::vector<T>& data, std::uint64_t hash) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  for (std::size_t i = 0; i < data.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}
std::uint64_t hash_of(const matrix& m) {
  return hash_bytes(m.values, hash_bytes(m.colind, hash_bytes(m.rowptr, 0xcbf29ce484222325)));
}

const std::string every_kind[] = {"gen:uniform",
                                  "gen:uniform:n=300,cols=40,degree=39",
                                  "gen:corner",
                                  "gen:stencil:n=12",
                                  "gen:stencil:points=5,nx=9,ny=30",
                                  "gen:stencil:points=9,n=20",
                                  "gen:stencil:points=27,nx=5,ny=6,nz=7",
                                  "gen:fem:n=6",
                                  "gen:banded",
                                  "gen:rmat",
                                  "gen:short:n=40000",
                                  "gen:arrow:columns=2",
                                  "gen:block",
                                  "gen:diagonal"};

class generating : public testing::TestWithParam<std::string> {};
std::string spec_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(4);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(every_kind, generating, testing::ValuesIn(every_kind), spec_name);

TEST_P(generating, gives_the_same_matrix_for_any_number_of_threads) {
  const std::uint64_t want = hash_of(make(GetParam(), 1));
  for (const int threads : {2, 3, 5, 16}) EXPECT_EQ(hash_of(make(GetParam(), threads)), want) << threads;
}

TEST_P(generating, gives_a_sound_matrix_without_zeros) {
  const context ctx = context::cpu(2);
  for_types<float, double, std::int32_t>([&]<class T>() {
    const csr<T> a = generate<T>(ctx, GetParam());
    const validation found = validate(ctx, a.view(), {.sorted = true, .duplicates = true, .finite = true});
    EXPECT_TRUE(found.ok()) << found.message();
    EXPECT_GT(a.nnz(), 0);
    for (const T value : a.values.host()) {
      ASSERT_NE(value, 0);
      ASSERT_LE(std::abs(static_cast<double>(value)), std::is_integral_v<T> ? 8 : 1);
    }
  });
}

TEST_P(generating, integers_are_small_and_the_same_in_every_type) {
  const context ctx = context::cpu(2);
  const std::string spec = GetParam() + (GetParam().find(':', 4) == std::string::npos ? ":" : ",") + "values=integer";
  const auto doubles = to_vector(ctx, generate<double>(ctx, spec).values);
  const std::set<double> distinct(doubles.begin(), doubles.end());
  EXPECT_EQ(distinct.size(), 16u);
  EXPECT_EQ(*distinct.begin(), -8);
  EXPECT_EQ(*distinct.rbegin(), 8);
  EXPECT_EQ(distinct.count(0), 0u);
  EXPECT_TRUE(std::ranges::equal(generate<float>(ctx, spec).values.host(), doubles));
  EXPECT_TRUE(std::ranges::equal(generate<std::int32_t>(ctx, spec).values.host(), doubles));
}

TEST(generator_sizes, are_those_of_the_formulas) {
  EXPECT_EQ(make("gen:stencil:n=100").nnz(), 6940000);                  // 7 n^3 - 6 n^2
  EXPECT_EQ(make("gen:stencil:points=27,n=30").nnz(), 88LL * 88 * 88);  // (3 n - 2)^3
  EXPECT_EQ(make("gen:stencil:points=5,n=30").nnz(), 5 * 900 - 4 * 30);
  EXPECT_EQ(make("gen:stencil:points=9,n=30").nnz(), 88 * 88);
  EXPECT_EQ(make("gen:fem:n=20,dof=3").nnz(), 9LL * 58 * 58 * 58);
  EXPECT_EQ(make("gen:uniform:n=4096,degree=16").nnz(), 4096 * 16);
  EXPECT_EQ(make("gen:corner:n=1000,size=64").nnz(), 64 * 64);
  EXPECT_EQ(make("gen:corner:n=1000,k=64").nnz(), 64 * 64);
  EXPECT_EQ(make("gen:banded:n=1000,width=3").nnz(), 7 * 1000 - 2 * (1 + 2 + 3));
  EXPECT_EQ(make("gen:arrow:n=1000,dense=16").nnz(), 16 * 1000 + 984);
  EXPECT_EQ(make("gen:arrow:n=10,dense=2,columns=2").nnz(), 2 * 10 + 8 * 3);
  EXPECT_EQ(make("gen:block:n=100,block=5,blocks=7").nnz(), 100LL * 7 * 25);
  EXPECT_EQ(make("gen:diagonal:n=77").nnz(), 77);
  const matrix rmat = make("gen:rmat:scale=14,degree=16");
  EXPECT_EQ(rmat.rows, 1 << 14);
  EXPECT_GT(rmat.nnz(), 0.8 * 16 * (1 << 14));  // what is left after removing repeats
  EXPECT_LT(rmat.nnz(), 16 << 14);
}

TEST(generator_patterns, stencil_neighbours) {
  const matrix m = make("gen:stencil:nx=4,ny=3,nz=2");
  ASSERT_EQ(m.rows, 24);
  const index_t node = 1 + 4 * (1 + 3 * 0);
  const std::vector<index_t> want = {node - 4, node - 1, node, node + 1, node + 4, node + 12};
  EXPECT_EQ((std::vector<index_t>(m.colind.begin() + m.rowptr[node], m.colind.begin() + m.rowptr[node + 1])), want);
}

TEST(generator_patterns, fem_couples_all_unknowns_of_adjacent_nodes) {
  const matrix m = make("gen:fem:n=3,dof=2");
  for (index_t r = 0; r < m.rows; ++r) {
    for (index_t c = 0; c < m.cols; ++c) {
      const int i = r / 2;
      const int j = c / 2;
      const bool adjacent =
          std::abs(i % 3 - j % 3) <= 1 && std::abs(i / 3 % 3 - j / 3 % 3) <= 1 && std::abs(i / 9 - j / 9) <= 1;
      EXPECT_EQ(value_at(m, r, c) != 0, adjacent) << r << ", " << c;
    }
  }
}

TEST(generator_patterns, short_rows_have_1_to_4_entries_near_the_diagonal) {
  const matrix m = make("gen:short:n=20000,width=5");
  std::array<int, 5> count{};
  for (index_t r = 0; r < m.rows; ++r) {
    ASSERT_GE(m.length(r), 1);
    ASSERT_LE(m.length(r), 4);
    ++count[static_cast<std::size_t>(m.length(r))];
    for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) ASSERT_LE(std::abs(m.colind[k] - r), 5);
  }
  for (std::size_t length = 1; length <= 4; ++length) EXPECT_GT(count[length], 4500);  // 5000 expected, sigma 61
}

TEST(generator_patterns, uniform_columns_are_spread_evenly) {
  const matrix m = make("gen:uniform:n=20000,cols=16,degree=4");
  std::array<int, 16> count{};
  for (const index_t c : m.colind) ++count[static_cast<std::size_t>(c)];
  for (const int c : count) EXPECT_NEAR(c, 5000, 500);  // sigma 61
}

TEST(generator_values, spd_is_symmetric_and_strictly_dominant) {
  const context ctx = context::cpu(2);
  for (const char* spec :
       {"gen:stencil:n=9,values=spd", "gen:stencil:points=9,n=9,values=spd", "gen:fem:n=5,values=spd",
        "gen:banded:values=spd", "gen:diagonal:values=spd", "gen:arrow:columns=4,values=spd"}) {
    SCOPED_TRACE(spec);
    for_types<double, float, std::int32_t>([&]<class T>() {
      const plain_csr<T> a = plain(generate<T>(ctx, spec));
      EXPECT_TRUE(same_bits(transposed(a), a));
      for (index_t r = 0; r < a.rows; ++r) {
        double diagonal = 0, others = 0;
        for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
          const double value = a.values[k];
          (a.colind[k] == r ? diagonal : others) += a.colind[k] == r ? value : std::abs(value);
        }
        ASSERT_GT(diagonal, others) << r;
      }
    });
  }
}

TEST(generator_values, seeds_differ_and_repeat) {
  EXPECT_EQ(hash_of(make("gen:uniform:seed=5")), hash_of(make("gen:uniform:seed=5")));
  EXPECT_NE(hash_of(make("gen:uniform:seed=5")), hash_of(make("gen:uniform:seed=6")));
  EXPECT_NE(hash_of(make("gen:diagonal:seed=5")), hash_of(make("gen:diagonal:seed=6")));
  EXPECT_EQ(hash_of(make("gen:diagonal:seed=1")), hash_of(make("gen:diagonal")));
}

TEST(generator_values, golden_hashes) {
  EXPECT_EQ(hash_of(make("gen:uniform:n=500")), 9488065356159692229U);
  EXPECT_EQ(hash_of(make("gen:rmat:scale=9")), 12980955584915797814U);
  EXPECT_EQ(hash_of(make("gen:fem:n=5,values=spd")), 9164041456779320419U);
  EXPECT_EQ(hash_of(make("gen:short:n=500,values=integer")), 964874710210008753U);
}

TEST(generator_empty, sizes_may_be_zero) {
  for (const char* spec :
       {"gen:uniform:n=0", "gen:corner:n=0,size=0", "gen:stencil:n=0", "gen:fem:n=0", "gen:banded:n=0", "gen:short:n=0",
        "gen:arrow:n=0,dense=0", "gen:block:n=0", "gen:diagonal:n=0", "gen:stencil:nx=3,ny=0,nz=2"}) {
    const matrix m = make(spec);
    EXPECT_EQ(m.rows, 0) << spec;
    EXPECT_EQ(m.nnz(), 0) << spec;
  }
  EXPECT_EQ(make("gen:uniform:n=5,cols=0,degree=0").nnz(), 0);
  EXPECT_EQ(make("gen:rmat:scale=0").nnz(), 1);
  EXPECT_EQ(make("gen:rmat:degree=0").nnz(), 0);
}

TEST(generator_errors, say_what_would_be_right) {
  struct wrong {
    const char* spec;
    status code;
    const char* says;
  };
  for (const auto& [spec, code, says] : {
           wrong{"gen:nonsense", status::invalid_argument, "uniform, corner, stencil"},
           wrong{"gen:", status::invalid_argument, "uniform"},
           wrong{"file.mtx", status::invalid_argument, "gen:"},
           wrong{"gen:uniform:size=3", status::invalid_argument, "n=1000, cols=n, degree=16"},
           wrong{"gen:uniform:n", status::invalid_argument, "key=value"},
           wrong{"gen:uniform:n=", status::invalid_argument, "key=value"},
           wrong{"gen:uniform:=3", status::invalid_argument, "key=value"},
           wrong{"gen:uniform:n=3,,degree=1", status::invalid_argument, "key=value"},
           wrong{"gen:uniform:n=3,n=4", status::invalid_argument, "twice"},
           wrong{"gen:uniform:n=3,rows=4", status::invalid_argument, "twice"},
           wrong{"gen:uniform:n=3x", status::invalid_argument, "integer"},
           wrong{"gen:uniform:n=1e3", status::invalid_argument, "integer"},
           wrong{"gen:uniform:n=-1", status::invalid_argument, "at least 0"},
           wrong{"gen:uniform:n=-99999999999999999999", status::invalid_argument, "at least 0"},
           wrong{"gen:uniform:n=10", status::invalid_argument, "10 columns"},
           wrong{"gen:uniform:values=ones", status::invalid_argument, "values=random (random, integer)"},
           wrong{"gen:uniform:values=spd", status::invalid_argument, "symmetric"},
           wrong{"gen:rmat:values=spd", status::invalid_argument, "symmetric"},
           wrong{"gen:arrow:values=spd", status::invalid_argument, "symmetric"},
           wrong{"gen:stencil:points=8", status::invalid_argument, "27"},
           wrong{"gen:stencil:points=9,nz=2", status::invalid_argument, "two dimensions"},
           wrong{"gen:corner:n=5,size=6", status::invalid_argument, "size=6"},
           wrong{"gen:fem:dof=0", status::invalid_argument, "at least 1"},
           wrong{"gen:arrow:n=3,dense=4", status::invalid_argument, "dense=4"},
           wrong{"gen:block:n=3,blocks=4", status::invalid_argument, "blocks=4"},
           wrong{"gen:rmat:a=1.5", status::invalid_argument, "0 to 1"},
           wrong{"gen:rmat:a=nan", status::invalid_argument, "0 to 1"},
           wrong{"gen:rmat:a=0.9,b=0.9", status::invalid_argument, "more than 1"},
           wrong{"gen:uniform:n=2147483648", status::overflow, "2147483647"},
           wrong{"gen:uniform:n=99999999999999999999", status::overflow, "2147483647"},
           wrong{"gen:stencil:n=2000", status::overflow, "2^31"},
           wrong{"gen:fem:n=2000000000,dof=2000000000", status::overflow, "2^31"},
           wrong{"gen:rmat:scale=31", status::overflow, "30"},
           wrong{"gen:uniform:n=2147483647,degree=2147483647", status::out_of_memory, "GB"},
           wrong{"gen:banded:n=2147483647,width=2147483647", status::out_of_memory, "GB"},
           wrong{"gen:fem:n=1,dof=2000000", status::out_of_memory, "would take 48000.0 GB"},
           wrong{"gen:rmat:scale=30,degree=2000000000", status::out_of_memory, "GB"},
       }) {
    SCOPED_TRACE(spec);
    expect_error(code, says, [spec = spec] { make(spec); });
  }
}

TEST(generator_list, holds_every_generator_with_working_defaults) {
  EXPECT_EQ(generators().size(), 10u);
  for (const generator_info& info : generators()) {
    EXPECT_FALSE(info.summary.empty());
    EXPECT_GT(make("gen:" + std::string(info.name)).nnz(), 0) << info.name;
  }
  EXPECT_TRUE(is_generator("gen:x"));
  EXPECT_FALSE(is_generator("generated.mtx"));
}

}  // namespace
}  // namespace tulle::test
