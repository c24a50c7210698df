// The same bits for any number of threads of a CPU.
#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

TEST(cg_threads, the_number_of_threads_does_not_show) {
  for (const char* spec : {"gen:stencil:points=7,n=30,values=spd", "gen:fem:dof=3,n=12,values=spd",
                           "gen:arrow:n=30000,dense=1,columns=1,values=spd"}) {
    const auto a = generate<double>(context::cpu(1), spec);
    const std::vector<double> b = random_rhs<double>(a.rows);
    for (const kernel_info& k : kernels(backend_kind::cpu)) {
      if (k.operation != kernel_operation::cg) continue;
      for (const preconditioner_kind m : preconditioners()) {
        SCOPED_TRACE(fmt::format("{}: {} with {}", spec, k.name, name(m)));
        cg_options options;
        options.kernel = std::string(k.name);
        options.preconditioner = m;
        std::vector<std::vector<double>> found;
        std::vector<int> iterations;
        bool taken = true;
        for (const int threads : {1, 2, 3, 7}) {
          std::vector<double> x(b.size());
          const status code = status_of(
              [&] { iterations.push_back(cg_solver(context::cpu(threads), a, options).solve(b, x).iterations); });
          taken = code != status::unsupported;
          if (!taken) break;
          EXPECT_EQ(name(code), "SUCCESS");
          found.push_back(x);
        }
        EXPECT_TRUE(taken || k.name != "cg.operations") << "which takes everything";
        for (const auto& x : found) EXPECT_EQ(x, found.front());
        for (const int i : iterations) EXPECT_EQ(i, iterations.front());
      }
    }
  }
}

TEST(cg_threads, nor_with_several_right_hand_sides) {
  constexpr index_t count = 3;
  const auto a = generate<double>(context::cpu(1), "gen:fem:dof=3,n=12,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows * count);
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3, 7}) {
    std::vector<double>& x = found.emplace_back(b.size());
    cg_options options;
    options.rhs = count;
    const_multivector_ref from(scalar_type::f64, a.rows, count, a.rows, vector_order::column_major, b.data(),
                               memory_space::host);
    multivector_ref to(scalar_type::f64, a.rows, count, a.rows, vector_order::column_major, x.data(),
                       memory_space::host);
    for (const cg_result& r : cg_solver(context::cpu(threads), a, options).solve_many(from, to))
      EXPECT_TRUE(r.converged());
    EXPECT_EQ(x, found.front());
  }
}

TEST(cg_threads, nor_with_f32_values_under_f64_vectors) {
  for (const char* spec :
       {"gen:stencil:points=7,n=30,values=spd", "gen:arrow:n=30000,dense=1,columns=1,values=spd"}) {
    const auto a = generate<float>(context::cpu(1), spec);
    const std::vector<double> b = random_rhs<double>(a.rows);
    std::vector<std::vector<double>> found;
    for (const int threads : {1, 2, 3, 7}) {
      std::vector<double>& x = found.emplace_back(b.size());
      cg_options options;
      options.spmv.vector_type = scalar_type::f64;
      EXPECT_TRUE(cg_solver(context::cpu(threads), a, options).solve(b, x).converged()) << spec;
      EXPECT_EQ(x, found.front()) << spec;
    }
  }
}

TEST(cg_choice, a_cpu_fuses_what_it_can_and_says_so) {
  const auto a = generate<double>(context::cpu(1), "gen:stencil:points=5,n=80,values=spd");
  const auto chosen = [&](auto set) {
    cg_options options;
    set(options);
    return cg_solver(context::cpu(2), a, options).explain();
  };
  for (const preconditioner_kind m : {preconditioner_kind::none, preconditioner_kind::jacobi}) {
    const std::string sentence = chosen([&](cg_options& o) { o.preconditioner = m; });
    EXPECT_NE(sentence.find("cg.fused: three passes"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("packed"), std::string::npos) << sentence;
  }
  const auto expect_loop = [](const std::string& sentence) {
    EXPECT_EQ(sentence.find("cg.operations"), 0u) << sentence;
  };
  expect_loop(chosen([](cg_options& o) { o.preconditioner = preconditioner_kind::block_jacobi; }));
  expect_loop(chosen([](cg_options& o) { o.rhs = 2; }));

  EXPECT_EQ(chosen([](cg_options&) {}).find("by name"), std::string::npos) << "of what the solver chose itself";
  EXPECT_NE(chosen([](cg_options&) {}).find("packed: cuts no row between threads"), std::string::npos);
  const std::string named = chosen([](cg_options& o) { o.spmv.kernel = "csr.rows"; });
  EXPECT_NE(named.find("csr.rows: asked for by name"), std::string::npos) << named;
}

}  // namespace
}  // namespace tulle::test
