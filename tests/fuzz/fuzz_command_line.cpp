// The command line: the words of an input, which stand between spaces or line ends, in a directory with two matrices.
// It ends with an exit code of its own, and says why where that is a failure.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "fuzz.hpp"
#include "support/files.hpp"

int tulle_main(int argc, char** argv);  // that of cli/main.cpp, by another name

namespace {

using namespace tulle;
using words = std::vector<std::string>;

words split(std::string text) {
  std::ranges::replace(text, '\0', ' ');
  std::istringstream in(text);
  words out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// Words are tried that name no other directory, and no matrix that takes long.
bool is_harmless(const std::string& word) {
  static const context ctx = fuzz::little_context(std::size_t{1} << 16);
  if (word.find('/') != word.npos || word.find("..") != word.npos) return false;
  try {
    generate<double>(ctx, is_generator(word) ? word : "gen:" + word);
    return true;
  } catch (const error& e) {
    return e.code() != status::out_of_memory;
  }
}

/// What is measured takes seconds: those commands are parsed, and then refused, unless `--` makes options words.
bool takes_long(const words& line) {
  return std::ranges::any_of(line, [](const std::string& word) { return word == "bench" || word == "doctor"; });
}

class directory_with_matrices {
 public:
  directory_with_matrices() {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    close(nothing);
    fuzz::require(chdir(directory_.path().c_str()) == 0, "no temporary directory");
  }
  void fill() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) remove_all(entry.path());
    test::write_file("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n2 3 -1\n3 1 5\n3 3 1e-3\n");
    test::write_file("b.mtx", "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
  }

 private:
  test::temporary_directory directory_;
  test::environment_variable cache_{"TULLE_CACHE_DIR", directory_.path()};
};

/// The exit code, and what was said on stderr, where sanitizers still find the terminal.
std::pair<int, std::string> run(words& line) {
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const said = open_memstream(&text, &size);
  std::FILE* const kept = std::exchange(stderr, said);
  const int code = tulle_main(static_cast<int>(line.size()), arguments.data());
  stderr = kept;
  std::fclose(said);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return {code, std::string(text, size)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const directory_with_matrices directory;
  words line = split(std::string(reinterpret_cast<const char*>(data), size));
  if (!std::ranges::all_of(line, is_harmless)) return 0;
  if (takes_long(line) && std::ranges::find(line, "--") != line.end()) return 0;
  line.insert(line.begin(), "tulle");
  if (takes_long(line)) line.insert(line.end(), 2, "--no-such-option");  // an option may take the first for its value
  directory.fill();
  const auto [code, said] = run(line);
  fuzz::require(code == 0 || (code >= 2 && code <= 5), "an exit code of nobody's");
  fuzz::require(code == 0 || code == 4 || said.find("tulle: ") != said.npos, "a failure without a reason");
  return 0;
}
