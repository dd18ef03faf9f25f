// Every subcommand must print its help; arguments that cannot be parsed must give exit code 2.
#include "export/export_layout.h"
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <filesystem>
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
                         testing::Values("init", "train", "eval", "predict", "preview", "export",
                                         "digest", "list", "describe", "bench", "diagnose",
                                         "features", "sweep", "config", "doctor", "help",
                                         "version"),
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

TEST(CommandLine, PrintsHelpAndVersionAsCommands) {
  EXPECT_EQ(wellspring({"version"}).out, wellspring({"--version"}).out);
  EXPECT_EQ(wellspring({"help"}).out, wellspring({"--help"}).out);
  EXPECT_EQ(wellspring({"help", "train"}).out, wellspring({"train", "--help"}).out);
  const Outcome unknown = wellspring({"help", "trian"});
  EXPECT_EQ(unknown.exit_code, 2);
  expect_parts(unknown.err, {"did you mean 'train'"});
}

TEST(CommandLine, ReportsLostOutput) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  for (const char* const words : {"--version", "--help", "version", "list", "describe config"}) {
    const Outcome outcome = shell("'" + wellspring_path() + "' " + words + " >/dev/full");
    EXPECT_EQ(outcome.exit_code, 1) << words;
    expect_parts(outcome.err, {"cannot write to standard output"});
  }
}

TEST(CommandLine, WritesItsManualPageAndCompletion) {
  const Outcome manual = wellspring({"help", "--man"});
  EXPECT_EQ(manual.exit_code, 0) << manual.err;
  expect_parts(manual.out, {".TH WELLSPRING 1", ".SS train\n", ".SS export, pack\n",
                            ".SS compile\n", ".B \\-\\-resume", ".B \\-\\-trace", "EXIT STATUS"});
  const Outcome completed = shell("source <('" + wellspring_path() +
                                  "' help --completion) && COMP_WORDS=(wellspring train --res) "
                                  "COMP_CWORD=2 && _wellspring && echo ${COMPREPLY[@]} && "
                                  "COMP_WORDS=(wellspring pack --comp) && _wellspring && echo "
                                  "${COMPREPLY[@]} && COMP_CWORD=1 && for word in do pa com; do "
                                  "COMP_WORDS=(wellspring $word) && _wellspring && echo "
                                  "${COMPREPLY[@]}; done");
  EXPECT_EQ(completed.out, "--resume\n--compress\ndoctor\npack\ncompile\n") << completed.err;
}

TEST(List, ListsEveryWriter) {
  const std::string formats = wellspring({"list", "formats"}).out;
  expect_parts(formats, {"--out NAME.npz", "trackml", "png"});
  for (const ExportLayout& layout : export_layouts())
    expect_parts(formats, {"--layout " + layout.name});
}

TEST(Describe, PrintsASectionOrAnAugmentation) {
  const std::string train = wellspring({"describe", "config.train"}).out;
  expect_parts(train, {"checkpoint_every"});
  EXPECT_EQ(train.find("optimizer"), std::string::npos) << train;
  expect_parts(wellspring({"describe", "config.data.sources"}).out, {"generator", "on_error"});
  const std::string crop = wellspring({"describe", "augment.crop_resize"}).out;
  expect_parts(crop, {"crop_resize: "});
  EXPECT_EQ(crop.find("flip_x"), std::string::npos) << crop;
  expect_parts(wellspring({"describe", "augment.simclr"}).out, {"Chen et al.", "random_order"});
  expect_parts(wellspring({"describe", "augment"}).out, {"one_of", "three_augment"});
  const std::string all = wellspring({"describe", "config"}).out;
  EXPECT_EQ(all.find("crop_resize"), all.rfind("crop_resize"));
  const Outcome unknown = wellspring({"describe", "config.trian"});
  EXPECT_EQ(unknown.exit_code, 2);
  expect_parts(unknown.err, {"did you mean 'config.train'"});
  EXPECT_EQ(wellspring({"describe", "augment.cropp"}).exit_code, 2);
}

TEST(CommandLine, RefusesMissingAndUnknownSubcommands) {
  EXPECT_EQ(wellspring({}).exit_code, 2);
  const Outcome unknown = wellspring({"trian"});
  EXPECT_EQ(unknown.exit_code, 2);
  expect_parts(unknown.err, {"did you mean 'train'"});
}

TEST(CommandLine, PrintsNoColourToAFile) {
  const Outcome outcome = wellspring({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

TEST(DescribeConfig, ExplainsDefaults) {
  expect_parts(wellspring({"describe", "config"}).out,
               {"0: about every ten minutes; the last step and signals also trigger one",
                "without sources nothing is held out and the run is never evaluated",
                "keep the first N rows of each class; 0: all"});
}

}  // namespace
}  // namespace wellspring::test
