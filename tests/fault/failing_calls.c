/* For LD_PRELOAD: one call of one function of the system fails, once. TULLE_FAIL_CALL names the function,
 * TULLE_FAIL_NUMBER which of its calls (from 1), TULLE_FAIL_ERRNO the error, and TULLE_FAIL_MARK a file that is made
 * when it fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether this call is the one that fails; errno is set then. */
static int fails(const char* name) {
  static atomic_int calls;
  const char* const chosen = getenv("TULLE_FAIL_CALL");
  if (chosen == NULL || strcmp(chosen, name) != 0) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != atoi(getenv("TULLE_FAIL_NUMBER"))) return 0;
  creat(getenv("TULLE_FAIL_MARK"), 0600);
  errno = atoi(getenv("TULLE_FAIL_ERRNO"));
  return 1;
}

static mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

int open(const char* file, int flags, ...) {
  int (*const call)(const char*, int, ...) = dlsym(RTLD_NEXT, "open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails("open") ? -1 : call(file, flags, mode);
}

int open64(const char* file, int flags, ...) {
  int (*const call)(const char*, int, ...) = dlsym(RTLD_NEXT, "open64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails("open") ? -1 : call(file, flags, mode);
}

ssize_t read(int fd, void* to, size_t size) {
  ssize_t (*const call)(int, void*, size_t) = dlsym(RTLD_NEXT, "read");
  return fails("read") ? -1 : call(fd, to, size);
}

ssize_t write(int fd, const void* from, size_t size) {
  ssize_t (*const call)(int, const void*, size_t) = dlsym(RTLD_NEXT, "write");
  return fails("write") ? -1 : call(fd, from, size);
}

size_t fwrite(const void* from, size_t size, size_t count, FILE* stream) {
  size_t (*const call)(const void*, size_t, size_t, FILE*) = dlsym(RTLD_NEXT, "fwrite");
  return fails("fwrite") ? 0 : call(from, size, count, stream);
}

int fflush(FILE* stream) {
  int (*const call)(FILE*) = dlsym(RTLD_NEXT, "fflush");
  return fails("fflush") ? EOF : call(stream);
}

int close(int fd) {
  int (*const call)(int) = dlsym(RTLD_NEXT, "close");
  const int result = call(fd);
  return fails("close") ? -1 : result;
}

int dup(int fd) {
  int (*const call)(int) = dlsym(RTLD_NEXT, "dup");
  return fails("dup") ? -1 : call(fd);
}

int fsync(int fd) {
  int (*const call)(int) = dlsym(RTLD_NEXT, "fsync");
  return fails("fsync") ? -1 : call(fd);
}

int fchmod(int fd, mode_t mode) {
  int (*const call)(int, mode_t) = dlsym(RTLD_NEXT, "fchmod");
  return fails("fchmod") ? -1 : call(fd, mode);
}

int rename(const char* from, const char* to) {
  int (*const call)(const char*, const char*) = dlsym(RTLD_NEXT, "rename");
  return fails("rename") ? -1 : call(from, to);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  void* (*const call)(void*, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
  return fails("mmap") ? MAP_FAILED : call(at, size, protection, flags, fd, offset);
}

void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) {
  void* (*const call)(void*, size_t, int, int, int, off64_t) = dlsym(RTLD_NEXT, "mmap64");
  return fails("mmap") ? MAP_FAILED : call(at, size, protection, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  int (*const call)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  return fails("pthread_create") ? errno : call(thread, how, run, with);
}
