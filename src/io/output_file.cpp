#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace tulle {
namespace {

using std::filesystem::path;

/// What remove_unfinished_files removes. More at once than there is room for here are not removed by a signal.
std::array<std::atomic<const path*>, 64> unfinished_files;

void announce(const path* unfinished) {
  for (auto& slot : unfinished_files) {
    const path* none = nullptr;
    if (slot.compare_exchange_strong(none, unfinished)) return;
  }
}

/// False where remove_unfinished_files may still read the name.
bool retract(const path* unfinished) {
  for (auto& slot : unfinished_files) {
    const path* expected = unfinished;
    if (slot.compare_exchange_strong(expected, nullptr)) return true;
  }
  return false;
}

/// The file that a chain of links leads to, so that it is replaced and not the link.
path target_of(const path& file) {
  std::error_code none;
  const path target = std::filesystem::canonical(file, none);
  return none ? file : target;
}

/// A new name in the same directory: neither another process nor a leftover can have it. Process numbers would not do:
/// every container starts anew with them.
path name_beside(const path& file) {
  constexpr std::size_t longest = 200;  // names end at 255 bytes
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != ssize_t{sizeof(number)}) {
    number = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }
  return file.parent_path() / fmt::format("{}.{:016x}.tmp", file.filename().string().substr(0, longest), number);
}

/// /dev/stdout where that goes to a file: what the caller reads must not be replaced.
bool is_standard_output(const struct stat& file) {
  struct stat out {};
  return fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(file.st_mode) && out.st_dev == file.st_dev &&
         out.st_ino == file.st_ino;
}

}  // namespace

namespace detail {

output_file::output_file(const path& file) : name_(file.string()), file_(target_of(file)) {
  struct stat old {};
  const bool exists = file != "-" && stat(file_.c_str(), &old) == 0;
  if (file == "-") name_ = "standard output";
  if (file == "-" || (exists && is_standard_output(old))) {
    fd_ = dup(STDOUT_FILENO);
  } else if ((exists && !S_ISREG(old.st_mode)) || (!exists && errno != ENOENT)) {
    fd_ = open(file_.c_str(), O_WRONLY | O_CLOEXEC);
  } else if (!exists || access(file_.c_str(), W_OK) == 0) {
    open_beside();
  }
  if (fd_ < 0) fail_to_write(name_, std::strerror(errno));
  try {
    if (exists && unfinished_) static_cast<void>(fchmod(fd_, old.st_mode & 0777));
    encoder_ = make_encoder(file, fd_);
  } catch (...) {
    close();
    throw;
  }
}

void output_file::open_beside() {
  constexpr int tries = 100;
  for (int i = 0; i < tries && fd_ < 0; ++i) {
    auto name = std::make_unique<path>(name_beside(file_));
    announce(name.get());  // before it is there: a signal may come at any time
    fd_ = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const int why = errno;
    unfinished_ = std::move(name);
    if (fd_ < 0) forget();
    errno = why;
    if (fd_ < 0 && why != EEXIST) return;
  }
}

void output_file::commit() {
  encoder_->finish();
  if (::close(std::exchange(fd_, -1)) != 0) fail_to_write(name_, std::strerror(errno));
  if (!unfinished_) return;
  if (std::rename(unfinished_->c_str(), file_.c_str()) != 0) fail_to_write(name_, std::strerror(errno));
  forget();
}

void output_file::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!unfinished_) return;
  unlink(unfinished_->c_str());
  forget();
}

/// The name is freed, but not while a signal handler reads it.
void output_file::forget() {
  if (!retract(unfinished_.get())) static_cast<void>(unfinished_.release());
  unfinished_.reset();
}

output_file::~output_file() { close(); }

}  // namespace detail

void write_file(const path& file, std::string_view bytes) {
  detail::output_file out(file);
  out.write(bytes);
  out.commit();
}

void check_writable(const path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_fifo(file, unknown)) {
    const detail::output_file unused(file);
  } else if (access(file.c_str(), W_OK) != 0) {  // to open it and to close it would end what waits for its content
    detail::fail_to_write(file.string(), std::strerror(errno));
  }
}

void remove_unfinished_files() noexcept {
  for (auto& slot : unfinished_files) {
    if (const path* unfinished = slot.exchange(nullptr)) unlink(unfinished->c_str());
  }
}

}  // namespace tulle
