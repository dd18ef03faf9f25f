// Every subcommand prints its help; arguments that cannot be parsed give exit code 2.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring::test {
namespace {

class Subcommand : public testing::TestWithParam<const char*> {};

TEST_P(Subcommand, PrintsItsHelp) {
  const Outcome outcome = wellspring({GetParam(), "--help"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {GetParam(), "Options:"});
}

TEST_P(Subcommand, RefusesUnknownOptions) {
  const Outcome outcome = wellspring({GetParam(), "--no-such-option"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  expect_parts(outcome.err, {"wellspring: error:", std::string(GetParam()) + " --help"});
}

INSTANTIATE_TEST_SUITE_P(Every, Subcommand,
                         testing::Values("train", "eval", "preview", "export", "digest", "list",
                                         "describe", "bench", "config", "doctor"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CommandLine, PrintsSubcommandsAndExitCodesInItsHelp) {
  const Outcome outcome = wellspring({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  expect_parts(outcome.out, {"train", "preview", "doctor", "Exit codes"});
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
  expect_parts(unknown.err, {"did you mean 'train'"});
}

TEST(CommandLine, PrintsNoColourIntoAFile) {
  const Outcome outcome = wellspring({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace wellspring::test
