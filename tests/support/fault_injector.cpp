// A library for LD_PRELOAD that makes a C library call fail, or a signal arrive at that call, to
// test how a program reacts. It is not part of the program. Linux with glibc only.
//
//   WELLSPRING_FAULT        "CALL:N:FAULT": the N-th call (from 1) of a kind fails;
//                           "CALL:N+:FAULT": that call and all later ones fail;
//                           "count:0:0": no call fails, all are counted
//     CALL                  open, read, write, sync, truncate, close, rename, link, unlink, mkdir,
//                           map, thread, allocate: each stands for all functions of its kind below
//     FAULT                 an error number ("28"), or S and a signal number ("S9"); the signal
//                           arrives before the call
//   WELLSPRING_FAULT_UNDER  counts only calls on this path or on paths that begin with it
//   WELLSPRING_FAULT_LOG    a log file: "fault write 7 /path", and at the end "calls write 12" if
//                           all calls are counted
//
// Counting starts at main(). Calls inside the C library are not seen, such as the writes of printf,
// or malloc's requests to the kernel.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

// The C library's own functions, which need no symbol look-up.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* old, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);

namespace {

constexpr std::size_t kPathSize = 4096;

enum Call {
  open_,
  read_,
  write_,
  sync_,
  truncate_,
  close_,
  rename_,
  link_,
  unlink_,
  mkdir_,
  map_,
  thread_,
  allocate_,
  kCalls
};
constexpr const char* kNames[kCalls] = {"open",  "read",   "write",   "sync",   "truncate",
                                        "close", "rename", "link",    "unlink", "mkdir",
                                        "map",   "thread", "allocate"};

/// The settings, read once and without allocations, because allocations are counted, too.
struct Plan {
  bool holds = false;
  int call = kCalls;  ///< kCalls means that no call fails
  long number = 0;
  bool lasting = false;
  int error = 0, signal = 0;
  const char* under = nullptr;
  const char* log = nullptr;
};

Plan plan;
std::atomic<long> calls[kCalls];
thread_local bool inside = false;  ///< true: calls are not counted

void tell(const char* what, int call, long number, const char* path) {
  if (plan.log == nullptr) return;
  char line[kPathSize + 64];
  const int size =
      std::snprintf(line, sizeof line, "%s %s %ld %s\n", what, kNames[call], number, path);
  const long file =
      ::syscall(SYS_openat, AT_FDCWD, plan.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  ::syscall(SYS_write, file, line, size);
  ::syscall(SYS_close, file);
}

/// Code of libraries that crash when out of memory and that we cannot fix: oneDNN 2.6 and OpenSSL
/// 3.0 ignore failed allocations.
struct Code {
  const char* library;
  std::uintptr_t begin = 0, end = 0;
};
Code left_alone[] = {{"libdnnl"}, {"libcrypto"}};

int find_code(dl_phdr_info* library, std::size_t, void*) {
  for (Code& code : left_alone) {
    if (std::strstr(library->dlpi_name, code.library) == nullptr) continue;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      const auto& part = library->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
      code.begin = library->dlpi_addr + part.p_vaddr;
      code.end = code.begin + part.p_memsz;
    }
  }
  return 0;
}

bool is_left_alone(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  for (const Code& code : left_alone)
    if (at >= code.begin && at < code.end) return true;
  return false;
}

/// Called at the start of main: before that, the program cannot report failures.
void begin() {
  const char* text = std::getenv("WELLSPRING_FAULT");
  if (text == nullptr) return;
  char fault[16] = "", number[16] = "";
  char call[16] = "";
  if (std::sscanf(text, "%15[a-z]:%15[0-9+]:%15s", call, number, fault) != 3) std::abort();
  plan.number = std::strtol(number, nullptr, 10);
  plan.lasting = std::strchr(number, '+') != nullptr;
  (fault[0] == 'S' ? plan.signal : plan.error) = std::atoi(fault + (fault[0] == 'S' ? 1 : 0));
  plan.under = std::getenv("WELLSPRING_FAULT_UNDER");
  plan.log = std::getenv("WELLSPRING_FAULT_LOG");
  for (int i = 0; i < kCalls; ++i) {
    if (std::strcmp(call, kNames[i]) == 0) plan.call = i;
  }
  if (plan.call == kCalls && std::strcmp(call, "count") != 0) std::abort();
  ::dl_iterate_phdr(find_code, nullptr);
  plan.holds = true;
}

__attribute__((destructor)) void end() {
  if (!plan.holds || plan.call != kCalls) return;
  for (int i = 0; i < kCalls; ++i) tell("calls", i, calls[i].load(), "");
}

/// The path of an open file, or of a name relative to `folder`.
void path_of(int folder, const char* name, char (&path)[kPathSize]) {
  path[0] = '\0';
  if (folder == -1 && name == nullptr) return;  // memory or a thread
  std::size_t length = 0;
  if (name == nullptr || name[0] != '/') {
    char link[64];
    std::snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
                  folder);
    const long size = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, kPathSize - 1);
    length = size < 0 ? 0 : static_cast<std::size_t>(size);
    path[length] = '\0';
    if (name != nullptr && length + 1 < kPathSize) path[length++] = '/';
  }
  if (name != nullptr) std::snprintf(path + length, kPathSize - length, "%s", name);
}

