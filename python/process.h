// Forks and Ctrl-C in a Python process. Called by the bindings; host only.
#pragma once

namespace wellspring::python {

/// Call before work with threads. Throws a runtime error in a process that was forked after such
/// work: the threads of OpenMP do not exist there, and a loop would wait for them forever.
void expect_own_threads();

/// During its lifetime, SIGINT also raises the library's interrupt flag, so that long work ends. The
/// previous handler, usually Python's, still runs.
class InterruptBridge {
 public:
  InterruptBridge();
  ~InterruptBridge();
  InterruptBridge(const InterruptBridge&) = delete;
  InterruptBridge& operator=(const InterruptBridge&) = delete;
};

}  // namespace wellspring::python
