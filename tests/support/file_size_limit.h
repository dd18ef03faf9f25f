// Simulates a full disk. For tests; host only.
#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace wellspring::test {

/// Simulates a full disk: during its lifetime, no file of this process can grow beyond `bytes`. It
/// ignores SIGXFSZ, so write(2) fails with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace wellspring::test