/// Counts a call of this kind; returns true, with errno set, if it must fail.
bool fails(Call call, int folder, const char* name) {
  if (inside || !plan.holds || (plan.call != kCalls && plan.call != call)) return false;
  inside = true;
  const int before = errno;
  char path[kPathSize] = "";
  if (plan.under != nullptr && (folder != -1 || name != nullptr)) path_of(folder, name, path);
  bool failing = false;
  if (plan.under == nullptr || std::strncmp(path, plan.under, std::strlen(plan.under)) == 0) {
    const long number = ++calls[call];
    failing =
        plan.call == call && (number == plan.number || (plan.lasting && number > plan.number));
    if (failing && number == plan.number) {
      path_of(folder, name, path);
      tell("fault", call, number, path);
    }
  }
  errno = before;
  if (failing && plan.signal != 0) {
    ::kill(::getpid(),
           plan.signal);  // returns after the handler, unless another thread runs the handler
    failing = false;
  }
  if (failing) errno = plan.error;
  inside = false;
  return failing;
}

bool fails_file(Call call, int file) {
  return file >= 0 && fails(call, file, nullptr);
}

using Main = int(int, char**, char**);
Main* program = nullptr;

int begin_and_run(int count, char** arguments, char** environment) {
  begin();
  return program(count, arguments, environment);
}

template <class Function>
Function* next(const char* name) {
  inside = true;
  auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  inside = false;
  return found;
}

int open_file(int folder, const char* name, int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const int mode = creates ? va_arg(arguments, int) : 0;
  if (fails(open_, folder, name)) return -1;
  return static_cast<int>(::syscall(SYS_openat, folder, name, flags, mode));
}

}  // namespace

extern "C" int __libc_start_main(Main* main, int count, char** arguments, void (*init)(),
                                 void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  program = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(begin_and_run, count, arguments, init, fini, rtld_fini,
                                          stack_end);
}

#define WS_OPEN(function, where, ...)                            \
  extern "C" int function(__VA_ARGS__, int flags, ...) {         \
    va_list arguments;                                           \
    va_start(arguments, flags);                                  \
    const int result = open_file(where, name, flags, arguments); \
    va_end(arguments);                                           \
    return result;                                               \
  }
WS_OPEN(open, AT_FDCWD, const char* name)
WS_OPEN(open64, AT_FDCWD, const char* name)
WS_OPEN(openat, folder, int folder, const char* name)
WS_OPEN(openat64, folder, int folder, const char* name)
#undef WS_OPEN

extern "C" FILE* fopen(const char* name, const char* mode) {
  if (fails(open_, AT_FDCWD, name)) return nullptr;
  return next<FILE*(const char*, const char*)>("fopen")(name, mode);
}
extern "C" FILE* fopen64(const char* name, const char* mode) {
  return fopen(name, mode);
}
extern "C" DIR* opendir(const char* name) {
  if (fails(open_, AT_FDCWD, name)) return nullptr;
  return next<DIR*(const char*)>("opendir")(name);
}

extern "C" ssize_t read(int file, void* out, std::size_t size) {
  return fails_file(read_, file) ? -1 : ::syscall(SYS_read, file, out, size);
}
extern "C" ssize_t pread(int file, void* out, std::size_t size, off_t offset) {
  return fails_file(read_, file) ? -1 : ::syscall(SYS_pread64, file, out, size, offset);
}
extern "C" ssize_t pread64(int file, void* out, std::size_t size, off_t offset) {
  return pread(file, out, size, offset);
}

extern "C" ssize_t write(int file, const void* bytes, std::size_t size) {
  return fails_file(write_, file) ? -1 : ::syscall(SYS_write, file, bytes, size);
}
extern "C" ssize_t writev(int file, const iovec* parts, int count) {
  return fails_file(write_, file) ? -1 : ::syscall(SYS_writev, file, parts, count);
}
extern "C" ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  return fails_file(write_, file) ? -1 : ::syscall(SYS_pwrite64, file, bytes, size, offset);
}
extern "C" ssize_t pwrite64(int file, const void* bytes, std::size_t size, off_t offset) {
  return pwrite(file, bytes, size, offset);
}

