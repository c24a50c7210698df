// `tulle bench` as it is called: records, exit codes, comparison, sweeps and the error study.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace {

using json = nlohmann::json;

struct outcome {
  int code = -1;
  std::string output;  // stdout
};

outcome run(const std::string& arguments) {
  const std::string command = std::string(TULLE_BINARY) + " bench --backend cpu " + arguments + " 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  outcome result;
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    result.output.append(chunk.data(), n);
  result.code = WEXITSTATUS(pclose(pipe));
  return result;
}

constexpr const char* quick = "gen:stencil:n=12 --warm --warmup 1 --repeat 3 ";

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / ("tulle_bench_" + std::to_string(getpid()) + "_" + name);
}

TEST(BenchCommand, RecordsEveryKernelThatTakesTheMatrix) {
  const outcome o = run("gen:stencil:n=12 gen:rmat:scale=8 --precision both --repeat 2 --warmup 1 --json");
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  EXPECT_EQ(run["context"]["schema_version"], 1);
  EXPECT_GT(run["context"]["bandwidth"]["read"], 0.0);
  EXPECT_FALSE(run["context"]["commit"].get<std::string>().empty());
  std::set<std::string> names;
  std::map<std::string, int> chosen;
  for (const json& b : run["benchmarks"]) {
    EXPECT_TRUE(names.insert(b["name"]).second) << b["name"];
    EXPECT_GT(b["real_time"], 0.0);
    EXPECT_GE(b["real_time"], b["min"]);
    EXPECT_LE(b["error_ratio"], 1.0) << b["name"];
    EXPECT_EQ(b["iterations"], 2);
    EXPECT_TRUE((std::set<std::string>{"bandwidth", "latency", "gather", "imbalance"}.contains(b["bottleneck"])));
    EXPECT_FALSE(b["bottleneck_why"].get<std::string>().empty());
    const std::string group =
        b["matrix"].get<std::string>() + b["precision"].get<std::string>() + b["cache"].get<std::string>();
    chosen[group] += b["chosen"].get<bool>() ? 1 : 0;
  }
  for (const char* kernel : {"csr.serial", "csr.rows", "csr.balanced", "coo", "sell", "bsr", "packed"}) {
    EXPECT_TRUE(names.contains(std::string("spmv/") + kernel + "/gen:stencil:n=12/f32/cold")) << kernel;
    EXPECT_TRUE(names.contains(std::string("spmv/") + kernel + "/gen:stencil:n=12/f64/warm")) << kernel;
  }
  EXPECT_EQ(chosen.size(), 8u);
  for (const auto& [group, count] : chosen) EXPECT_EQ(count, 1) << group;
}

TEST(BenchCommand, ComparesWithAnEarlierRun) {
  const auto file = scratch("old.json");
  ASSERT_EQ(run(quick + std::string("--kernels csr.serial -o ") + file.string()).code, 0);
  json old = json::parse(std::ifstream(file));
  const auto compare = [&](double factor) {
    json altered = old;
    for (json& b : altered["benchmarks"]) {
      b["real_time"] = b["real_time"].get<double>() * factor;
      b["stddev"] = 0;
    }
    std::ofstream(file) << altered;
    // The tolerance and a thousandfold change keep the noise of the machine out of the answer.
    return run(quick + std::string("--kernels csr.serial --tolerance 100 --compare ") + file.string());
  };
  const outcome slower = compare(1e-6);
  EXPECT_EQ(slower.code, 1);
  EXPECT_NE(slower.output.find("REGRESSION"), std::string::npos);
  EXPECT_EQ(compare(1e6).code, 0);
  std::filesystem::remove(file);
}

TEST(BenchCommand, WritesTheSameRecordsToAFileAndToStdout) {
  const auto file = scratch("run.json");
  const outcome both = run(quick + std::string("--kernels csr.serial --json -o ") + file.string());
  ASSERT_EQ(both.code, 0);
  EXPECT_EQ(json::parse(both.output), json::parse(std::ifstream(file)));
  const outcome tables = run(quick + std::string("--kernels csr.serial -o ") + file.string());
  EXPECT_NE(tables.output.find("csr.serial"), std::string::npos);
  EXPECT_FALSE(json::accept(tables.output)) << "tables, where the records go to a file";
  const outcome dash = run(quick + std::string("--kernels csr.serial -o -"));
  EXPECT_EQ(json::parse(dash.output)["benchmarks"].size(), 1u);
  std::filesystem::remove(file);
}

TEST(BenchCommand, RefusesWhatItCannotRead) {
  const auto file = scratch("bad.json");
  std::ofstream(file) << "not json";
  EXPECT_EQ(run(quick + std::string("--compare ") + file.string()).code, 3);
  std::filesystem::remove(file);
  EXPECT_EQ(run("/no/such/file.mtx --warm").code, 3);
  EXPECT_EQ(run(quick + std::string("-o /no/such/folder/out.json")).code, 3);
}

