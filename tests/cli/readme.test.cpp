// Runs every command of the README as written, except that training is shortened to a few steps.
// Commands that are neither `wellspring` nor listed below make the test fail.
#include "tests/cli/command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

/// The lines of the README's ```sh blocks.
std::vector<std::string> readme_commands() {
  std::istringstream text(slurp(source_folder() / "README.md"));
  std::vector<std::string> commands;
  bool in_block = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      in_block = line == "```sh";
    } else if (in_block && !line.empty() && !line.starts_with("#")) {
      commands.push_back(line);
    }
  }
  return commands;
}

/// Commands that are not run here, each with the check that covers it.
const std::map<std::string, std::string>& covered_elsewhere() {
  static const std::map<std::string, std::string> commands = {
      {"git clone", "needs the network"},
      {"./quickstart", "tests/cli/setup.test.cpp, and by hand on a fresh machine"},
      {"./test", "runs this test"},
      {"export PATH", "the test puts the command on PATH itself"},
      {"scripts/fetch-cifar10", "needs the network"},
      {"scripts/gpu-check", "needs a GPU; tests/scripts"},
  };
  return commands;
}

bool is_covered_elsewhere(const std::string& command) {
  for (const auto& [prefix, why] : covered_elsewhere()) {
    if (command.starts_with(prefix)) return true;
  }
  return false;
}

/// Folder with `cifar10-train.tar` and `cifar10-test.tar`, which the configurations for CIFAR-10
/// read. Empty if no folder has them.
fs::path cifar10() {
  const char* shared = std::getenv("WELLSPRING_SHARED");
  const fs::path root = shared != nullptr ? fs::path(shared) : source_folder() / ".." / "shared";
  return fs::exists(root / "data" / "cifar10-train.tar") ? fs::absolute(root / "data") : fs::path();
}

class ReadmeCommand : public testing::TestWithParam<std::string> {
 protected:
  /// Puts a `wellspring` first on PATH that shortens training and measurements, and calls the built command.
  ReadmeCommand() {
    const fs::path file = folder_.path() / "wellspring";
    spill(file,
          "#!/usr/bin/env bash\n"
          "case \"$1\" in\n"
          "  train) set -- \"$@\" train.steps=3 eval.samples=64 ;;\n"
          "  diagnose) set -- \"$@\" train.batch=8 --seconds 15 ;;\n"
          "esac\n"
          "exec '" +
              wellspring_path() + "' \"$@\"\n");
    fs::permissions(file, fs::perms::owner_all);
    fs::create_directory_symlink(source_folder() / "configs", folder_.path() / "configs");
    if (!cifar10().empty()) {
      fs::create_directory(folder_.path() / "data");
      fs::create_directory_symlink(cifar10(), folder_.path() / "data" / "cifar10");
    }
  }
  TemporaryFolder folder_;
};

TEST_P(ReadmeCommand, Works) {
  const std::string& command = GetParam();
  if (is_covered_elsewhere(command)) return;
  ASSERT_TRUE(command.starts_with("wellspring ")) << "no test runs: " << command;
  if (command.find("data/cifar10") != std::string::npos && cifar10().empty()) {
    GTEST_SKIP() << "needs CIFAR-10: set WELLSPRING_SHARED to a folder with data/cifar10-train.tar";
  }
  const Outcome outcome = shell(command, folder_.path(),
                                {{"PATH", folder_.path().string() + ":" + std::getenv("PATH")}});
  EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "") << command;
}

INSTANTIATE_TEST_SUITE_P(Every, ReadmeCommand, testing::ValuesIn(readme_commands()));

TEST(Readme, ShowsCommandsAndLinksOnlyToExistingFiles) {
  EXPECT_GE(readme_commands().size(), 8u);
  const std::string text = slurp(source_folder() / "README.md");
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 2)) {
    const std::string target = text.substr(at + 2, text.find_first_of(")#", at) - at - 2);
    if (target.starts_with("http")) continue;
    EXPECT_TRUE(fs::exists(source_folder() / target)) << "the README links to " << target;
  }
}

}  // namespace
}  // namespace wellspring::test
