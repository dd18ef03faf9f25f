// Generators from headers of the user, through the command line: templates, bytes, errors.
#include "tests/cli/own_generator_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace wellspring::test {
namespace {

TEST_F(OwnGenerator, TemplatesOfAllKindsWork) {
  for (const std::string kind : {"image", "canvas", "event", "set", "field"}) {
    const std::string name = "my_" + kind;
    ASSERT_EQ(run("new generator " + name + " --kind " + kind).exit_code, 0);
    const Outcome first = run("digest ./" + name + ".h --count 5");
    EXPECT_NE(first.err.find("note: compiling "), std::string::npos) << first.err;
    const std::string whole = digest(first);
    EXPECT_EQ(digest(run("digest ./" + name + ".h --count 5 --batch 2 --threads 2")), whole);
    EXPECT_NE(run("compile " + name + ".h").out.find("already compiled"), std::string::npos);
    const Outcome described = run("describe ./" + name + ".h");
    EXPECT_NE(described.out.find(name + ", version 1"), std::string::npos);
    EXPECT_EQ(described.err.find("compiling"), std::string::npos) << described.err;
  }
  EXPECT_EQ(run("new generator my_image").exit_code, 2) << "overwrites nothing";
}

/// Runs the test that `new generator` writes, in `folder`.
Outcome run_test_of(const std::string& name, const fs::path& folder, const fs::path& cache) {
  return shell(
      fmt::format("PATH='{}':\"$PATH\" WELLSPRING_CACHE='{}' sh {}.test.sh",
                  fs::path(wellspring_path()).parent_path().string(), cache.string(), name),
      folder);
}

TEST_F(OwnGenerator, TheWrittenTestChecksTheLaws) {
  ASSERT_EQ(run("new generator rings").exit_code, 0);
  EXPECT_NE(slurp(folder_ / "rings.md").find("# rings\n"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    const Outcome passed = run_test_of("rings", folder_.path(), cache().path());
    EXPECT_EQ(passed.exit_code, 0) << passed.err;
    EXPECT_NE(passed.out.find("4096 samples passed"), std::string::npos) << passed.out;
  }
  EXPECT_EQ(run("compile ./rings.h --samples 64 tilt=90 contrast=1").exit_code, 0);
  EXPECT_NE(run("compile ./rings.h tilt=90").err.find("--samples"), std::string::npos);
  EXPECT_NE(run("compile ./rings.h --samples 9 tlit=90").err.find("did you mean 'tilt'"),
            std::string::npos);

  const std::string text = slurp(folder_ / "rings.h");
  struct Break {
    std::string from, to, message;
  };
  for (const auto& [from, to, message] : std::vector<Break>{
           {"info.draws = {.scene = 1};", "", "random numbers, and info.draws"},
           {"draw.uniform(4, 16);\n", "draw.uniform(5, 16);\n", "latent period is in [5"},
           {"tilt < 0 ? 0 : 1", "key.rng.sample == 77 ? 5 : tilt < 0 ? 0 : 1",
            "sample 77: label is 5"},
           {"0.5f + 0.5f *", "0.5f + 0.4f *", "samples have changed"}}) {
    spill(folder_ / "rings.h", replaced(text, from, to));
    const Outcome failed = run_test_of("rings", folder_.path(), cache().path());
    EXPECT_NE(failed.exit_code, 0) << message;
    EXPECT_NE(failed.err.find(message), std::string::npos) << failed.err;
  }
}

TEST_F(OwnGenerator, FunctionsOfTheCLibraryAreNoticed) {
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder_ / "exact.h");
  write("grating", "math::sin_turns(turns)", "__builtin_sinf(turns)");
  EXPECT_NE(run("compile grating.h").err.find("calls sinf of the C library"), std::string::npos);
  const TemporaryFolder own;
  write("grating", "#pragma once", "#pragma once\n// exact");
  EXPECT_EQ(run("compile grating.h", folder_.path(), {{"WELLSPRING_CACHE", own.path().string()}})
                .err.find("C library"),
            std::string::npos);
}

TEST_F(OwnGenerator, CopiesOfBuiltInGeneratorsGiveTheSameBytes) {
  for (const std::string header : {"images/noise", "images/shapes", "images/ising", "images/ifs",
                                   "events/ee_mumu", "events/ginkgo"}) {
    const std::string name = fs::path(header).filename();
    const fs::path copy = folder_ / (name + ".h");
    fs::copy_file(source_folder() / "generators" / (header + ".h"), copy);
    EXPECT_EQ(digest(run("digest ./" + name + ".h --count 9 --seed 3")),
              digest(run("digest " + name + " --count 9 --seed 3")))
        << name;
  }
}

TEST_F(OwnGenerator, BenchComparesACopyWithTheBuiltInGenerator) {
  fs::copy_file(source_folder() / "generators/images/noise.h", folder_ / "noise.h");
  const Outcome copy =
      run("bench generators ./noise.h law=uniform --batch 64 --size 64 --repeats 1");
  EXPECT_EQ(copy.exit_code, 0) << copy.err;
  EXPECT_NE(copy.out.find("the built-in noise"), std::string::npos) << copy.out;
  const Outcome built_in = run("bench generators noise --batch 64 --size 64 --repeats 1");
  EXPECT_EQ(built_in.exit_code, 0) << built_in.err;
  EXPECT_EQ(built_in.out.find("the built-in noise"), std::string::npos) << built_in.out;
  EXPECT_NE(run("bench generators ./noise.h lav=uniform").err.find("lav"), std::string::npos);
  EXPECT_NE(run("bench generators nois").err.find("noise"), std::string::npos);
}

// The program has functions of the same names, which the copy must not call.
TEST_F(OwnGenerator, AChangedCopyOfABuiltInGeneratorIsNotTheBuiltInOne) {
  spill(folder_ / "noise.h",
        replaced(slurp(source_folder() / "generators/images/noise.h"),
                 "colour.r[i] = math::fma(width,", "colour.r[i] = 0.5f * math::fma(width,"));
  EXPECT_NE(digest(run("digest ./noise.h --count 4 law=uniform")),
            digest(run("digest noise --count 4 law=uniform")));
}

/// A change of the grating, and a part of the message that refuses it.
struct Broken {
  std::string from, to, message;
};

class BrokenHeader : public OwnGenerator {
 protected:
  void expect_refused(const std::vector<Broken>& cases) const {
    for (const Broken& broken : cases) {
      write("grating", broken.from, broken.to);
      const Outcome outcome = run("digest ./grating.h --count 1");
      EXPECT_EQ(outcome.exit_code, 2) << broken.to << outcome.err;
      EXPECT_NE(outcome.err.find(broken.message), std::string::npos) << broken.to << "\n"
                                                                     << outcome.err;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(cache() / "generators"))
      EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
};

TEST_F(BrokenHeader, IsReportedWithPlaceAndRemedy) {
  expect_refused({
      {"#pragma once", "#pragma once\n#include \"missing.h\"", "searched for next to the header"},
      {"#pragma once", "#pragma once\n#error not finished", "grating.h:4:2: #error not finished"},
      {"#pragma once", "#include \"grating.h\"", "#include nested depth"},
      {"turn.cosine / period", "turn.cosine / period +", "grating.h:61:35: expected"},
      {"float contrast", "flot contrast", "grating.h:16:5: 'flot' does not name a type"},
      {"info.summary", "info.summery", "did you mean 'summary'"},
      {"}  // namespace wellspring", "", "a closing brace is missing"},
      {"namespace wellspring {", "namespace mine {", "'ParamTable' does not name a type"},
      {"struct Grating {", "struct Gratings {", "must define the functor `struct Grating`"},
      {"math::sin_turns(turns)", "math::sine(turns)", "the same bits on every device"},
      {"struct Grating {", "float far(float x);\nstruct Grating {\n  float f = far(1);",
       "needs a definition in the header"},
  });
}

TEST_F(BrokenHeader, IsRefusedIfAMemberDoesNotFit) {
  expect_refused({
      {"static SampleInfo describe(", "static SampleInfo described(",
       "static SampleInfo describe("},
      {"static SampleInfo describe(", "SampleInfo describe(", "without object"},
      {"table() {", "tables() {", "static const ParamTable<Params>& table()"},
      {"Scene draw(const SampleKey& key, ", "Scene draw(", "draw(const SampleKey&"},
      {"PixelCoordinate p) const {", "PixelCoordinate p) {", "needs the member at("},
      {"explicit Grating(const Params& params) : params_(params)", "Grating()",
       "no matching function for call to 'wellspring::Grating::Grating("},
      {"  static constexpr forms::Pixels kForm = {};", "", "another form"},
      {"forms::Pixels", "forms::Canvas", "needs the member Cell"},
      {"static constexpr int kLatents = 2;", "", "NUMBER_OF_LATENTS"},
      {"static constexpr int kLatents = 2;",
       "static constexpr int kLatents = 2;\n  static constexpr GeneratorHooks kHooks = {.tables = "
       "true};",
       "name the hook in kHooks"},
      {"  Params params_;", "  Params params_;\n  std::string name_;", "no std::string"},
      {"  explicit Grating(", "  virtual ~Grating() {}\n  explicit Grating(", "virtual function"},
      {"float across_x, ", "std::string name; float across_x, ", "may only have numbers"},
  });
}

TEST_F(BrokenHeader, IsRefusedIfItsSamplesBreakALaw) {
  const std::string label = "truth.label = tilt < 0 ? 0 : 1;";
  const std::string period = "truth.latents[1] = period;";
  expect_refused({
      {"info.name = \"grating\"", "info.name = \"gratings\"", "write info.name = \"grating\""},
      {"info.version = 1;", "info.version = 0;", "sets no version"},
      {"\"tilt\", \"angle", "\"period\", \"angle", "two latents 'period'"},
      {"info.high = 1;", "info.high = 0.7f;", "sample 0: x["},
      {"info.high = 1;", "info.high = -1;", "declares values from 0 to -1"},
      {"return {grey, grey, grey};", "return {grey, grey, __builtin_nanf(\"\")};", "x[2] is nan"},
      {"info.classes = {\"left\", \"right\"};", "", "not in [0, -1]"},
      {label, "truth.label = 2;", "label is 2, not in [0, 1]"},
      {label, "truth.label = -1;", "label is -1, not in [0, 1]"},
      {period, "truth.latents[1] = 99;", "latent period is 99"},
      {period, "truth.latents[1] = __builtin_nanf(\"\");", "latent period is nan"},
      {period, "", "latent period is 0, not in [4, 16]"},
      {period, "static int calls = 0; truth.latents[1] = static_cast<float>(4 + ++calls % 7);",
       "its latents differs between batches of 1 and of 12"},
      {label, "*(volatile int*)8 = 1;", "sample 0: crashed"},
      {label, "throw 7;", "sample 0: crashed"},
      {label, "__builtin_exit(0);", "sample 0: ended the process"},
      {": params_(params) {}", ": params_(params) { throw 7; }", "constructor or its tables"},
      {"struct Grating {", "inline int early = (__builtin_abort(), 0);\nstruct Grating {",
       "constructor or its tables: crashed"},
  });
}

TEST_F(BrokenHeader, OfAnotherKindOrOnAFullDiskIsReported) {
  spill(folder_ / "empty.h", "");
  EXPECT_NE(run("digest ./empty.h --count 1").err.find("`struct Empty`"), std::string::npos);
  spill(folder_ / "binary.h", std::string("\x7f\0ELF\x01", 6));
  EXPECT_EQ(run("digest ./binary.h --count 1").exit_code, 2);
  fs::create_directory(folder_ / "folder.h");
  EXPECT_EQ(run("digest ./folder.h --count 1").exit_code, 3);
  fs::copy_file(source_folder() / "examples/generators/walk.h", folder_ / "walk.h");
  const Outcome full = shell(
      "ulimit -f 8; WELLSPRING_CACHE=full " + wellspring_path() + " digest ./walk.h --count 1",
      folder_.path());
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("free some space"), std::string::npos) << full.err;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "full/generators"))
    EXPECT_EQ(entry.path().extension(), ".lock");
}

