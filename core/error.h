// Errors: location, reason, advice, and the exit code that `main` returns. Called by all code; host
// only.
#pragma once

#include "core/expect.h"

#include <stdexcept>
#include <string>
#include <string_view>

namespace wellspring {

/// Kind of failure; the value is the exit code of the command line.
enum class ErrorKind : int {
  runtime = 1,  ///< the run failed: non-finite loss, disk full
  config = 2,   ///< wrong usage or configuration
  data = 3,     ///< data file missing, damaged or of the wrong kind
  device = 4,   ///< device or driver missing, or a call to it failed
};

/// The parts of a message: "problem (why)", then the advice on its own line. Empty parts are left
/// out.
struct ErrorText {
  std::string problem;      ///< problem with its location: "train.yaml:12:3: unknown key 'lr_'"
  std::string why = {};     ///< why it is a problem
  std::string advice = {};  ///< how to fix it
};

/// The exception type of the library.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const ErrorText& text);
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

[[noreturn]] void fail(ErrorKind kind, const ErrorText& text);

}  // namespace wellspring
