// Every subcommand prints its help; arguments that cannot be parsed give exit code 2.
#include "tests/cli/command.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring::test {
namespace {

class Subcommand : public testing::TestWithParam<const char*> {};

TEST_P(Subcommand, PrintsItsHelp) {
  const Outcome outcome = wellspring({GetParam(), "--help"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(GetParam()), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Options:"), std::string::npos) << outcome.out;
}

TEST_P(Subcommand, RefusesUnknownOptions) {
  const Outcome outcome = wellspring({GetParam(), "--no-such-option"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_NE(outcome.err.find("wellspring: error:"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(std::string(GetParam()) + " --help"), std::string::npos)
      << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Every, Subcommand,
                         testing::Values("train", "eval", "preview", "export", "digest", "list",
                                         "describe", "bench", "config", "doctor"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CommandLine, PrintsSubcommandsAndExitCodesInItsHelp) {
  const Outcome outcome = wellspring({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* name : {"train", "preview", "doctor", "Exit codes"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  }
}

TEST(CommandLine, PrintsItsVersionOnOneLine) {
  const Outcome outcome = wellspring({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.find("wellspring "), 0u) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << outcome.out;
}

TEST(CommandLine, RefusesMissingAndUnknownSubcommands) {
  EXPECT_EQ(wellspring({}).exit_code, 2);
  const Outcome unknown = wellspring({"trian"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'train'"), std::string::npos) << unknown.err;
}

TEST(CommandLine, PrintsNoColourIntoAFile) {
  const Outcome outcome = wellspring({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace wellspring::test