TEST_F(OwnGenerator, AnEndlessLoopEndsAfterItsTime) {
  write("grating", "RngStream draw(key.rng, Purpose::scene);",
        "for (volatile int i = 0; i >= 0;) {}\n RngStream draw(key.rng, Purpose::scene);");
  const Outcome outcome = run("digest ./grating.h --count 1");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("sample 0: not finished"), std::string::npos) << outcome.err;
}

TEST_F(OwnGenerator, TrustSkipsTheCheck) {
  write("grating", "info.high = 1;", "info.high = 0.7f;");
  EXPECT_EQ(run("compile --trust ./grating.h").exit_code, 0);
  EXPECT_EQ(run("digest ./grating.h --count 1").exit_code, 0);
}

TEST_F(OwnGenerator, ABadNameOrMissingFileIsRefused) {
  EXPECT_NE(run("digest ./missing.h --count 1").err.find("missing.h"), std::string::npos);
  spill(folder_ / "my-rings.h", "");
  EXPECT_NE(run("digest ./my-rings.h --count 1").err.find("underscores"), std::string::npos);
  EXPECT_EQ(run("new generator ../rings").exit_code, 2);
  EXPECT_EQ(run("new generator my-rings").exit_code, 2);
  EXPECT_NE(run("new generator shapes").err.find("built-in"), std::string::npos);
}

TEST_F(OwnGenerator, WorksInAFolderWithAnyName) {
  const fs::path folder = folder_ / "Grüße & \"x\" $y";
  fs::create_directory(folder);
  fs::copy_file(source_folder() / "examples/generators/grating.h", folder / "grating.h");
  spill(folder / "rings.h", "");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run("digest ./grating.h --count 1", folder).exit_code, 0);
}

}  // namespace
}  // namespace wellspring::test
