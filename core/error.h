// Errors with a place, a reason and an advice, and the exit code that `main` returns for them.
// Called by everything; host only.
#pragma once

#include "core/expect.h"

#include <stdexcept>
#include <string>
#include <string_view>

namespace wellspring {

/// What kind of failure this is; the value is the exit code of the command line.
enum class ErrorKind : int {
  runtime = 1,  ///< the run failed: non-finite loss, disk full
  config = 2,   ///< wrong usage or configuration
  data = 3,     ///< a data file is missing, damaged or of the wrong kind
  device = 4,   ///< the device or its driver is missing, or a call to it failed
  gate = 5,     ///< a condition asked for with --fail-if does not hold
};

/// The parts of a message: problem (why it is one) what to do. Empty parts are left out.
struct ErrorText {
  std::string problem;      ///< what is wrong, with the place: "train.yaml:12:3: unknown key 'lr_'"
  std::string why = {};     ///< why that is a problem
  std::string advice = {};  ///< what the reader can do about it
};

/// The one exception type of the library.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const ErrorText& text);
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

/// Throws Error(kind, text).
[[noreturn]] void fail(ErrorKind kind, const ErrorText& text);

}  // namespace wellspring
