// The set-up scripts. Small scripts at the front of PATH replace the system's tools, so that
// nothing is installed.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class Setup : public testing::Test {
 protected:
  Setup() {
    fs::create_directory(tools());
    tool("id", "echo 1000");
    tool("sudo", "exit 1");
    tool("apt-cache", "exit 0");
    tool("apt-get", "echo \"apt-get $*\" >>\"$LOG\"");
    // Lists every package as installed, except that cmake appears only after apt-get has run.
    tool("dpkg-query",
         "case \"${@: -1}\" in cmake) grep -q install \"$LOG\" && echo installed;; "
         "*) echo installed;; esac; exit 0");
    spill(log(), "");
  }

  void tool(const std::string& name, const std::string& body) {
    const fs::path file = tools() / name;
    spill(file, "#!/usr/bin/env bash\n" + body + "\n");
    fs::permissions(file, fs::perms::owner_all);
  }
  fs::path tools() const { return folder_.path() / "tools"; }
  fs::path log() const { return folder_.path() / "log"; }
  Outcome run(const std::string& command) const {
    return shell(command, source_folder(),
                 {{"PATH", tools().string() + ":" + std::getenv("PATH")}, {"LOG", log().string()}});
  }

  TemporaryFolder folder_;
};

TEST_F(Setup, PrintsTheInstallCommandWithoutPrivileges) {
  const Outcome outcome = run("./quickstart");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  expect_parts(outcome.err, {"sudo apt-get update && sudo apt-get install -y "
                             "--no-install-recommends cmake\n"});
  EXPECT_EQ(slurp(log()), "");  // apt-get must not have run
}

TEST_F(Setup, InstallsOnlyMissingPackages) {
  tool("id", "echo 0");
  const Outcome outcome = run("scripts/install-packages");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_parts(slurp(log()), {"install -y --no-install-recommends cmake\n"});
}

TEST_F(Setup, IsSilentIfNoPackageIsMissing) {
  tool("dpkg-query", "echo installed");
  const Outcome outcome = run("scripts/install-packages");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(slurp(log()), "");
}

TEST_F(Setup, ReportsAFailedInstallation) {
  tool("id", "echo 0");
  tool("apt-get", "exit 100");
  const Outcome outcome = run("./quickstart");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.exit_code, 2);
}

// During long work, the script shows the progress count of ninja or ctest, or the last line of its
// log. The fake work ends when the expected line appears, so the test does not depend on time.
TEST_F(Setup, ShowsTheProgressOfLongWork) {
  const auto shown = [&](const std::string& written, const std::string& expected) {
    const fs::path out = folder_ / "out";
    const std::string text =
        "source scripts/common.sh; progress_seconds=0 progress_tick=0.05; work() { printf '%b\\n' "
        "'" +
        written + "'; for ((i = 0; i < 300; ++i)); do grep -q '" + expected + "' '" + out.string() +
        "' && return 7; sleep 0.1; done; }; with_progress '" + (folder_ / "work.log").string() +
        "' work >'" + out.string() + "'; echo $?";
    EXPECT_EQ(run(text).out, "7\n") << slurp(out);
  };
  shown("[1/9] Building a.o\\n[3/9] Building b.o", "^     33% 3/9  [0-9]* s$");
  shown("      Start 2: x\\n 12/200 Test #2: x ... Passed", "^      6% 12/200  [0-9]* s$");
  shown("Unpacking ninja\\nSetting up cmake (3.25)\\n", "^    Setting up cmake (3.25)  [0-9]* s$");
}

TEST_F(Setup, ShowsTheEndOfTheLogOfFailedWork) {
  const std::string log = (folder_ / "deep/work.log").string();
  const Outcome outcome =
      run("set -euo pipefail; source scripts/common.sh; work() { echo because; return 3; }; "
          "run_quietly '" +
          log + "' work; echo not reached");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  expect_parts(outcome.err, {"because\n", "'work' failed; the whole log is " + log});
}

TEST_F(Setup, PrintsHelpAndRefusesUnknownArguments) {
  EXPECT_EQ(run("./quickstart --help").exit_code, 0);
  EXPECT_EQ(run("./test --help").exit_code, 0);
  EXPECT_EQ(run("./quickstart nonsense").exit_code, 2);
}

// `cmake --install` fails if these files are missing.
TEST(Install, RequiresTheLicence) {
  const fs::path source = source_folder();
  expect_parts(slurp(source / "LICENSE"), {"Apache License", "The Wellspring authors"});
  expect_parts(slurp(source / "CITATION.cff"), {"license: Apache-2.0"});
  expect_parts(slurp(source / "CHANGELOG.md"), {"## [Unreleased]"});
  const std::string rules = slurp(source / "cmake/WellspringInstall.cmake");
  expect_parts(rules, {"README.md LICENSE CHANGELOG.md CITATION.cff", "scripts/fetch-cifar10"});
  EXPECT_EQ(rules.find("OPTIONAL)"), std::string::npos);
}

}  // namespace
}  // namespace wellspring::test
