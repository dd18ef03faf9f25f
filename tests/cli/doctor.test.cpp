// `doctor` must describe the machine as the program uses it.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace wellspring::test {
namespace {

/// First output line of `PREFIX wellspring doctor` that begins with `what`.
std::string doctor_line(const std::string& prefix, const std::string& what) {
  const Outcome outcome =
      shell("unset OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES OMP_THREAD_LIMIT; " + prefix + " '" +
            wellspring_path() + "' doctor");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  " + what + " ")) return line;
  ADD_FAILURE() << "no line '" << what << "' in " << outcome.out;
  return "";
}

TEST(Doctor, ExplainsTheThreadCount) {
  const auto expect = [](const std::string& prefix, const std::string& part) {
    const std::string line = doctor_line(prefix, "threads");
    expect_parts(line, {part});
  };
  expect("OMP_NUM_THREADS=3", " 3, set by OMP_NUM_THREADS=3");
  expect("OMP_NUM_THREADS=99999", "capped");
  expect("OMP_NUM_THREADS=3 OMP_THREAD_LIMIT=1", " 1, set by OMP_THREAD_LIMIT=1");
  const std::string one = "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')";
  expect(one, " 1, set by ");
  expect("OMP_NUM_THREADS=2 " + one, " 2, set by OMP_NUM_THREADS=2");
}

// With OMP_PROC_BIND, the runtime binds the first thread to one processor before main() begins.
TEST(Doctor, CountsAllProcessorsWithBoundThreads) {
  EXPECT_EQ(doctor_line("OMP_PROC_BIND=true", "processor"), doctor_line("", "processor"));
}

}  // namespace
}  // namespace wellspring::test
