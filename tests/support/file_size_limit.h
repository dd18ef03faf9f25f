// A full disk, for tests of what is written then. Called by tests; host only.
#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace wellspring::test {

/// Stands for a full disk: no file of this process may grow beyond `bytes` while it lives. The
/// signal that comes with it is ignored, so that write(2) returns EFBIG.
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
