// Runs a fuzz target over a corpus and over seeded mutations of it, with the words of DIRECTORY.dict where there is
// one:
//   replay DIRECTORY ITERATIONS
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
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

/// The words of a dictionary as libFuzzer reads it: "word" on a line, with \\ \" and \xAB inside.
std::vector<std::string> read_words(const std::filesystem::path& dictionary) {
  std::vector<std::string> words;
  std::ifstream in(dictionary);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (line.starts_with('#') || begin == end) continue;
    std::string word;
    for (std::size_t i = begin + 1; i < end; ++i) {
      const bool is_escape = line[i] == '\\' && ++i < end;
      if (is_escape && line[i] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else {
        word += line[i];
      }
    }
    words.push_back(word);
  }
  if (words.empty()) words.emplace_back();
  return words;
}

/// One small change: a byte, a cut, a repeat, a piece of another input, or a word that has meaning.
void mutate(std::string& input, const std::vector<std::string>& corpus, const std::vector<std::string>& words,
            std::mt19937_64& random) {
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
      input.insert(at, words[below(words.size())]);
      break;
    case 4:
      input.replace(at, length, words[below(words.size())]);
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
  const std::vector<std::string> words = read_words(std::string(argv[1]) + ".dict");
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 1;
  }
  for (const std::string& input : corpus) run(input);
  std::mt19937_64 random(1);
  const long iterations = std::strtol(argv[2], nullptr, 10);
  for (long i = 0; i < iterations; ++i) {
    std::string input = corpus[random() % corpus.size()];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) mutate(input, corpus, words, random);
    run(input);
  }
  std::printf("%zu inputs and %ld mutations\n", corpus.size(), iterations);
  return 0;
}
