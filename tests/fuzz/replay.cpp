// Runs a fuzz target over a corpus and over deterministic mutations of it: replay DIRECTORY ITERATIONS.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::vector<std::string> read_corpus(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(directory), {});
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

/// One small change: a byte, a cut, a repeat, a piece of another input, or a token that has meaning.
void mutate(std::string& input, const std::vector<std::string>& corpus, std::mt19937_64& random) {
  static constexpr std::array<std::string_view, 22> tokens{
      "\n", "\r", "\r\n", " ", "%", "%%MatrixMarket", "-", "+", "0", "1", "2147483647", "2147483648", "9223372036854775808",
      "1e309", "-1D-400", "nan", "inf", "symmetric", "skew-symmetric", "array", "pattern", "integer"};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  const std::size_t at = below(input.size() + 1);
  const std::size_t length = below(std::min<std::size_t>(input.size() - at, 32) + 1);
  switch (random() % 6) {
    case 0:
      if (at < input.size()) input[at] = static_cast<char>(random());
      break;
    case 1:
      input.erase(at, length);
      break;
    case 2:
      input.insert(at, input.substr(at, length));
      break;
    case 3:
      input.insert(at, tokens[below(tokens.size())]);
      break;
    case 4:
      input.replace(at, length, tokens[below(tokens.size())]);
      break;
    default: {
      const std::string& other = corpus[below(corpus.size())];
      input.replace(at, length, other.substr(below(other.size()), 64));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DIRECTORY ITERATIONS\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 1;
  }
  for (const std::string& input : corpus) run(input);
  std::mt19937_64 random(1);
  const long iterations = std::strtol(argv[2], nullptr, 10);
  for (long i = 0; i < iterations; ++i) {
    std::string input = corpus[random() % corpus.size()];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) mutate(input, corpus, random);
    run(input);
  }
  std::printf("%zu inputs and %ld mutations\n", corpus.size(), iterations);
  return 0;
}
