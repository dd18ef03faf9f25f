// The set-up scripts: what they do without privileges, and twice in a row. The system's tools are
// replaced by small scripts in front of PATH, so nothing is installed.
#include "tests/cli/command.h"

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
    // Knows every package but cmake, until apt-get has installed it.
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

TEST_F(Setup, WithoutPrivilegesQuickstartPrintsTheOneCommandAndExits2) {
  const Outcome outcome = run("./quickstart");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("sudo apt-get update && sudo apt-get install -y "
                             "--no-install-recommends cmake\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(slurp(log()), "");  // nothing was touched
}

TEST_F(Setup, InstallsOnlyWhatIsMissing) {
  tool("id", "echo 0");
  const Outcome outcome = run("scripts/install-packages");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(slurp(log()).find("install -y --no-install-recommends cmake\n"), std::string::npos)
      << slurp(log());
}

TEST_F(Setup, NothingToDoIsSilent) {
  tool("dpkg-query", "echo installed");
  const Outcome outcome = run("scripts/install-packages");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(slurp(log()), "");
}

TEST_F(Setup, AFailedInstallationIsReported) {
  tool("id", "echo 0");
  tool("apt-get", "exit 100");
  const Outcome outcome = run("./quickstart");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.exit_code, 2);
}

TEST_F(Setup, HelpAndUnknownArguments) {
  EXPECT_EQ(run("./quickstart --help").exit_code, 0);
  EXPECT_EQ(run("./test --help").exit_code, 0);
  EXPECT_EQ(run("./quickstart nonsense").exit_code, 2);
}

}  // namespace
}  // namespace wellspring::test
