// Runs a program and collects its output. Called by generators/own/compile.cpp; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring::own {

struct ChildResult {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;
  std::string output;  ///< standard output and standard error
};
/// Runs `arguments[0]`, with messages in English. Throws a runtime error if it cannot be started.
ChildResult run_program(const std::vector<std::string>& arguments);

}  // namespace wellspring::own