TEST(BenchCommand, GoesOnAfterAMatrixThatCannotBeRead) {
  const outcome o = run("/no/such/file.mtx " + std::string(quick) + "--kernels csr.serial --json");
  EXPECT_EQ(o.code, 3);
  const json run = json::parse(o.output);
  EXPECT_EQ(run["benchmarks"].size(), 1u);
  EXPECT_EQ(run["skipped"][0]["matrix"], "/no/such/file.mtx");
}

TEST(BenchCommand, RefusesWrongUsage) {
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run(quick + std::string("--kernels csr.nonsense")).code, 2);
  EXPECT_EQ(run(quick + std::string("--repeat 0")).code, 2);
  EXPECT_EQ(run(quick + std::string("--sweep nonsense")).code, 2);
  EXPECT_EQ(run("--suite nonsense").code, 2);
  EXPECT_EQ(run(quick + std::string("--latency --cold")).code, 2);
  EXPECT_EQ(run(quick + std::string("--latency --sweep sigma")).code, 2);
  EXPECT_EQ(run(quick + std::string("--kernels default")).code, 2) << "a word of earlier versions";
}

TEST(BenchCommand, ChosenKernelsAreTheChoiceAndTheOneWithoutSetUp) {
  const outcome o = run(quick + std::string("--kernels chosen --json"));
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  int chosen = 0;
  bool base = false;
  for (const json& b : run["benchmarks"]) {
    chosen += b["chosen"].get<bool>() ? 1 : 0;
    base = base || b["kernel"] == "csr.balanced";
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_TRUE(base);
  EXPECT_LE(run["benchmarks"].size(), 2u);
}

TEST(BenchCommand, EffortNoneChoosesTheKernelWithoutSetUp) {
  const outcome o = run(quick + std::string("--kernel chosen --effort none --json"));
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  ASSERT_EQ(run["benchmarks"].size(), 1u);
  EXPECT_EQ(run["benchmarks"][0]["kernel"], "csr.balanced");
  EXPECT_EQ(run["benchmarks"][0]["effort"], "none");
}

TEST(BenchCommand, LatencyOnTheCpuIsTheHostsAlone) {
  const outcome o = run("gen:stencil:n=12 --latency --repeat 3 --json");
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  ASSERT_FALSE(run["benchmarks"].empty());
  ASSERT_LE(run["benchmarks"].size(), 2u) << "the choice and the kernel without set-up";
  for (const json& b : run["benchmarks"]) {
    EXPECT_EQ(b["cache"], "warm");
    EXPECT_EQ(b["iterations"], 3);
    EXPECT_LE(b["error_ratio"], 1.0) << b["name"];
    EXPECT_GT(b["host_us"], 0.0);
    for (const char* clock : {"submit_us", "queued_us", "graph_us", "graph_host_us"}) EXPECT_TRUE(b[clock].is_null());
    EXPECT_NE(b["latency_missing"].get<std::string>().find("CPU"), std::string::npos);
  }
}

TEST(BenchCommand, MeasuresSeveralRightHandSides) {
  for (const char* order : {"row", "column"}) {
    const outcome o = run(std::string("spmm ") + quick + "--rhs 3 --order " + order + " --json");
    ASSERT_EQ(o.code, 0);
    const json run = json::parse(o.output);
    ASSERT_GE(run["benchmarks"].size(), 2u);
    for (const json& b : run["benchmarks"]) {
      EXPECT_TRUE(b["name"].get<std::string>().starts_with("spmm/")) << b["name"];
      EXPECT_EQ(b["rhs"], 3);
      EXPECT_LE(b["error_ratio"], 1.0) << b["name"];
      const double nnz = b["nnz"], vector = 8 * b["rows"].get<double>();
      EXPECT_EQ(b["compulsory_bytes"], nnz * 12 + (b["rows"].get<double>() + 1) * 4 + 3 * 2 * vector);
    }
    EXPECT_FALSE(run["skipped"].empty()) << "kernels that take one at a time";
  }
}

TEST(BenchCommand, MeasuresTheTranspose) {
  const outcome o = run("gen:rmat:scale=8 --warm --warmup 1 --repeat 3 --transpose --json");
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  bool in_place = false;
  for (const json& b : run["benchmarks"]) {
    EXPECT_LE(b["error_ratio"], 1.0) << b["name"];
    EXPECT_TRUE(b["name"].get<std::string>().ends_with("/transposed")) << b["name"];
    in_place = in_place || b["kernel"] == "csr.transposed";
  }
  EXPECT_TRUE(in_place);
}

TEST(BenchCommand, SweepsAParameter) {
  const outcome o = run(quick + std::string("--sweep sigma --kernels sell --json"));
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  ASSERT_FALSE(run["benchmarks"].empty());
  for (const json& b : run["benchmarks"]) {
    const std::string variant = b["variant"];
    EXPECT_TRUE(variant.starts_with("sigma=")) << variant;
    EXPECT_NE(b["parameters"].get<std::string>().find(variant), std::string::npos);
    EXPECT_LE(b["error_ratio"], 1.0);
  }
}

TEST(BenchCommand, ErrorsGrowFromIntegersToDoublesToSingles) {
  const outcome o = run("--errors --kernels csr.serial --json");
  ASSERT_EQ(o.code, 0);
  std::map<std::string, std::map<int, double>> errors;
  const json run = json::parse(o.output);
  for (const json& e : run["errors"]) {
    EXPECT_LE(e["error_ratio"], 1.0) << e["name"];
    EXPECT_LE(e["relative_error"].get<double>(), e["bound"].get<double>()) << e["name"];
    errors[e["precision"]][e["length"]] = e["relative_error"];
  }
  ASSERT_EQ(errors["f32"].size(), 11u);
  for (const auto& [length, error] : errors["i32"]) EXPECT_EQ(error, 0) << length;
  for (const int length : {64, 1024, 65536, 1 << 20}) {
    EXPECT_GT(errors["f64"][length], 0) << length;
    EXPECT_LT(errors["f64"][length], errors["f32"][length]) << length;
  }
  EXPECT_GT(errors["f32"][1 << 20], errors["f32"][4]);
  EXPECT_GT(errors["f64"][1 << 20], errors["f64"][4]);
}

TEST(BenchCommand, MeasuresProducts) {
  const outcome o = run("spgemm gen:stencil:n=9 gen:uniform:n=60,cols=40,degree=3 --precision both --repeat 2 --warmup 1 --json");
  ASSERT_EQ(o.code, 0) << o.output;
  const json run = json::parse(o.output);
  std::set<std::string> names;
  std::map<std::string, std::int64_t> entries;
  for (const json& b : run["benchmarks"]) {
    EXPECT_TRUE(names.insert(b["name"]).second) << b["name"];
    EXPECT_GT(b["real_time"], 0.0);
    EXPECT_GT(b["gflops"], 0.0);
    EXPECT_LE(b["error_ratio"], 1.0) << b["name"];
    EXPECT_EQ(b["wrong"], "") << b["name"];
    EXPECT_TRUE(b["sorted"]) << b["name"];
    EXPECT_EQ(b["checked_rows"], b["rows"]);
    EXPECT_GT(b["peak_bytes"], 0);
    EXPECT_EQ(b["iterations"], 2);
    EXPECT_GE(b["products"], b["nnz_c"]);
    const std::string matrix = b["matrix"];
    EXPECT_EQ(entries.try_emplace(matrix, b["nnz_c"]).first->second, b["nnz_c"]) << b["name"];
    const bool square = matrix == "gen:stencil:n=9";
    EXPECT_EQ(b["transposed_b"], !square);
    EXPECT_EQ(b["cols"], b["rows"]);
    const double entry = b["precision"] == "f64" ? 12 : 8;
    EXPECT_EQ(b["compulsory_bytes"],
              entry * (b["nnz_c"].get<double>() + (square ? 1 : 2) * b["nnz"].get<double>()) + 12 * b["rows"].get<double>());
  }
  for (const char* kernel : {"gustavson", "kernel0"}) {
    for (const char* phase : {"f32/whole", "f64/numeric"}) {
      EXPECT_TRUE(names.contains(std::string("spgemm/") + kernel + "/gen:stencil:n=9/" + phase)) << kernel << phase;
    }
  }
}

TEST(BenchCommand, MeasuresTheOriginsWhereTheyAreAskedFor) {
  const outcome o = run("spgemm gen:stencil:n=4 --kernels study --repeat 1 --json");
  ASSERT_EQ(o.code, 0);
  const json run = json::parse(o.output);
  ASSERT_FALSE(run["benchmarks"].empty());
  for (const json& b : run["benchmarks"]) {
    EXPECT_EQ(b["kernel"], "kernel0");
    EXPECT_FALSE(b["chosen"]);
  }
}

TEST(BenchCommand, RefusesWhatDoesNotGoWithProducts) {
  EXPECT_EQ(run("spgemm").code, 2);
  EXPECT_EQ(run("spgemm gen:stencil:n=4 --sweep sigma").code, 2);
  EXPECT_EQ(run("spgemm gen:stencil:n=4 --kernels csr.balanced").code, 2);
  EXPECT_EQ(run("spgemm /no/such/file.mtx").code, 3);
}

}  // namespace