extern "C" int fsync(int file) {
  return fails_file(sync_, file) ? -1 : static_cast<int>(::syscall(SYS_fsync, file));
}
extern "C" int fdatasync(int file) {
  return fails_file(sync_, file) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, file));
}
extern "C" int ftruncate(int file, off_t size) noexcept {
  return fails_file(truncate_, file) ? -1 : static_cast<int>(::syscall(SYS_ftruncate, file, size));
}
extern "C" int ftruncate64(int file, off_t size) noexcept {
  return ftruncate(file, size);
}
extern "C" int truncate(const char* name, off_t size) noexcept {
  return fails(truncate_, AT_FDCWD, name) ? -1
                                          : static_cast<int>(::syscall(SYS_truncate, name, size));
}
/// Closes the file even if it returns an error, as Linux does.
extern "C" int close(int file) {
  const bool failing = fails_file(close_, file);
  const int error = errno;
  const int result = static_cast<int>(::syscall(SYS_close, file));
  if (!failing) return result;
  errno = error;
  return -1;
}

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  if (fails(rename_, to_folder, to)) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}
extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to,
                      int flags) noexcept {
  if (fails(link_, to_folder, to)) return -1;
  return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
extern "C" int symlink(const char* target, const char* name) noexcept {
  if (fails(link_, AT_FDCWD, name)) return -1;
  return static_cast<int>(::syscall(SYS_symlinkat, target, AT_FDCWD, name));
}
extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  if (fails(unlink_, folder, name)) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, folder, name, flags));
}
extern "C" int unlink(const char* name) noexcept {
  return unlinkat(AT_FDCWD, name, 0);
}
extern "C" int rmdir(const char* name) noexcept {
  return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}
extern "C" int remove(const char* name) noexcept {
  const int result = unlinkat(AT_FDCWD, name, 0);
  return result != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, name, AT_REMOVEDIR) : result;
}
extern "C" int mkdir(const char* name, mode_t mode) noexcept {
  if (fails(mkdir_, AT_FDCWD, name)) return -1;
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, name, mode));
}

extern "C" void* mmap(void* at, std::size_t size, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (fails(map_, file, nullptr)) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, size, protection, flags, file, offset));
}
extern "C" void* mmap64(void* at, std::size_t size, int protection, int flags, int file,
                        off_t offset) noexcept {
  return mmap(at, size, protection, flags, file, offset);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) noexcept {
  if (fails(thread_, -1, nullptr)) return errno;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return next<Create>("pthread_create")(thread, attributes, work, argument);
}

// Allocations of the program and of its other libraries. Calls from oneDNN 2.6 must not fail,
// because it ignores failures.
#define WS_FAILS_HERE \
  (plan.holds && !is_left_alone(__builtin_return_address(0)) && fails(allocate_, -1, nullptr))

extern "C" void* malloc(std::size_t size) noexcept {
  return WS_FAILS_HERE ? nullptr : __libc_malloc(size);
}
extern "C" void* calloc(std::size_t count, std::size_t size) noexcept {
  return WS_FAILS_HERE ? nullptr : __libc_calloc(count, size);
}
extern "C" void* realloc(void* old, std::size_t size) noexcept {
  return WS_FAILS_HERE ? nullptr : __libc_realloc(old, size);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return WS_FAILS_HERE ? nullptr : __libc_memalign(alignment, size);
}
extern "C" int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  const int before = errno;  // this function returns its error instead of setting errno
  if (WS_FAILS_HERE) return std::exchange(errno, before);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

namespace {

/// As required by [new.delete.single], calls the handler until it throws or memory is available.
void* new_memory(std::size_t size, std::size_t alignment, bool failing) {
  for (;; failing = plan.lasting && failing) {
    void* const memory = failing ? nullptr : __libc_memalign(alignment, size == 0 ? 1 : size);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

void* operator new(std::size_t size) {
  return new_memory(size, alignof(std::max_align_t), WS_FAILS_HERE);
}
void* operator new[](std::size_t size) {
  return new_memory(size, alignof(std::max_align_t), WS_FAILS_HERE);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return new_memory(size, static_cast<std::size_t>(alignment), WS_FAILS_HERE);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return WS_FAILS_HERE ? nullptr : __libc_malloc(size == 0 ? 1 : size);
}
// The library's own operators do the same, but they must be redefined here because the operators
// above replace them.
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
