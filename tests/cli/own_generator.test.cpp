// Generators from user headers, through the command line: templates, bytes, errors.
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
Outcome run_test_of(const std::string& name, const fs::path& folder,
                    const Process::Environment& environment) {
  return shell(fmt::format("PATH='{}':\"$PATH\" sh {}.test.sh",
                           fs::path(wellspring_path()).parent_path().string(), name),
               folder, environment);
}

TEST_F(OwnGenerator, HasAWrittenTestThatChecksTheLaws) {
  ASSERT_EQ(run("new generator rings").exit_code, 0);
  EXPECT_NE(slurp(folder_ / "rings.md").find("# rings\n"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    const Outcome passed = run_test_of("rings", folder_.path(), environment());
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
    const Outcome failed = run_test_of("rings", folder_.path(), environment());
    EXPECT_NE(failed.exit_code, 0) << message;
    EXPECT_NE(failed.err.find(message), std::string::npos) << failed.err;
  }
}

TEST_F(OwnGenerator, CallsOfTheCLibraryAndDoublesAreNoticed) {
  write("grating", "0.5f * params_.contrast * math::sin_turns(turns)",
        "0.5 * params_.contrast * __builtin_sinf(turns)");
  const Outcome noticed = run("compile grating.h");
  EXPECT_NE(noticed.err.find("calls sinf of the C library"), std::string::npos) << noticed.err;
  EXPECT_NE(noticed.err.find("grating.h:67:29: float becomes double"), std::string::npos)
      << noticed.err;
  write("grating", "#pragma once", "#pragma once\n// exact");
  const Outcome exact = run("compile grating.h");
  EXPECT_NE(exact.err.find("compiling"), std::string::npos) << exact.err;
  EXPECT_EQ(exact.err.find("C library"), std::string::npos) << exact.err;
  EXPECT_EQ(exact.err.find("double"), std::string::npos) << exact.err;
}

// Optimisation changes no byte, so most headers are compiled only without it.
TEST_F(OwnGenerator, CopiesOfBuiltInGeneratorsGiveTheSameBytes) {
  for (const std::string header : {"images/noise", "images/shapes", "images/ising", "images/ifs",
                                   "events/ee_mumu", "events/ginkgo"}) {
    const std::string name = fs::path(header).filename();
    fs::copy_file(source_folder() / "generators" / (header + ".h"), folder_ / (name + ".h"));
    const bool optimised = name == "noise" || all_headers();
    const auto run_copy = [&](const std::string& arguments) {
      return optimised ? run_optimised(arguments) : run(arguments);
    };
    // The check compiles a second object, so only the generator with dense labels is checked.
    const std::string trust = name == "shapes" ? "" : "--trust ";
    EXPECT_EQ(run_copy("compile " + trust + name + ".h").exit_code, 0) << name;
    std::vector<std::string> options = {""};
    if (name == "shapes") options.emplace_back(" --plane");
    if (name == "ee_mumu") options.emplace_back(" preset=lep_scan");
    for (const std::string& more : options)
      EXPECT_EQ(digest(run_copy("digest ./" + name + ".h --count 9 --seed 3" + more)),
                digest(run("digest " + name + " --count 9 --seed 3" + more)))
          << name << more;
  }
}

TEST_F(OwnGenerator, BenchComparesACopyWithTheBuiltInGenerator) {
  fs::copy_file(source_folder() / "generators/images/noise.h", folder_ / "noise.h");
  compile("noise.h");
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

// The program has functions with the same names, which the copy must not call.
TEST_F(OwnGenerator, DiffersFromTheBuiltInOneThatItIsAChangedCopyOf) {
  spill(folder_ / "noise.h",
        replaced(slurp(source_folder() / "generators/images/noise.h"),
                 "colour.r[i] = math::fma(width,", "colour.r[i] = 0.5f * math::fma(width,"));
  compile("noise.h");
  EXPECT_NE(digest(run("digest ./noise.h --count 4 law=uniform")),
            digest(run("digest noise --count 4 law=uniform")));
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
